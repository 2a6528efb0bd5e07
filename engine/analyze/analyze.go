package analyze

import (
	"fmt"

	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// maxScans bounds how often a statement reads relations, with every use of a CTE counted anew.
const maxScans = 256

// analyzer is the state of one analysis.
type analyzer struct {
	cat  Catalog
	mode Mode
	// lookups says that a table may be read: it is looked up.
	lookups bool
	opts    Options
	ds      []syntax.Diagnostic
	// inputs are the relations read, each once, with their full layouts.
	inputs []plan.Input
	scans  int
	// crosses are the CROSS JOINs of the SELECT at hand, which cost a warning unless WHERE has an equality for them.
	crosses []syntax.Pos
	// outer is the correlation of the subquery that is being bound, nil outside of one.
	outer *correlation
	// probing is positive while it is being found out what a subquery reads of the query around it.
	probing int
	// readsInFrom marks the SELECTs whose FROM reads the query around them.
	readsInFrom map[*syntax.Select]bool
	// holders counts the columns that stand for subqueries.
	holders int
	// timed counts the operators above the query at hand that keep time: its windows cannot take back what they gave
	// out, they wait for late rows. lateness is how long.
	timed    int
	lateness int64
	// dropLate says that rows that are later than that are not kept.
	dropLate bool
	// recursions counts the recursive queries.
	recursions int
}

// Analyze binds a statement. The result's query is nil when a diagnostic is an error. The tree may be incomplete, as
// the parser leaves it after a problem.
func Analyze(q *syntax.Query, cat Catalog, mode Mode, o Options) (Result, []syntax.Diagnostic) {
	a := &analyzer{cat: cat, mode: mode, opts: o, lateness: o.AllowedLatenessMs, readsInFrom: map[*syntax.Select]bool{}}
	r := a.query(q, nil)
	if r == nil && !syntax.HasErrors(a.ds) && q.Complete() {
		a.later(q, "this statement", "")
	}
	ds := syntax.Sort(a.ds)
	if r == nil || syntax.HasErrors(ds) {
		return Result{WholeRow: true}, ds
	}
	out := Result{KeyFields: r.keyFields, WholeRow: r.wholeRow, Summary: r.summary}
	out.Query = &plan.Query{
		Inputs:    a.inputs,
		Root:      r.node,
		EventTime: r.hasTs,
		Pipeline:  mode == Pipeline,
		Output:    r.fields,
		Time:      o.time(),
	}
	return out, ds
}

// Certain keeps of the analyzer's findings those that do not follow from the parser's problems: a broken FROM
// explains every unknown column, a broken expression explains a missing aggregate.
func Certain(found []syntax.Diagnostic) []syntax.Diagnostic {
	var out []syntax.Diagnostic
	for _, d := range found {
		if d.Code == CodeUnknownRelation || d.Code == CodeUnknownFunction || d.Code == CodeAmbiguousRelation {
			out = append(out, d)
		}
	}
	return out
}

// relation is the bound result of a query: a node whose columns are the visible ones and then, with hasTs, the
// hidden event time.
type relation struct {
	node plan.Node
	// outer is the number of columns before the visible ones that belong to the domain of a correlated subquery.
	outer     int
	fields    types.Schema
	hasTs     bool
	windowed  bool
	label     string // what _source reads
	keyFields []string
	wholeRow  bool
	summary   string
}

// report adds an error.
func (a *analyzer) report(n syntax.Node, code, hint, format string, args ...any) {
	a.ds = append(a.ds, syntax.Diagnostic{Pos: n.Position(), Code: code, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// warn adds a warning.
func (a *analyzer) warn(n syntax.Node, code, hint, format string, args ...any) {
	a.report(n, code, hint, format, args...)
	a.ds[len(a.ds)-1].Severity = syntax.Warning
}

// later reports a clause that is not planned yet.
func (a *analyzer) later(n syntax.Node, what, hint string) {
	a.report(n, CodeNotYet, hint, "%s is not supported yet", what)
}

// query binds a query with the CTEs that are visible in it. nil means that a problem was reported.
func (a *analyzer) query(q *syntax.Query, ctes *cteScope) *relation {
	for _, c := range q.With {
		ctes = a.declare(c, ctes, q.With, q.Recursive)
	}
	return a.ordered(q, a.body(q.Body, ctes))
}

func (a *analyzer) body(b syntax.Body, ctes *cteScope) *relation {
	switch b := b.(type) {
	case *syntax.Select:
		return a.selectQuery(b, ctes)
	case *syntax.SetOp:
		for _, side := range []syntax.Body{b.Left, b.Right} {
			if s, ok := side.(*syntax.Select); ok && s.Distinct != nil && len(s.Distinct.On) > 0 {
				a.report(s.Distinct, CodeOrder, "put it into a subquery of its own in FROM", "DISTINCT ON cannot stand in a branch of %s", b.Kind)
			}
		}
		return a.setOp(b, ctes)
	}
	return nil
}
