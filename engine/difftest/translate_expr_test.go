package difftest_test

import (
	"fmt"
	"strings"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/syntax"
)

var operators = map[string]string{"+": "sf.add", "-": "sf.sub", "*": "sf.mul", "/": "sf.div", "%": "sf.mod", "||": "sf.cat",
	"=": "sf.eq", "<>": "sf.ne", "!=": "sf.ne", "<": "sf.lt", "<=": "sf.le", ">": "sf.gt", ">=": "sf.ge"}

// casts are the conversions by the name of the type and of the function.
var casts = map[string]string{"STRING": "sf.str", "TEXT": "sf.str", "TO_STRING": "sf.str", "DOUBLE": "sf.to_double",
	"DOUBLE PRECISION": "sf.to_double", "TO_DOUBLE": "sf.to_double", "LONG": "sf.to_long", "BIGINT": "sf.to_long", "INT": "sf.to_long",
	"TO_LONG": "sf.to_long", "BOOL": "sf.to_bool", "BOOLEAN": "sf.to_bool", "TO_BOOL": "sf.to_bool",
	"TIMESTAMP": "sf.to_timestamp", "TO_TIMESTAMP": "sf.to_timestamp"}

func (t *translator) expr(e syntax.Expr) {
	switch e := e.(type) {
	case *syntax.ColumnRef:
		if e.Qualifier != nil {
			t.add(e.Qualifier.Name, ".")
		}
		t.add(e.Name.Name)
	case *syntax.Literal:
		t.literal(e)
	case *syntax.Unary:
		t.unary(e)
	case *syntax.Binary:
		if e.Op == "AND" || e.Op == "OR" {
			t.add("(")
			t.expr(e.L)
			t.add(" ", e.Op, " ")
			t.expr(e.R)
			t.add(")")
			return
		}
		t.call(operators[e.Op], e.L, e.R)
	case *syntax.Access:
		t.access(e)
	case *syntax.Is, *syntax.Between, *syntax.Like, *syntax.InList, *syntax.InQuery:
		t.add("(")
		t.predicate(e)
		t.add(")")
	case *syntax.Exists:
		t.add("EXISTS (")
		t.query(e.Query)
		t.add(")")
	case *syntax.Subquery:
		t.add("(")
		t.query(e.Query)
		t.add(")")
	case *syntax.Case:
		t.caseExpr(e)
	case *syntax.Cast:
		t.convert(e.Type.Name, e.X)
	case *syntax.Call:
		t.function(e)
	default:
		panic(fmt.Sprintf("%T", e))
	}
}

func (t *translator) literal(l *syntax.Literal) {
	switch l.Kind {
	case syntax.NullLiteral:
		t.add("NULL")
	case syntax.TrueLiteral:
		t.add("true")
	case syntax.FalseLiteral:
		t.add("false")
	case syntax.LongLiteral:
		t.add(l.Text, "::bigint")
	case syntax.DoubleLiteral:
		t.add(l.Text, "::float8")
	default:
		t.add("'", strings.ReplaceAll(l.Text, "'", "''"), "'::text")
	}
}

func (t *translator) unary(e *syntax.Unary) {
	if e.Op == "NOT" {
		t.add("(NOT ")
		t.expr(e.X)
		t.add(")")
		return
	}
	if l, ok := e.X.(*syntax.Literal); ok && l.Kind == syntax.LongLiteral {
		t.add("('-", l.Text, "'::bigint)") // the smallest Long has no positive counterpart
		return
	}
	t.call("sf.neg", e.X)
}

func (t *translator) access(e *syntax.Access) {
	if e.AsText {
		t.add("sf.str(")
		defer t.add(")")
	}
	t.call("sf.get", e.X, e.Key)
}

func (t *translator) predicate(e syntax.Expr) {
	not := func(n bool) {
		if n {
			t.add("NOT ")
		}
	}
	switch e := e.(type) {
	case *syntax.Is:
		if e.What == "DISTINCT FROM" {
			not(e.Not)
			t.add("CASE WHEN ")
			t.expr(e.X)
			t.add(" IS NULL THEN ")
			t.expr(e.Y)
			t.add(" IS NOT NULL WHEN ")
			t.expr(e.Y)
			t.add(" IS NULL THEN true ELSE ")
			t.call("sf.ne", e.X, e.Y)
			t.add(" END")
			return
		}
		t.expr(e.X)
		t.add(" IS ")
		not(e.Not)
		t.add(e.What)
	case *syntax.Between:
		not(e.Not)
		t.add("(")
		t.call("sf.ge", e.X, e.Lo)
		t.add(" AND ")
		t.call("sf.le", e.X, e.Hi)
		t.add(")")
	case *syntax.Like:
		not(e.Not)
		if e.FoldCase {
			t.add("sf.like(lower(")
			t.expr(e.X)
			t.add("), lower(")
			t.expr(e.Pattern)
			t.add("))")
			return
		}
		if e.Escape == nil {
			t.call("sf.like", e.X, e.Pattern)
			return
		}
		t.add("(")
		t.expr(e.X)
		t.add(" LIKE ")
		t.expr(e.Pattern)
		t.add(" ESCAPE ")
		t.expr(e.Escape)
		t.add(")")
	case *syntax.InList:
		not(e.Not)
		t.add("(")
		for i, x := range e.List {
			if i > 0 {
				t.add(" OR ")
			}
			if l, ok := x.(*syntax.Literal); ok && l.Kind == syntax.NullLiteral {
				t.add("NULL::boolean")
				continue
			}
			t.call("sf.eq", e.X, x)
		}
		t.add(")")
	case *syntax.InQuery:
		t.inQuery(e)
	}
}

