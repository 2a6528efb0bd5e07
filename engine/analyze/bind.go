package analyze

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/over"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// binder gives expressions of one clause their bound form.
type binder struct {
	*analyzer
	scope *scope
	// clause names the place for messages: "WHERE", "ON".
	clause string
	// group is set behind a grouping: columns must then be keys or stand inside aggregates.
	group *grouping
	// item is what a problem with grouping points at.
	item syntax.Node
	// subs takes the subqueries of the clause; nil when it can have none.
	subs *subqueries
	// windows takes the window functions of the clause; nil when it can have none.
	windows *windowing
	// ctes are the named queries that subqueries can read.
	ctes *cteScope
}

// bind returns the bound form of an expression; ok is false when a problem was reported for it.
func (b *binder) bind(e syntax.Expr) (out expr.Expr, ok bool) {
	if b.group != nil {
		if key, found := b.groupKey(e); found {
			return key, true
		}
	}
	switch e := e.(type) {
	case *syntax.ColumnRef:
		return b.column(e)
	case *syntax.Literal:
		return b.literal(e, "")
	case *syntax.Unary:
		if l, is := e.X.(*syntax.Literal); is && e.Op == "-" && l.Kind == syntax.LongLiteral {
			return b.literal(l, "-")
		}
		return b.apply(e, e.Op, e.X)
	case *syntax.Binary:
		return b.binary(e)
	case *syntax.Access:
		if e.AsText {
			return b.apply(e, "->>", e.X, e.Key)
		}
		return b.apply(e, "->", e.X, e.Key)
	case *syntax.Is:
		return b.is(e)
	case *syntax.Between:
		return b.negate(e, e.Not)(b.apply(e, "BETWEEN", e.X, e.Lo, e.Hi))
	case *syntax.Like:
		return b.like(e)
	case *syntax.InList:
		return b.negate(e, e.Not)(b.apply(e, "IN", append([]syntax.Expr{e.X}, e.List...)...))
	case *syntax.InQuery:
		return b.inQuery(e)
	case *syntax.Exists:
		return b.exists(e)
	case *syntax.Subquery:
		return b.scalar(e)
	case *syntax.Case:
		return b.caseExpr(e)
	case *syntax.Cast:
		return b.cast(e)
	case *syntax.Call:
		return b.call(e)
	}
	return nil, false
}

// bindAll binds every expression, so that each reports its own problems.
func (b *binder) bindAll(es []syntax.Expr) ([]expr.Expr, bool) {
	out, ok := make([]expr.Expr, len(es)), true
	for i, e := range es {
		x, bound := b.bind(e)
		out[i] = x
		ok = ok && bound
	}
	return out, ok
}

func (b *binder) column(c *syntax.ColumnRef) (expr.Expr, bool) {
	if b.group != nil {
		if w, ok := b.windowColumn(c); ok {
			return w, true
		}
	}
	r, ok := b.resolve(b.scope, c)
	if !ok {
		b.aliasMeant(c)
		return nil, false
	}
	b.warnNoEventTime(c, r)
	if b.group != nil {
		if b.group.broken {
			return nil, false // a key that could not be read may be the one
		}
		if _, constant := r.expr.(*expr.Literal); constant || r.outer {
			return r.expr, true // the same in every row of a group
		}
		hint := "add it to GROUP BY, or aggregate it"
		if len(b.group.keys) == 0 && !b.group.explicit {
			hint = "add GROUP BY " + syntax.Format(c) + ", or aggregate it"
		}
		b.report(b.item, CodeNotGrouped, hint, "%q is neither aggregated nor in GROUP BY", syntax.Format(c))
		return nil, false
	}
	return r.expr, true
}

func (b *binder) literal(l *syntax.Literal, sign string) (expr.Expr, bool) {
	switch l.Kind {
	case syntax.TrueLiteral:
		return &expr.Literal{V: types.BoolOf(true)}, true
	case syntax.FalseLiteral:
		return &expr.Literal{V: types.BoolOf(false)}, true
	case syntax.StringLiteral:
		return &expr.Literal{V: types.StringOf(l.Text)}, true
	case syntax.LongLiteral:
		i, err := strconv.ParseInt(sign+l.Text, 10, 64)
		if err != nil {
			b.report(l, CodeBadNumber, "write it with a point to make it a Double", "%s does not fit a Long of 64 bits", sign+l.Text)
			return nil, false
		}
		return &expr.Literal{V: types.LongOf(i)}, true
	case syntax.DoubleLiteral:
		f, err := strconv.ParseFloat(l.Text, 64)
		if err != nil {
			b.report(l, CodeBadNumber, "", "%s is too large for a Double", l.Text)
			return nil, false
		}
		return &expr.Literal{V: types.DoubleOf(f)}, true
	default:
		return &expr.Literal{V: types.Null(types.Unknown)}, true
	}
}

// apply binds a function or operator of the table to arguments.
func (b *binder) apply(at syntax.Node, name string, args ...syntax.Expr) (expr.Expr, bool) {
	bound, ok := b.bindAll(args)
	if !ok {
		return nil, false
	}
	return b.make(at, name, args, bound)
}

