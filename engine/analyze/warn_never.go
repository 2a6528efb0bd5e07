package analyze

import (
	"strconv"
	"strings"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// warnNever says that a condition is TRUE for no row: it is the constant FALSE or NULL, or asks of one value what no
// value can be. Only comparisons of an expression with constants are looked at.
func (a *analyzer) warnNever(at syntax.Expr, clause string, pred expr.Expr) {
	ranges := map[string]*valueRange{}
	for _, c := range plan.Conjuncts(expr.Fold(pred)) {
		if l, ok := c.(*expr.Literal); ok {
			if l.V.IsNull() || !l.V.Bool() {
				if !a.explained(at) {
					a.warn(at, CodeNeverTrue, "remove the part that is not meant", "%s is never TRUE: no row passes", clause)
				}
				return
			}
			continue
		}
		x, op, v, ok := againstConstant(c)
		if !ok {
			continue
		}
		r := ranges[x.String()]
		if r == nil {
			r = &valueRange{}
			ranges[x.String()] = r
		}
		if !r.narrow(op, v) {
			a.warn(at, CodeNeverTrue, "join alternatives with OR", "%s is never TRUE: no value of %s meets all of its conditions", clause, x)
			return
		}
	}
}

// explained reports whether a warning about a comparison in the condition says already why it is never TRUE.
func (a *analyzer) explained(at syntax.Expr) bool {
	p := at.Position()
	for _, d := range a.ds {
		if (d.Code == CodeNullComparison || d.Code == CodeDifferentKinds || d.Code == CodeAlwaysNull) && d.Pos.Offset >= p.Offset && d.Pos.End <= p.End {
			return true
		}
	}
	return false
}

// againstConstant takes a comparison of an expression with a constant apart.
func againstConstant(e expr.Expr) (x expr.Expr, op string, v *expr.Literal, ok bool) {
	c, is := e.(*expr.Call)
	if !is {
		return nil, "", nil, false
	}
	if c.Fn.Name == "IS NULL" && len(c.Args) == 1 {
		return c.Args[0], "IS NULL", nil, true
	}
	turned := map[string]string{"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
	back, known := turned[c.Fn.Name]
	if !known || len(c.Args) != 2 {
		return nil, "", nil, false
	}
	if l, literal := c.Args[1].(*expr.Literal); literal && !l.V.IsNull() && comparable(c.Args[0], l) {
		return c.Args[0], c.Fn.Name, l, true
	}
	if l, literal := c.Args[0].(*expr.Literal); literal && !l.V.IsNull() && comparable(c.Args[1], l) {
		return c.Args[1], back, l, true
	}
	return nil, "", nil, false
}

func comparable(x expr.Expr, l *expr.Literal) bool {
	c := kindClass(l.Kind())
	return c != "" && c != "truth" && kindClass(x.Kind()) == c
}

// valueRange is what conditions leave of the values of one expression.
type valueRange struct {
	low, high         *expr.Literal
	lowOpen, highOpen bool
	null, other       bool
}

// narrow adds a condition and reports whether a value is left.
func (r *valueRange) narrow(op string, v *expr.Literal) bool {
	if op == "IS NULL" {
		r.null = true
		return !r.other
	}
	r.other = true
	if r.null {
		return false
	}
	if op == "=" || op == ">" || op == ">=" {
		if open := op == ">"; r.low == nil || less(r.low, v) || open && !less(v, r.low) {
			r.low, r.lowOpen = v, open
		}
	}
	if op == "=" || op == "<" || op == "<=" {
		if open := op == "<"; r.high == nil || less(v, r.high) || open && !less(r.high, v) {
			r.high, r.highOpen = v, open
		}
	}
	if r.low == nil || r.high == nil {
		return true
	}
	return less(r.low, r.high) || !less(r.high, r.low) && !r.lowOpen && !r.highOpen
}

// less compares two constants as the engine does.
func less(a, b *expr.Literal) bool {
	f, _ := expr.Lookup("<")
	e, err := f.Bind([]expr.Expr{a, b})
	if err != nil {
		return false
	}
	v, ok := expr.Constant(e)
	return ok && !v.IsNull() && v.Kind() == types.Bool && v.Bool()
}

// warnConstantKey says that GROUP BY takes no places of the select list.
func (q *selecting) warnConstantKey(e syntax.Expr) {
	l, ok := e.(*syntax.Literal)
	if !ok || l.Kind != syntax.LongLiteral {
		return
	}
	hint := "name the columns"
	var fix *syntax.Fix
	if n, err := strconv.Atoi(l.Text); err == nil && n >= 1 && n <= len(q.s.Items) && q.s.Items[n-1].Expr != nil && firstAggregate(q.s.Items[n-1].Expr) == nil {
		text := syntax.Format(q.s.Items[n-1].Expr)
		if len(text) < 60 {
			hint, fix = "write "+text, syntax.Replace(l.Pos, l.Text, text)
		}
	}
	q.warn(l, CodeConstantKey, hint, "GROUP BY %s groups by the number %s, which is the same in every row, not by a column of the select list", l.Text, l.Text)
	q.fix(fix)
}

// warnNoEventTime says that _ts of a relation without event time is 0.
func (b *binder) warnNoEventTime(c *syntax.ColumnRef, r ref) {
	if l, constant := r.expr.(*expr.Literal); constant && strings.EqualFold(c.Name.Name, types.TsColumn) && l.Kind() == types.Long {
		b.warn(c, CodeNoEventTime, "select MAX(_ts) AS at in the query that it reads, and use that", "%s is always 0: the rows it stands for have no event time", syntax.Format(c))
	}
}

// warnKeywordAlias says that an alias before a join is nearly a word of that join.
func (a *analyzer) warnKeywordAlias(t syntax.TableItem, j *syntax.Join) {
	n, ok := t.(*syntax.TableName)
	if !ok || n.Alias == nil || len(n.Alias.Name) < 4 || j.Kind != syntax.JoinInner || strings.ToUpper(n.Alias.Name) != n.Alias.Name {
		return
	}
	if w := syntax.Nearest(n.Alias.Name, []string{"LEFT", "RIGHT", "FULL", "INNER", "CROSS", "NATURAL", "ASOF"}); w != "" {
		a.warn(n.Alias, CodeKeywordAlias, "did you mean "+w+"?", "%q is read as an alias of %s, and the join as an inner one", n.Alias.Name, n.Name.Name)
		a.fix(syntax.Replace(n.Alias.Pos, n.Alias.Name, w))
	}
}