// inQuery: NULLs of the subquery are ignored, and a row whose own value is NULL is dropped in both forms.
func (t *translator) inQuery(e *syntax.InQuery) {
	if e.Not {
		t.expr(e.X)
		t.add(" IS NOT NULL AND NOT ")
	}
	t.add("EXISTS (SELECT 1 FROM (")
	t.query(e.Query)
	t.add(") AS in_(c_) WHERE sf.keyeq(in_.c_, ")
	t.expr(e.X)
	t.add("))")
}

func (t *translator) caseExpr(e *syntax.Case) {
	t.add("CASE")
	for _, w := range e.Whens {
		t.add(" WHEN ")
		if e.Operand != nil {
			t.call("sf.eq", e.Operand, w.Cond)
		} else {
			t.expr(w.Cond)
		}
		t.add(" THEN ")
		t.expr(w.Then)
	}
	if e.Else != nil {
		t.add(" ELSE ")
		t.expr(e.Else)
	}
	t.add(" END")
}

// convert writes a CAST or TO_ function. The text of TO_TIMESTAMP(x) is ISO-8601, that of a column its milliseconds.
func (t *translator) convert(to string, x syntax.Expr) {
	name := casts[strings.ToUpper(to)]
	if name == "" {
		panic("cast to " + to)
	}
	if name == "sf.str" {
		if c, ok := x.(*syntax.Cast); ok && c.Type.Name == "TIMESTAMP" {
			name = "sf.iso"
		}
		if c, ok := x.(*syntax.Call); ok && strings.EqualFold(c.Name.Name, "TO_TIMESTAMP") {
			name = "sf.iso"
		}
	}
	t.call(name, x)
}

func (t *translator) function(e *syntax.Call) {
	name := strings.ToUpper(e.Name.Name)
	if t.windowFunction(e) {
		return
	}
	if a, ok := agg.Lookup(name); ok {
		t.aggregate(a.Name, e)
		return
	}
	if casts[name] != "" {
		t.convert(name, e.Args[0])
		return
	}
	switch name {
	case "IF":
		t.add("CASE WHEN ")
		t.expr(e.Args[0])
		t.add(" THEN ")
		t.expr(e.Args[1])
		t.add(" ELSE ")
		t.expr(e.Args[2])
		t.add(" END")
	case "COALESCE":
		t.add(strings.Repeat("sf.coalesce(", len(e.Args)-1))
		for i, a := range e.Args {
			if i > 0 {
				t.add(", ")
			}
			t.expr(a)
			if i > 0 {
				t.add(")")
			}
		}
	case "ABS", "ROUND", "UPPER", "LOWER", "LENGTH", "STRPOS", "LEFT", "RIGHT", "LPAD", "RPAD", "REPEAT", "SPLIT_PART", "SUBSTRING",
		"FLOOR", "CEIL", "SIGN", "SQRT", "LN", "MOD":
		t.call("sf."+strings.ToLower(name), e.Args...)
	case "LTRIM", "RTRIM", "REPLACE", "REVERSE", "STARTS_WITH", "MD5", "GREATEST", "LEAST":
		t.call(strings.ToLower(name), e.Args...)
	case "TRIM":
		t.call("btrim", e.Args...)
	case "CONCAT":
		t.add("concat(")
		t.list(len(e.Args), func(i int) { t.convert("TEXT", e.Args[i]) })
		t.add(")")
	case "NULLIF":
		t.add("CASE WHEN ")
		t.call("sf.eq", e.Args...)
		t.add(" THEN NULL ELSE ")
		t.expr(e.Args[0])
		t.add(" END")
	case "GROUPING":
		t.call("grouping", e.Args...)
		t.add("::bigint")
	default:
		panic("function " + name)
	}
}

func (t *translator) aggregate(name string, e *syntax.Call) {
	if t.statistic(name, e) {
		return
	}
	to := map[string]string{"STRING_AGG": "string_agg", "COUNT": "count", "SUM": "sf.sum", "AVG": "sf.avg", "MIN": "sf.min", "MAX": "sf.max",
		"BOOL_AND": "bool_and", "BOOL_OR": "bool_or"}[name]
	if to == "" {
		panic("aggregate " + name)
	}
	t.add(to, "(")
	if e.Star {
		t.add("*")
	}
	if e.Distinct {
		t.add("DISTINCT ")
	}
	t.exprs(e.Args)
	for i, o := range e.OrderBy {
		t.add([]string{" ORDER BY ", ", "}[min(i, 1)])
		t.order(o)
	}
	t.add(")")
	t.filter(e)
	t.over(e.Over)
}

func (t *translator) filter(e *syntax.Call) {
	if e.Filter != nil {
		t.add(" FILTER (WHERE ")
		t.expr(e.Filter)
		t.add(")")
	}
}

// statistic writes variances and percentiles, which PostgreSQL computes of exact numbers.
func (t *translator) statistic(name string, e *syntax.Call) bool {
	switch name {
	case "VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV_SAMP":
		t.add("sf.nearest(", strings.ToLower(name), "(sf.n(")
		t.exprs(e.Args)
		t.add("))")
	case "MEDIAN", "PERCENTILE_CONT":
		p, x := "0.5", e.Args[0]
		if len(e.Args) == 2 {
			p, x = e.Args[0].(*syntax.Literal).Text, e.Args[1]
		}
		t.add("(percentile_cont(", p, ") WITHIN GROUP (ORDER BY sf.to_double(")
		t.expr(x)
		t.add("))")
	default:
		return false
	}
	t.filter(e)
	t.over(e.Over)
	t.add(")")
	return true
}