// make builds a call of bound arguments; args gives the places of problems.
func (b *binder) make(at syntax.Node, name string, args []syntax.Expr, bound []expr.Expr) (expr.Expr, bool) {
	f, found := expr.Lookup(name)
	if !found {
		b.later(at, name, "")
		return nil, false
	}
	out, err := f.Bind(bound)
	if err != nil {
		b.bindError(at, args, err)
		return nil, false
	}
	b.warnCall(at, out, args, bound)
	return out, true
}

// bindError reports a binding error at the argument at fault.
func (b *binder) bindError(at syntax.Node, args []syntax.Expr, err error) {
	var be *expr.BindError
	if !errors.As(err, &be) {
		b.report(at, expr.CodeTypeMismatch, "", "%s", err)
		return
	}
	if be.Arg >= 0 && be.Arg < len(args) {
		at = args[be.Arg]
	}
	b.report(at, be.Code, be.Hint, "%s", be.Message)
}

// negate wraps a bound predicate in NOT when it is written with NOT.
func (b *binder) negate(at syntax.Node, not bool) func(expr.Expr, bool) (expr.Expr, bool) {
	return func(e expr.Expr, ok bool) (expr.Expr, bool) {
		if !ok || !not {
			return e, ok
		}
		return b.make(at, "NOT", nil, []expr.Expr{e})
	}
}

func (b *binder) is(e *syntax.Is) (expr.Expr, bool) {
	if e.What == "NULL" {
		if e.Not {
			return b.apply(e, "IS NOT NULL", e.X)
		}
		return b.apply(e, "IS NULL", e.X)
	}
	if e.What == "DISTINCT FROM" {
		return b.negate(e, e.Not)(b.distinctFrom(e))
	}
	x, ok := b.bind(e.X)
	if !ok {
		return nil, false
	}
	if k := x.Kind(); k != types.Bool && k != types.Unknown {
		b.report(e.X, expr.CodeTypeMismatch, "compare it with something", "IS %s takes a Bool, found %s", e.What, k)
		return nil, false
	}
	if e.What == "FALSE" {
		if x, ok = b.make(e, "NOT", nil, []expr.Expr{x}); !ok {
			return nil, false
		}
	}
	known, ok := b.make(e, "COALESCE", nil, []expr.Expr{expr.As(x, types.Bool), &expr.Literal{V: types.BoolOf(false)}})
	return b.negate(e, e.Not)(known, ok)
}

// distinctFrom makes x IS DISTINCT FROM y of an inequality that treats NULL as a value.
func (b *binder) distinctFrom(e *syntax.Is) (expr.Expr, bool) {
	args, ok := b.bindAll([]syntax.Expr{e.X, e.Y})
	if !ok {
		return nil, false
	}
	x, y := args[0], args[1]
	differ, ok := b.make(e, "<>", []syntax.Expr{e.X, e.Y}, args)
	if !ok {
		return nil, false
	}
	xNull, _ := b.make(e, "IS NULL", nil, []expr.Expr{x})
	yNull, _ := b.make(e, "IS NULL", nil, []expr.Expr{y})
	yThere, _ := b.make(e, "IS NOT NULL", nil, []expr.Expr{y})
	out, err := expr.BindCase([]expr.When{{Cond: xNull, Then: yThere}, {Cond: yNull, Then: &expr.Literal{V: types.BoolOf(true)}}}, differ)
	return out, err == nil
}

func (b *binder) like(e *syntax.Like) (expr.Expr, bool) {
	args := []syntax.Expr{e.X, e.Pattern}
	if e.Escape != nil {
		args = append(args, e.Escape)
	}
	bound, ok := b.bindAll(args)
	if !ok {
		return nil, false
	}
	if e.FoldCase {
		for i := range 2 {
			if bound[i], ok = b.make(e, "LOWER", nil, bound[i:i+1]); !ok {
				return nil, false
			}
		}
	}
	return b.negate(e, e.Not)(b.make(e, "LIKE", args, bound))
}

// caseExpr binds both forms; CASE x WHEN v is CASE WHEN x = v.
func (b *binder) caseExpr(e *syntax.Case) (expr.Expr, bool) {
	var operand expr.Expr
	ok := true
	if e.Operand != nil {
		operand, ok = b.bind(e.Operand)
	}
	// places are the conditions and results as BindCase counts them.
	var places []syntax.Expr
	var whens []expr.When
	for _, w := range e.Whens {
		args, bound := b.bindAll([]syntax.Expr{w.Cond, w.Then})
		ok = ok && bound
		if ok && operand != nil {
			args[0], ok = b.make(w.Cond, "=", []syntax.Expr{e.Operand, w.Cond}, []expr.Expr{operand, args[0]})
		}
		places = append(places, w.Cond, w.Then)
		whens = append(whens, expr.When{Cond: args[0], Then: args[1]})
	}
	var els expr.Expr
	if e.Else != nil {
		x, bound := b.bind(e.Else)
		els, ok = x, ok && bound
		places = append(places, e.Else)
	}
	if !ok {
		return nil, false
	}
	out, err := expr.BindCase(whens, els)
	if err == nil {
		return out, true
	}
	// Branches of different kinds are a fault of the CASE, a condition is its own.
	var be *expr.BindError
	if errors.As(err, &be) && (be.Arg%2 == 1 || be.Arg == 2*len(e.Whens)) {
		places = nil
	}
	b.bindError(e, places, err)
	return nil, false
}

