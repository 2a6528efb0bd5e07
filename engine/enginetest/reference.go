package enginetest

import (
	"errors"
	"fmt"
	"sort"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// Event is one thing that happened to a query, in order of arrival: a row of one of its inputs, or the end of an
// epoch.
type Event struct {
	// Relation is the input's name; empty for the end of an epoch.
	Relation string
	// Values are the row, one for each column of the relation's schema.
	Values []types.Value
	// Ts is the row's event time, unless its schema declares "_ts".
	Ts int64
	// Weight is how often the row is added, or taken back when it is negative; 0 counts as 1.
	Weight int64
	// Retract is the retraction mark of a source's row, unless its schema declares "_retract".
	Retract bool
	// EpochMs is the time of an ended epoch.
	EpochMs int64
}

// Row is one row of a result with its multiplicity.
type Row struct {
	Values []types.Value
	Ts     int64
	Weight int64
}

// Result is what a query gives for a history.
type Result struct {
	Schema types.Schema
	// Rows are the rows of a table with positive multiplicity, sorted, each once; or the rows of a pipeline in order
	// of emission, with weight 1, or -1 for what a window takes back.
	Rows []Row
	// Late counts the rows that a window or an interval join dropped, LateMs is how late they were in sum, LateMaxMs
	// the latest one.
	Late, LateMs, LateMaxMs int64
}

// ErrNoReference is returned for statements that the engine runs and the reference cannot recompute.
var ErrNoReference = errors.New("the reference does not evaluate this statement")

// Evaluate recomputes a statement from everything that happened to its inputs. The statement has to compile.
func Evaluate(sql string, cat engine.Catalog, mode engine.Mode, o engine.Options, history []Event) (*Result, error) {
	p, problems := engine.Compile(sql, cat, mode, o)
	if p == nil {
		return nil, fmt.Errorf("the statement does not compile: %v", problems)
	}
	q, _ := syntax.Parse(sql)
	r := &reference{catalog: cat, history: numbered(history), pipeline: mode == engine.PipelineMode, options: o, allowed: o.AllowedLatenessMs}
	out, err := r.whole(q)
	if err != nil {
		return nil, err
	}
	schema := p.Output()
	if len(schema) != len(out.fields) {
		return nil, fmt.Errorf("the reference gives %d columns, the program %d", len(out.fields), len(schema))
	}
	for i := range schema {
		if schema[i].Name != out.fields[i].Name || schema[i].Stored() != out.fields[i].Stored() {
			return nil, fmt.Errorf("column %d: the reference gives %s %s, the program %s %s",
				i+1, out.fields[i].Name, out.fields[i].Stored(), schema[i].Name, schema[i].Stored())
		}
	}
	res := &Result{Schema: schema, Late: r.late, LateMs: r.lateMs, LateMaxMs: r.lateMaxMs}
	if r.pipeline {
		sort.SliceStable(out.rows, func(i, j int) bool { return out.rows[i].at < out.rows[j].at })
		for _, row := range out.rows {
			res.Rows = append(res.Rows, Row{Values: row.vals, Ts: row.ts, Weight: row.w})
		}
		return res, nil
	}
	withTs := p.EventTime()
	if o.Retention.Bounds() && !out.folded {
		out.rows = retained(out.rows, withTs, o.Retention)
	}
	for _, row := range net(out.rows, withTs) {
		if row.w > 0 {
			res.Rows = append(res.Rows, Row{Values: row.vals, Ts: row.ts, Weight: row.w})
		}
	}
	return res, nil
}

// whole evaluates the statement; what a subquery cannot evaluate comes back as its error.
func (r *reference) whole(q *syntax.Query) (t *table, err error) {
	defer func() {
		if p := recover(); p != nil {
			failed, ok := p.(subqueryError)
			if !ok {
				panic(p)
			}
			err = failed.error
		}
	}()
	return r.query(q, nil)
}

// numbered gives every event its place and every row the number of its epoch.
func numbered(history []Event) []event {
	out := make([]event, len(history))
	epoch := 0
	for i, e := range history {
		out[i] = event{Event: e, at: i, epoch: epoch}
		if e.Relation == "" {
			epoch++
		} else if e.Weight == 0 {
			out[i].Weight = 1
		}
	}
	return out
}

type event struct {
	Event
	at, epoch int
}

// reference is one evaluation.
type reference struct {
	catalog  engine.Catalog
	history  []event
	pipeline bool
	options  engine.Options
	// outer is what the subquery at hand reads of the query around it, outerReads how often that happened.
	outer      *env
	outerReads int
	known      map[*syntax.Query]*table // subqueries that read nothing of the query around them
	// allowed is the lateness that the query at hand allows; timed counts the operators of time above it.
	allowed int64
	timed   int

	late, lateMs, lateMaxMs int64
}

// rrow is a row on its way: its values, event time and weight, and where in the history it came from.
type rrow struct {
	vals    []types.Value
	ts      int64
	w       int64
	retract bool
	at      int // place in the history, for order
	epoch   int
}

// closing is the close of a window.
type closing struct {
	at  int
	end int64
}

// table is a bound relation with all of its rows.
type table struct {
	fields types.Schema
	hasTs  bool
	label  string
	rows   []rrow
	// inputs are the relations of the catalog below, which move the watermark of a window above.
	inputs []string
	// closes are the ends of the windows that gave the rows out, with the places in the history where they closed.
	closes []closing
	// behind is how far behind the watermark of those inputs a row can be given out.
	behind int64
	// folded says that the rows are a state, not a history: LATEST BY cannot read them.
	folded bool
}

// net adds the weights of equal rows and sorts them.
func net(rows []rrow, withTs bool) []rrow {
	byKey := map[string]*rrow{}
	var keys []string
	for _, r := range rows {
		k := keyOf(r.vals)
		if withTs {
			k += keyOf([]types.Value{types.LongOf(r.ts)})
		}
		if have, ok := byKey[k]; ok {
			have.w += r.w
			continue
		}
		c := r
		byKey[k] = &c
		keys = append(keys, k)
	}
	sort.Strings(keys)
	var out []rrow
	for _, k := range keys {
		if byKey[k].w != 0 {
			out = append(out, *byKey[k])
		}
	}
	return out
}

// keyOf is a text that is equal exactly for identical values.
func keyOf(vals []types.Value) string {
	b := make([]byte, 0, 16*len(vals))
	for _, v := range vals {
		b = append(b, byte('a'+v.Kind()))
		b = fmt.Appendf(b, "%q", v.String())
	}
	return string(b)
}
