package analyze

import (
	"strings"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// warnCall looks at one bound call for what is legal and hardly meant. args are the written arguments, at their places.
func (b *binder) warnCall(at syntax.Node, call expr.Expr, args []syntax.Expr, bound []expr.Expr) {
	c, ok := call.(*expr.Call)
	if !ok || len(args) != len(bound) {
		return
	}
	switch at.(type) {
	case *syntax.Is: // IS DISTINCT FROM compares everything
		return
	case *syntax.Between:
		b.warnComparison(args[1], ">=", args[:2], bound[:2])
		b.warnComparison(args[2], "<=", []syntax.Expr{args[0], args[2]}, []expr.Expr{bound[0], bound[2]})
		return
	}
	switch c.Fn.Name {
	case "=", "<>", "<", "<=", ">", ">=":
		b.warnComparison(at, c.Fn.Name, args, bound)
	case "IN":
		for i := 1; i < len(bound); i++ {
			if !b.warnNull(args[i], "IN", bound[i]) {
				b.warnKinds(args[i], "=", args[0], args[i], bound[0], bound[i])
			}
		}
	case "LIKE":
		b.warnPlainPattern(at, len(args))
	case "COALESCE":
		b.warnCoalesce(args, bound)
	default:
		b.warnAlwaysNull(at, c, bound)
	}
}

func (b *binder) warnComparison(at syntax.Node, op string, args []syntax.Expr, bound []expr.Expr) {
	for i := range bound {
		if isNull(bound[i]) {
			is := map[string]string{"=": "IS NULL", "<>": "IS NOT NULL"}[op]
			hint := "NULL compares with nothing"
			if is != "" {
				hint = "write " + is
			}
			b.warn(at, CodeNullComparison, hint, "%s NULL is never TRUE", op)
			if e, binary := at.(*syntax.Binary); binary && is != "" && i == 1 {
				end := e.R.Position()
				b.fix(&syntax.Fix{Title: hint, Edits: []syntax.Edit{{Pos: e.OpPos, Text: is}, {Pos: end}}})
			}
			return
		}
	}
	b.warnKinds(at, op, args[0], args[1], bound[0], bound[1])
}

func isNull(e expr.Expr) bool {
	l, ok := e.(*expr.Literal)
	return ok && l.V.IsNull()
}

// warnNull says that NULL in a list equals nothing.
func (b *binder) warnNull(at syntax.Node, what string, e expr.Expr) bool {
	if !isNull(e) {
		return false
	}
	b.warn(at, CodeNullComparison, "remove it; write x IS NULL OR x IN (...) for missing values", "NULL in %s equals nothing, and makes NOT IN never TRUE", what)
	return true
}

// kindClass groups the kinds whose values can be equal.
func kindClass(k types.Kind) string {
	switch k {
	case types.Long, types.Double, types.Timestamp:
		return "number"
	case types.String:
		return "text"
	case types.Bool:
		return "truth"
	}
	return ""
}

// warnKinds says that values of different kinds are compared: they are never equal, and have no order.
func (b *binder) warnKinds(at syntax.Node, op string, x, y syntax.Expr, bx, by expr.Expr) {
	cx, cy := kindClass(bx.Kind()), kindClass(by.Kind())
	if cx == "" || cy == "" || cx == cy {
		return
	}
	if b.clause == "ON" && len(plan.Columns(bx)) > 0 && len(plan.Columns(by)) > 0 {
		return // said of the keys of the join
	}
	result := "always FALSE"
	switch op {
	case "<>":
		result = "always TRUE"
	case "=":
	default:
		result = "always NULL"
	}
	hint, fix := "convert one side with CAST", (*syntax.Fix)(nil)
	for _, side := range []struct {
		text, other           syntax.Expr
		boundText, boundOther expr.Expr
	}{{x, y, bx, by}, {y, x, by, bx}} {
		if side.boundText.Kind() != types.String {
			continue
		}
		k := side.boundOther.Kind()
		literal, isLiteral := side.text.(*syntax.Literal)
		switch {
		case k == types.Timestamp && isLiteral:
			hint = "write TO_TIMESTAMP(" + syntax.Format(literal) + ")"
			fix = syntax.Replace(literal.Pos, syntax.Format(literal), "TO_TIMESTAMP("+syntax.Format(literal)+")")
		case (k == types.Long || k == types.Double) && isLiteral && isNumber64(literal.Text):
			hint, fix = "write "+literal.Text, syntax.Replace(literal.Pos, syntax.Format(literal), literal.Text)
		case k == types.Long || k == types.Double:
			hint = "convert the text with TO_DOUBLE or TO_LONG"
		}
		if fix != nil && len(fix.Title) > 120 {
			hint, fix = "convert the text", nil
		}
	}
	b.warn(at, CodeDifferentKinds, hint, "%s is %s and %s is %s: %s is %s", short(x), bx.Kind(), short(y), by.Kind(), op, result)
	if fix != nil {
		b.fix(fix)
	}
}

func isNumber64(s string) bool {
	digits := strings.TrimLeft(s, "-")
	return len(s)-len(digits) <= 1 && digits != "" && digits[0] != '.' && !strings.HasSuffix(digits, ".") &&
		strings.Count(digits, ".") <= 1 && strings.Trim(digits, "0123456789.") == "" && len(digits) < 19
}

// short is an expression as it is written, for a message.
func short(e syntax.Expr) string {
	if s := []rune(syntax.Format(e)); len(s) > 40 {
		return string(s[:37]) + "..."
	}
	return syntax.Format(e)
}

// warnPlainPattern says that a pattern matches one text only.
func (b *binder) warnPlainPattern(at syntax.Node, args int) {
	like, ok := at.(*syntax.Like)
	if !ok || args != 2 { // with ESCAPE something is meant
		return
	}
	l, ok := like.Pattern.(*syntax.Literal)
	if !ok || l.Kind != syntax.StringLiteral || strings.ContainsAny(l.Text, "%_\\") {
		return
	}
	op := "="
	if like.Not {
		op = "<>"
	}
	if like.FoldCase {
		b.warn(l, CodePlainPattern, "add % where other text may stand", "the pattern of ILIKE has neither %% nor _: it is equality in any case")
		return
	}
	b.warn(l, CodePlainPattern, "write "+op+", or add % where other text may stand", "the pattern of LIKE has neither %% nor _: it is the same as %s", op)
}

// warnCoalesce says which arguments COALESCE cannot give as they are: its kind is the one of the first.
func (b *binder) warnCoalesce(args []syntax.Expr, bound []expr.Expr) {
	first := kindClass(bound[0].Kind())
	for i := 1; i < len(bound); i++ {
		if k := kindClass(bound[i].Kind()); first != "" && k != "" && k != first {
			b.warn(args[i], CodeCoalesceKinds, "convert one of them with CAST", "COALESCE has the kind of its first argument, %s: %s is %s and is converted to it, or becomes NULL",
				bound[0].Kind(), short(args[i]), bound[i].Kind())
		}
	}
}

// warnAlwaysNull says that a call has no result whatever the rows are: a unit, an interval, a pattern or a text that
// means nothing.
func (b *binder) warnAlwaysNull(at syntax.Node, c *expr.Call, bound []expr.Expr) {
	if c.Fn.Operator || len(bound) == 0 || strings.HasPrefix(c.Fn.Name, "JSON_") {
		return
	}
	constants := 0
	sample := make([]expr.Expr, len(bound))
	for i, x := range bound {
		v, constant := expr.Constant(x)
		if constant {
			if v.IsNull() {
				return
			}
			constants++
			sample[i] = &expr.Literal{V: v}
			continue
		}
		switch x.Kind() {
		case types.Long:
			sample[i] = &expr.Literal{V: types.LongOf(1)}
		case types.Timestamp:
			sample[i] = &expr.Literal{V: types.TimestampOf(0)}
		case types.String:
			sample[i] = &expr.Literal{V: types.StringOf("1")}
		default:
			return
		}
	}
	if constants == 0 || constants < len(bound) && !constantMeans[c.Fn.Name] {
		return
	}
	fn := c.Fn
	if fn.Name == "REGEXP_EXTRACT" { // no match is NULL too
		fn, _ = expr.Lookup("REGEXP_LIKE")
		sample = sample[:min(2, len(sample))]
	}
	out, err := fn.Bind(sample)
	if err != nil {
		return
	}
	if v, ok := expr.Constant(out); ok && v.IsNull() {
		b.warn(at, CodeAlwaysNull, "write "+c.Fn.Signature, "%s is always NULL: its constant arguments mean nothing to it", shortNode(at, c))
	}
}

// constantMeans are the functions with arguments that are constants mostly, and wrong for every row when they are wrong.
var constantMeans = map[string]bool{"DATE_TRUNC": true, "EXTRACT": true, "TO_CHAR": true, "DATE_ADD": true, "DATE_SUB": true,
	"REGEXP_LIKE": true, "REGEXP_EXTRACT": true, "REGEXP_REPLACE": true}

func shortNode(at syntax.Node, c *expr.Call) string {
	if e, ok := at.(syntax.Expr); ok {
		return short(e)
	}
	return c.Fn.Name
}
