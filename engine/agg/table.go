package agg

import (
	"encoding/binary"
	"fmt"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// Table keeps the states of a list of aggregates for many groups, addressed by dense group numbers. One goroutine
// owns it.
type Table struct {
	calls  []Call
	args   []argument
	parts  []placed
	reads  []readout
	states states
	cols   []*zset.Column
}

// argument is one expression that parts read, evaluated once a batch.
type argument struct {
	key    string
	kernel *expr.Kernel
}

// placed is a part with its place in a group's words and its argument (-1: none).
type placed struct {
	part
	key string
	off int
	arg int
	// more are the further arguments of a bagPart.
	more []int
}

// readout says how the result of one call is read: the part of its value and of its count.
type readout struct {
	call  Call
	value int
	count int
	// squares is the part of the sum of squares.
	squares int
	// compare orders the records of a bagPart.
	compare func(a, b []byte) int
}

// NewTable makes the states of the calls. appendOnly promises that no weight is ever negative, which allows plain
// extremes.
func NewTable(calls []Call, appendOnly bool) *Table {
	t := &Table{calls: calls}
	t.place("rows", -1, func() part { return rowsPart{} })
	for _, c := range calls {
		t.reads = append(t.reads, t.plan(c, appendOnly))
	}
	t.cols = make([]*zset.Column, len(t.args))
	return t
}

func (t *Table) plan(c Call, appendOnly bool) readout {
	r := readout{call: c}
	if c.Arg == nil {
		return r // the rows
	}
	kind := c.Arg.Kind()
	switch c.Agg.what {
	case whatCount:
		a := t.argument(c.Arg, false)
		if c.Distinct {
			r.value = t.place("distinct", a, func() part { return newDistinctPart() })
		} else {
			r.value = t.place("count", a, func() part { return countPart{} })
		}
	case whatSum, whatAvg:
		a := t.argument(c.Arg, kind != types.Long && kind != types.Double)
		sum := func() part { return &doubleSumPart{} }
		if kind == types.Long {
			sum = func() part { return longSumPart{} }
		}
		if c.Distinct {
			r.value = t.place("distinct sum", a, func() part { return newDistinctSumPart(sum()) })
			r.count = r.value // its first word is the number of values
			break
		}
		r.value = t.place("sum", a, sum)
		if c.Agg.what == whatAvg {
			r.count = t.place("count", a, func() part { return countPart{} })
		}
	case whatVarSamp, whatVarPop, whatDevSamp, whatDevPop:
		a := t.argument(c.Arg, kind != types.Long && kind != types.Double)
		if kind == types.Long {
			r.value = t.place("sum", a, func() part { return longSumPart{} })
		} else {
			r.value = t.place("sum", a, func() part { return &doubleSumPart{} })
		}
		r.squares = t.place("squares", a, func() part { return &squaresPart{long: kind == types.Long} })
		r.count = t.place("count", a, func() part { return countPart{} })
	case whatPercentile:
		r.value = t.placeBag([]int{t.argument(c.Arg, kind != types.Double)}, 1, false)
	case whatArgMin, whatArgMax:
		r.value = t.placeBag([]int{t.argument(c.By, false), t.argument(c.Arg, false)}, 2, false)
	case whatStrings, whatArray:
		args := []int{t.argument(c.Arg, false)}
		for _, o := range c.Order {
			args = append(args, t.argument(o.X, false))
		}
		if c.Keep != nil {
			args = append(args, t.argument(c.Keep, false))
		}
		present := 1
		if c.Agg.what == whatArray {
			present = 0
		}
		r.value = t.placeBag(args, present, c.Keep != nil)
		r.compare = comparison(c.Order)
	case whatMin, whatMax:
		a := t.argument(c.Arg, kind == types.Json || kind == types.Unknown)
		text := c.K == types.String
		if !appendOnly {
			r.value = t.place("log", a, func() part { return newLogPart(text) })
			break
		}
		r.count = t.place("count", a, func() part { return countPart{} })
		r.value = t.place([...]string{"min", "max"}[b2i(c.Agg.what == whatMax)], a, func() part {
			p := &plainPart{max: c.Agg.what == whatMax}
			if text {
				p.pool = newTextPool()
			}
			return p
		})
	}
	return r
}

// argument returns the position of an expression among the arguments, read as a number or as it is.
func (t *Table) argument(e expr.Expr, asNumber bool) int {
	key := e.String()
	if asNumber {
		key = "number " + key
	}
	for i, a := range t.args {
		if a.key == key {
			return i
		}
	}
	k := expr.Compile
	if asNumber {
		k = expr.CompileNumber
	}
	t.args = append(t.args, argument{key: key, kernel: k(e)})
	return len(t.args) - 1
}

// place returns the position of a part, which is made once for each argument.
func (t *Table) place(name string, arg int, make func() part) int {
	key := name
	if arg >= 0 {
		key = name + " of " + t.args[arg].key
	}
	for i := range t.parts {
		if t.parts[i].key == key {
			return i
		}
	}
	p := placed{part: make(), key: key, off: t.states.stride, arg: arg}
	t.states.stride += p.words()
	t.parts = append(t.parts, p)
	return len(t.parts) - 1
}

// placeBag returns the position of a bag of records of the given arguments.
func (t *Table) placeBag(args []int, present int, keep bool) int {
	key := fmt.Sprintf("bag %d %v", present, keep)
	for _, a := range args[1:] {
		key += ", " + t.args[a].key
	}
	at := t.place(key, args[0], func() part { return newBagPart(present, keep) })
	t.parts[at].more = args[1:]
	return at
}

// Grow makes room for groups below n. A new group is empty.
func (t *Table) Grow(n int) { t.states.grow(n) }

// Add takes a batch: selected row k belongs to groups[k]. A negative weight takes the row back.
func (t *Table) Add(b *zset.Batch, sel []int32, groups []uint32) {
	for i, a := range t.args {
		t.cols[i] = a.kernel.Aligned(b, sel)
	}
	for i := range t.parts {
		p := &t.parts[i]
		var col *zset.Column
		if p.arg >= 0 {
			col = t.cols[p.arg]
		}
		if bag, is := p.part.(*bagPart); is {
			cols := []*zset.Column{col}
			for _, a := range p.more {
				cols = append(cols, t.cols[a])
			}
			bag.addMany(&t.states, p.off, b, sel, groups, cols)
			continue
		}
		p.add(&t.states, p.off, b, sel, groups, col)
	}
}

// Rows returns the net number of rows of a group; it may be negative while more was taken back than added.
func (t *Table) Rows(g uint32) int64 { return int64(t.states.at(g)[0]) }

// Empty reports whether nothing of the group is left, so that Release loses nothing.
func (t *Table) Empty(g uint32) bool {
	st := t.states.at(g)
	if st[0] != 0 {
		return false
	}
	for i := range t.parts {
		if !t.parts[i].isEmpty(st[t.parts[i].off:]) {
			return false
		}
	}
	return true
}

// Release forgets a group; its number can be used again.
func (t *Table) Release(g uint32) {
	st := t.states.at(g)[:t.states.stride]
	for i := range t.parts {
		t.parts[i].release(st[t.parts[i].off:])
	}
	clear(st)
}

// Read appends the results of groups to out, one row a group, and returns how many sums of Longs did not fit.
func (t *Table) Read(groups []uint32, out *Results) (overflows int) {
	for c := range t.reads {
		overflows += t.readCall(&t.reads[c], groups, &out.cols[c], out)
	}
	out.n += len(groups)
	return overflows
}

func (t *Table) readCall(r *readout, groups []uint32, col *resultColumn, out *Results) (overflows int) {
	p := &t.parts[r.value]
	if d, is := p.part.(*distinctSumPart); is {
		p = &placed{part: d.sum, off: p.off + distinctWords}
	}
	if r.squares > 0 {
		for _, g := range groups {
			t.readMoment(r, g, col)
		}
		return 0
	}
	switch part := p.part.(type) {
	case rowsPart, countPart, *distinctPart:
		for _, g := range groups {
			col.word(t.states.at(g)[p.off])
		}
	case longSumPart:
		for _, g := range groups {
			st := t.states.at(g)
			if r.call.Agg.what == whatAvg {
				f, exp := round128(st[p.off], st[p.off+1])
				col.mean(f, exp, t.count(r, g))
				continue
			}
			v, ok := readLongSum(st[p.off:])
			if !ok {
				overflows++
				col.null()
				continue
			}
			col.word(uint64(v))
		}
	case *doubleSumPart:
		for _, g := range groups {
			f, exp := part.parts(t.states.at(g)[p.off:])
			if r.call.Agg.what == whatAvg {
				col.mean(f, exp, t.count(r, g))
			} else {
				col.double(scale(f, exp))
			}
		}
	case *plainPart:
		for _, g := range groups {
			if t.count(r, g) <= 0 {
				col.null()
				continue
			}
			col.ordered(part.word(t.states.at(g)[p.off:]), part.pool, out)
		}
	case *logPart:
		isMax := r.call.Agg.what == whatMax // also BOOL_OR
		for _, g := range groups {
			st := t.states.at(g)[p.off : p.off+logWords]
			v, ok := part.min(st)
			if isMax {
				v, ok = part.max(st)
			}
			if !ok {
				col.null()
				continue
			}
			col.ordered(v, part.pool, out)
		}
	case *bagPart:
		for _, g := range groups {
			if r.readBag(part, t.states.at(g)[p.off:p.off+bagWords], col, out) {
				overflows++
			}
		}
	default:
		panic(fmt.Sprintf("BUG: no result of %T", p.part))
	}
	return overflows
}

func (t *Table) count(r *readout, g uint32) int64 {
	return int64(t.states.at(g)[t.parts[r.count].off])
}

// Bytes returns the memory of the states.
func (t *Table) Bytes() int64 {
	n := t.states.bytes()
	for i := range t.parts {
		n += t.parts[i].bytes()
	}
	return n
}

const tableVersion = 1

// AppendSnapshot appends the states of the groups below n.
func (t *Table) AppendSnapshot(dst []byte, n int) []byte {
	dst = append(dst, tableVersion)
	dst = binary.AppendUvarint(dst, uint64(t.states.stride))
	dst = binary.AppendUvarint(dst, uint64(n))
	for g := range uint32(n) {
		for _, w := range t.states.at(g)[:t.states.stride] {
			dst = binary.LittleEndian.AppendUint64(dst, w)
		}
	}
	for i := range t.parts {
		dst = appendBlock(dst, t.parts[i].appendSnapshot)
	}
	return dst
}

// Restore replaces the states by those of a snapshot of the same calls.
func (t *Table) Restore(b []byte) error {
	if len(b) == 0 || b[0] != tableVersion {
		return fmt.Errorf("%w: unknown version", ErrSnapshot)
	}
	r := &reader{b: b[1:]}
	if stride := r.uvarint(); stride != uint64(t.states.stride) {
		return fmt.Errorf("%w: %d words a group, want %d", ErrSnapshot, stride, t.states.stride)
	}
	n := r.count(8 * t.states.stride)
	t.states = states{stride: t.states.stride}
	t.states.grow(n)
	for g := range uint32(n) {
		st := t.states.at(g)[:t.states.stride]
		for i := range st {
			st[i] = r.word()
		}
	}
	for i := range t.parts {
		if err := t.parts[i].restore(r.block()); err != nil {
			return fmt.Errorf("%s: %w", t.parts[i].key, err)
		}
	}
	return r.end()
}
