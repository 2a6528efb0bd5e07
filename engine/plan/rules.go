package plan

import (
	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
)

// Rule is one rewrite of a plan.
type Rule struct {
	// Name is stable: scripts name the rules that they expect to fire.
	Name string
	// Why says why the rewrite keeps the result.
	Why string
	// apply rewrites one node, or returns nil when it does not match.
	apply func(Node) Node
}

// Rules is the list of local rewrites, in the order in which they are tried at a node. PruneColumns, which looks at
// the whole tree, runs after them.
func Rules() []Rule { return rules }

var rules = []Rule{
	{"FoldConstants", "expressions are pure, so a constant one has one value", foldConstants},
	{"DropTrueFilter", "every row passes", dropTrueFilter},
	{"MergeFilters", "a row passes both exactly when the AND is TRUE", mergeFilters},
	{"PushFilterThroughProject", "expressions are pure and total, so it does not matter when they are computed", pushFilterThroughProject},
	{"PushFilterThroughUnion", "a union is linear", pushFilterThroughUnion},
	{"PushFilterThroughSetOp", "equal rows of both sides pass together", pushFilterThroughSetOp},
	{"PushFilterThroughUnnest", "the condition does not read the element", pushFilterThroughUnnest},
	{"PushFilterThroughReduce", "the condition reads keys only, so it drops whole groups", pushFilterThroughReduce},
	{"PushFilterThroughOver", "the condition reads the partition only, so it drops whole partitions", pushFilterThroughOver},
	{"RowNumberToTopN", "rows behind the last number that passes neither pass nor count for those before", rowNumberToTopN},
	{"PushFilterThroughKeyed", "the condition reads the key only, so it drops whole keys with their removals", pushFilterThroughKeyed},
	{"PushFilterIntoJoin", "a row passes exactly when the part of it that the condition reads passes, which is no padding", pushFilterIntoJoin},
	{"PushFilterIntoAsofJoin", "each left row is joined on its own", pushFilterIntoAsofJoin},
	{"KeysFromFilter", "the pairs of an inner join that pass an equality of one kind are those with that key", keysFromFilter},
	{"PushResidual", "a row of a side that is not kept and fails the condition matches nothing", pushResidual},
	{"DropDomain", "a correlated subquery that is joined by its keys has, for each key, the rows that it would have for that value", dropDomain},
	{"FilterOutNull", "a filter drops what is not TRUE, so NULL is as good as FALSE", filterOutNull},
	{"MarkToSemiJoin", "a row that passes is one that has a match, or one that has none", markToSemiJoin},
	{"MergeProjects", "the outer expressions can be computed from the inner input", mergeProjects},
	{"DropIdentityProject", "the columns are passed on unchanged", dropIdentityProject},
}

// PruneColumns is the name of the rewrite that drops columns that nothing reads.
const PruneColumns = "PruneColumns"

// Optimize rewrites a query until no rule matches, then drops the columns that nothing reads.
func Optimize(q *Query) *Query {
	out, _ := OptimizeTrace(q)
	return out
}

// OptimizeTrace is Optimize that also counts how often each rule fired.
func OptimizeTrace(q *Query) (*Query, map[string]int) {
	fired := map[string]int{}
	out := *q
	// Dropping columns can leave a projection that changes nothing, so the local rules run once more.
	out.Root = rewrite(q.Root, fired)
	pruned := prune(&out)
	if Explain(pruned.Root) != Explain(out.Root) {
		fired[PruneColumns]++
	}
	pruned.Root = rewrite(pruned.Root, fired)
	return pruned, fired
}

// maxRewrites bounds the rewrites at one node, so that two rules that undo each other cannot hang.
const maxRewrites = 100

// rewrite applies the rules from the leaves up; a node that a rule made is rewritten again.
func rewrite(n Node, fired map[string]int) Node {
	n = rewriteChildren(n, fired)
	for range maxRewrites {
		next := applyFirst(n, fired)
		if next == nil {
			return n
		}
		n = rewriteChildren(next, fired)
	}
	return n
}

func rewriteChildren(n Node, fired map[string]int) Node {
	children := n.Children()
	out := make([]Node, len(children))
	changed := false
	for i, c := range children {
		out[i] = rewrite(c, fired)
		changed = changed || out[i] != c
	}
	if !changed {
		return n
	}
	return n.withChildren(out)
}

