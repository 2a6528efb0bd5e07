package decode

import (
	"strings"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// op says what a member's value becomes.
type op uint8

const (
	opIgnore op = iota // checked as JSON, not kept
	opString
	opDouble
	opLong
	opBool
	opTimestamp
	opJson
	opArray     // Json that must be an array
	opEventTime // the row's own _ts
	opRetract   // true only for JSON true
)

// target is a place that a member can go to: a column, the event time, or nothing.
type target struct {
	name string
	op   op
	col  int // -1: no column
	// mapped marks the field that gives the event time of rows without _ts; it may be a column as well.
	mapped bool
	// deletes marks the field that says what kind of change a row is.
	deletes bool
	seen    uint64 // stamp of the last row that had it
}

// member is a name that objects have, as it stands in the text. next is the member that came after it in the last
// row that had it: the prediction. Member 0 is the start of an object, and the last of a row is followed by the
// first.
type member struct {
	key    []byte // "name":
	target int
	next   int
}

// plan is a schema compiled for the scanner.
type plan struct {
	targets []target
	byName  map[string]int // targets
	members []member
	known   map[string]int // members
	columns int            // columns that members fill: all but _ts and _retract
	ts      int            // column of the event time, -1 when _ts is declared with another kind
	retract int            // column of _retract, -1 when it is declared with another kind
	change  int            // column of a declared _op that says what kind of change a row is, -1 without one
	nulls   bool           // _retract is declared: it is NULL when it is missing
	strict  bool           // RejectUnknownFields
}

// maxMembers and maxLearned bound how many names of undeclared members are learned, and how long they are.
const (
	maxMembers = 1024
	maxLearned = 256
)

func compile(fields, layout types.Schema, o Options) plan {
	p := plan{
		targets: []target{{op: opIgnore, col: -1}},
		byName:  map[string]int{},
		members: []member{{}},
		known:   map[string]int{},
		ts:      -1,
		retract: -1,
		change:  -1,
		strict:  o.RejectUnknownFields,
	}
	for c, f := range layout {
		t := target{name: f.Name, col: c}
		switch {
		case f.Name == types.TsColumn && (f.Kind == types.Long || f.Kind == types.Timestamp):
			t.op, p.ts = opEventTime, c
		case f.Name == types.RetractColumn && f.Kind == types.Bool:
			t.op, p.retract = opRetract, c
			p.nulls = indexOf(fields, f.Name) >= 0
		default:
			t.op = opOf(f.Kind, c < len(fields) && fields[c].IsArray)
			p.columns++
		}
		p.addTarget(t)
	}
	if o.TimestampField != "" && o.TimestampField != types.TsColumn {
		i, ok := p.byName[o.TimestampField]
		if !ok {
			i = p.addTarget(target{name: o.TimestampField, op: opIgnore, col: -1})
		}
		p.targets[i].mapped = true
	}
	if o.Keyed {
		i, ok := p.byName[types.OpColumn]
		if !ok {
			i = p.addTarget(target{name: types.OpColumn, op: opIgnore, col: -1})
		}
		p.targets[i].deletes = true
		if c := p.targets[i].col; c >= 0 && layout[c].Kind == types.String {
			p.change = c
		}
	}
	// Before the first row the schema's order is the best guess.
	for i := range p.targets[1:] {
		p.learn(p.targets[i+1].name)
	}
	for m := range p.members {
		p.members[m].next = (m + 1) % len(p.members)
	}
	return p
}

func (p *plan) addTarget(t target) int {
	p.targets = append(p.targets, t)
	p.byName[t.name] = len(p.targets) - 1
	return len(p.targets) - 1
}

func opOf(k types.Kind, array bool) op {
	if array {
		return opArray
	}
	switch k {
	case types.Double:
		return opDouble
	case types.Long:
		return opLong
	case types.Bool:
		return opBool
	case types.Timestamp:
		return opTimestamp
	case types.Json:
		return opJson
	default:
		return opString
	}
}

// learn gives a name a member. It returns 0 when there are too many, or the name is too long.
func (p *plan) learn(name string) int {
	if m, ok := p.known[name]; ok {
		return m
	}
	if target := p.byName[name]; target == 0 && (len(p.members) >= maxMembers || len(name) > maxLearned) {
		return 0
	}
	key := types.AppendJSONString(nil, name)
	p.members = append(p.members, member{key: append(key, ':'), target: p.byName[name]})
	m := len(p.members) - 1
	p.known[name] = m
	return m
}

// unknown reports whether a row with the member fails: it is neither declared nor reserved.
func (p *plan) unknown(name []byte) bool {
	if !p.strict {
		return false
	}
	if _, ok := p.byName[string(name)]; ok {
		return false
	}
	switch string(name) {
	case types.TsColumn, types.SourceColumn, types.RetractColumn, types.WeightColumn, types.OpColumn:
		return false
	}
	return true
}

// complete gives a decoded block what a decoded JSON message has: an event time and a retract mark in every row,
// and no weights.
func (p *plan) complete(b *zset.Batch, timeMs int64) *zset.Batch {
	out := &zset.Batch{N: b.N, Cols: b.Cols}
	fill := func(c int, v int64) {
		if c < 0 || b.Cols[c].Valid == nil {
			return
		}
		if &out.Cols[0] == &b.Cols[0] {
			out.Cols = append([]zset.Column(nil), b.Cols...)
		}
		in := &b.Cols[c]
		col := zset.Column{Kind: in.Kind, I64: append([]int64(nil), in.I64...)}
		for i := range col.I64 {
			if in.IsNull(i) {
				col.I64[i] = v
			}
		}
		out.Cols[c] = col
	}
	fill(p.ts, timeMs)
	if !p.nulls {
		fill(p.retract, 0)
	}
	if p.change >= 0 && p.retract >= 0 {
		p.markDeletes(out, b)
	}
	return out
}

// markDeletes sets the retract mark of the rows of a block whose declared _op says so.
func (p *plan) markDeletes(out, b *zset.Batch) {
	ops := &b.Cols[p.change]
	var marks []int64
	for i := range b.N {
		if ops.IsNull(i) || !isDelete(ops.Text(i)) {
			continue
		}
		if marks == nil {
			if &out.Cols[0] == &b.Cols[0] {
				out.Cols = append([]zset.Column(nil), b.Cols...)
			}
			in := &out.Cols[p.retract]
			marks = append([]int64(nil), in.I64...)
			col := zset.Column{Kind: in.Kind, I64: marks}
			if in.Valid != nil {
				col.Valid = append([]uint64(nil), in.Valid...)
			}
			out.Cols[p.retract] = col
		}
		marks[i] = 1
		if valid := out.Cols[p.retract].Valid; valid != nil {
			valid[i>>6] |= 1 << (i & 63)
		}
	}
}

// isDelete reports whether the text of an _op says that the row leaves.
func isDelete(op []byte) bool {
	switch len(op) {
	case 1:
		return op[0]|0x20 == 'd'
	case len("delete"):
		return strings.EqualFold(string(op), "delete")
	}
	return false
}