// castTypes are the type names of CAST.
var castTypes = map[string]types.Kind{
	"STRING": types.String, "TEXT": types.String, "VARCHAR": types.String,
	"DOUBLE": types.Double, "DOUBLE PRECISION": types.Double, "FLOAT": types.Double,
	"LONG": types.Long, "BIGINT": types.Long, "INT": types.Long, "INTEGER": types.Long,
	"BOOL": types.Bool, "BOOLEAN": types.Bool,
	"TIMESTAMP": types.Timestamp,
}

func (b *binder) cast(e *syntax.Cast) (expr.Expr, bool) {
	kind, known := castTypes[e.Type.Name]
	if !known && e.Type.Name != "" {
		b.unknownType(e.Type)
	}
	x, ok := b.bind(e.X)
	if !ok || !known {
		return nil, false
	}
	f, found := expr.Cast(kind)
	if !found {
		return nil, false
	}
	if kind == types.String {
		x = b.keepTimestamp(e.X, x)
	}
	return b.make(e, f.Name, []syntax.Expr{e.X}, []expr.Expr{x})
}

// keepTimestamp holds that the text of TO_TIMESTAMP(x) is ISO-8601 also when TO_TIMESTAMP(x) is a grouping key, which
// is a column by now: converting a Timestamp once more changes nothing but says so.
func (b *binder) keepTimestamp(written syntax.Expr, bound expr.Expr) expr.Expr {
	if _, column := bound.(*expr.Column); !column || bound.Kind() != types.Timestamp {
		return bound
	}
	if _, column := written.(*syntax.ColumnRef); column {
		return bound
	}
	if again, ok := b.make(written, "TO_TIMESTAMP", nil, []expr.Expr{bound}); ok {
		return again
	}
	return bound
}

func (b *binder) call(e *syntax.Call) (expr.Expr, bool) {
	if e.Over != nil {
		return b.over(e)
	}
	if f, is := over.Lookup(e.Name.Name); is {
		b.report(e, CodeOver, "write "+f.Signature+" OVER (PARTITION BY ... ORDER BY ...)", "%s is a window function and needs OVER", f.Name)
		b.bindAll(e.Args)
		return nil, false
	}
	if isAggregate(e) {
		return b.aggregate(e)
	}
	if strings.EqualFold(e.Name.Name, "GROUPING") {
		return b.grouping(e)
	}
	f, found := expr.Lookup(e.Name.Name)
	if !found || f.Operator {
		b.reportName(e.Name, e.Name, CodeUnknownFunction, slices.Concat(expr.Names(), agg.Names(), over.Names()), "functions",
			"no function %q", e.Name.Name)
		if !b.foreignFunction(e.Name) {
			(&binder{analyzer: b.analyzer, scope: b.scope, clause: b.clause, ctes: b.ctes, subs: &subqueries{}}).bindAll(e.Args)
		}
		return nil, false
	}
	if e.Distinct {
		b.report(e, agg.CodeDistinct, "", "DISTINCT exists in aggregates only")
	}
	if e.Star {
		b.report(e, expr.CodeArgumentCount, "write "+f.Signature, "only COUNT takes *")
	}
	if e.Filter != nil {
		b.report(e.Filter, CodeNotAggregate, "write the condition as IF(condition, ...)", "FILTER exists behind aggregates only")
	}
	if len(e.OrderBy) > 0 {
		b.report(e.OrderBy[0], CodeNotAggregate, "", "ORDER BY exists inside aggregates only")
	}
	bound, ok := b.bindAll(e.Args)
	if !ok || e.Distinct || e.Star || e.Filter != nil || len(e.OrderBy) > 0 {
		return nil, false
	}
	if f.Name == "TO_STRING" && len(bound) == 1 {
		bound[0] = b.keepTimestamp(e.Args[0], bound[0])
	}
	out, err := f.Bind(bound)
	if err != nil {
		args := e.Args
		var be *expr.BindError
		if errors.As(err, &be) && f.Name == "IF" && be.Arg > 0 {
			args = nil // branches of different kinds are a fault of the IF
		}
		b.bindError(e, args, err)
		return nil, false
	}
	b.warnCall(e, out, e.Args, bound)
	return out, true
}

// bool binds a condition of a clause.
func (b *binder) condition(e syntax.Expr) (expr.Expr, bool) {
	x, ok := b.bind(e)
	if !ok {
		return nil, false
	}
	if k := x.Kind(); k != types.Bool && k != types.Unknown {
		b.report(e, CodeNotBoolean, "compare it with something", "%s takes a Bool, found %s", b.clause, k)
		return nil, false
	}
	if b.clause == "WHERE" || b.clause == "HAVING" || b.clause == "ON" {
		b.warnNever(e, b.clause, expr.As(x, types.Bool))
	}
	return expr.As(x, types.Bool), true
}