func applyFirst(n Node, fired map[string]int) Node {
	for _, r := range rules {
		if next := r.apply(n); next != nil {
			fired[r.Name]++
			return next
		}
	}
	return nil
}

func foldConstants(n Node) Node {
	changed := false
	fold := func(e expr.Expr) expr.Expr {
		f := expr.Fold(e)
		if f.String() != e.String() && f.Kind() == e.Kind() {
			changed = true
			return f
		}
		return e
	}
	foldAll := func(es []expr.Expr) []expr.Expr {
		out := make([]expr.Expr, len(es))
		for i, e := range es {
			out[i] = fold(e)
		}
		return out
	}
	var out Node
	switch n := n.(type) {
	case *Filter:
		out = &Filter{In: n.In, Pred: fold(n.Pred)}
	case *Project:
		out = NewProject(n.In, foldAll(n.Exprs), n.Names)
	case *Reduce:
		out = NewReduce(n.In, foldAll(n.Keys), foldCalls(n.Aggs, fold))
	case *Window:
		out = n.With(n.In, n.Ts, foldAll(n.Keys), foldCalls(n.Aggs, fold))
	}
	if !changed {
		return nil
	}
	return out
}

func foldCalls(cs []agg.Call, fold func(expr.Expr) expr.Expr) []agg.Call {
	out := make([]agg.Call, len(cs))
	for i, c := range cs {
		out[i] = c.Map(fold)
	}
	return out
}

func dropTrueFilter(n Node) Node {
	f, ok := n.(*Filter)
	if !ok {
		return nil
	}
	l, ok := f.Pred.(*expr.Literal)
	if !ok || l.V.IsNull() || l.V.Kind() != types.Bool || !l.V.Bool() {
		return nil
	}
	return f.In
}

func mergeFilters(n Node) Node {
	f, ok := n.(*Filter)
	if !ok {
		return nil
	}
	in, ok := f.In.(*Filter)
	if !ok {
		return nil
	}
	return &Filter{In: in.In, Pred: And(in.Pred, f.Pred)}
}

func pushFilterThroughProject(n Node) Node {
	f, ok := n.(*Filter)
	if !ok {
		return nil
	}
	p, ok := f.In.(*Project)
	if !ok || !substitutable([]expr.Expr{f.Pred}, p.Exprs) {
		return nil
	}
	return NewProject(&Filter{In: p.In, Pred: substitute(f.Pred, p.Exprs)}, p.Exprs, p.Names)
}

func pushFilterThroughUnion(n Node) Node {
	f, ok := n.(*Filter)
	if !ok {
		return nil
	}
	u, ok := f.In.(*Union)
	if !ok {
		return nil
	}
	ins := make([]Node, len(u.Ins))
	for i, in := range u.Ins {
		ins[i] = &Filter{In: in, Pred: f.Pred}
	}
	return &Union{Ins: ins}
}

func pushFilterThroughUnnest(n Node) Node {
	f, ok := n.(*Filter)
	if !ok {
		return nil
	}
	u, ok := f.In.(*Unnest)
	if !ok {
		return nil
	}
	width := len(u.In.Schema())
	var below, above expr.Expr
	for _, c := range Conjuncts(f.Pred) {
		if reads(c, func(i int) bool { return i < width }) {
			below = And(below, c)
		} else {
			above = And(above, c)
		}
	}
	if below == nil {
		return nil
	}
	return filtered(u.over(&Filter{In: u.In, Pred: below}, u.Arg), above)
}

func pushFilterThroughReduce(n Node) Node {
	f, ok := n.(*Filter)
	if !ok {
		return nil
	}
	r, ok := f.In.(*Reduce)
	if !ok {
		return nil
	}
	var below, above expr.Expr
	for _, c := range Conjuncts(f.Pred) {
		if reads(c, func(i int) bool { return i < len(r.Keys) }) && keepsMeaning(c, r.Keys) {
			below = And(below, substitute(c, r.Keys))
		} else {
			above = And(above, c)
		}
	}
	if below == nil {
		return nil
	}
	out := NewReduce(&Filter{In: r.In, Pred: below}, r.Keys, r.Aggs)
	out.Values = r.Values
	return filtered(out, above)
}

// pushFilterIntoJoin moves what reads one side only to that side: to the left one when every output row has a left row
// that is no padding, to the right one likewise.
func pushFilterIntoJoin(n Node) Node {
	f, ok := n.(*Filter)
	if !ok {
		return nil
	}
	j, ok := f.In.(*Join)
	if !ok || j.Kind == Full {
		return nil
	}
	width := len(j.Left.Schema())
	var left, right, above expr.Expr
	for _, c := range Conjuncts(f.Pred) {
		switch {
		case j.Kind != Right && reads(c, func(i int) bool { return i < width }):
			left = And(left, c)
		case (j.Kind == Inner || j.Kind == Right) && reads(c, func(i int) bool { return i >= width }):
			right = And(right, Shift(c, -width))
		default:
			above = And(above, c)
		}
	}
	if left == nil && right == nil {
		return nil
	}
	return filtered(j.over(filtered(j.Left, left), filtered(j.Right, right)), above)
}

func mergeProjects(n Node) Node {
	p, ok := n.(*Project)
	if !ok {
		return nil
	}
	in, ok := p.In.(*Project)
	if !ok || !substitutable(p.Exprs, in.Exprs) {
		return nil
	}
	exprs := make([]expr.Expr, len(p.Exprs))
	for i, e := range p.Exprs {
		exprs[i] = substitute(e, in.Exprs)
	}
	return NewProject(in.In, exprs, p.Names)
}

func dropIdentityProject(n Node) Node {
	p, ok := n.(*Project)
	if !ok {
		return nil
	}
	s := p.In.Schema()
	if len(s) != len(p.Exprs) {
		return nil
	}
	for i, e := range p.Exprs {
		c, ok := e.(*expr.Column)
		if !ok || c.Index != i || p.Names[i] != s[i].Name || s[i].Kind != p.Schema()[i].Kind {
			return nil
		}
	}
	return p.In
}

// filtered puts a condition on top of a node; nil is no condition.
func filtered(n Node, pred expr.Expr) Node {
	if pred == nil {
		return n
	}
	return &Filter{In: n, Pred: pred}
}

// reads reports whether an expression reads columns, all of which are accepted.
func reads(e expr.Expr, accept func(int) bool) bool {
	cols := Columns(e)
	for _, c := range cols {
		if !accept(c) {
			return false
		}
	}
	return len(cols) > 0
}

// substitute replaces columns by what computes them.
func substitute(e expr.Expr, exprs []expr.Expr) expr.Expr {
	return Rewrite(e, func(c *expr.Column) expr.Expr { return exprs[c.Index] })
}

// substitutable reports whether putting inner expressions in the place of columns computes none of them twice.
func substitutable(outer, inner []expr.Expr) bool {
	uses := make([]int, len(inner))
	for _, e := range outer {
		Rewrite(e, func(c *expr.Column) expr.Expr {
			uses[c.Index]++
			return c
		})
	}
	for i, n := range uses {
		if n > 1 && !trivial(inner[i]) {
			return false
		}
	}
	for _, e := range outer {
		if !keepsMeaning(e, inner) {
			return false
		}
	}
	return true
}

// keepsMeaning reports whether an expression means the same over the inner expressions as over their columns. The
// text of a Timestamp column is its number, the text of TO_TIMESTAMP(x) is ISO-8601: there it does not.
func keepsMeaning(e expr.Expr, inner []expr.Expr) bool {
	switch e := e.(type) {
	case *expr.Call:
		if c, ok := e.Args[0].(*expr.Column); ok && e.Fn.Name == "TO_STRING" && e.Args[0].Kind() == types.Timestamp && !trivial(inner[c.Index]) {
			return false
		}
		for _, a := range e.Args {
			if !keepsMeaning(a, inner) {
				return false
			}
		}
	case *expr.Case:
		for _, w := range e.Whens {
			if !keepsMeaning(w.Cond, inner) || !keepsMeaning(w.Then, inner) {
				return false
			}
		}
		return e.Else == nil || keepsMeaning(e.Else, inner)
	}
	return true
}

func trivial(e expr.Expr) bool {
	switch e.(type) {
	case *expr.Column, *expr.Literal:
		return true
	}
	return false
}
