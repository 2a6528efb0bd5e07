package expr_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

func lit(v any) expr.Expr {
	switch v := v.(type) {
	case nil:
		return &expr.Literal{V: types.Null(types.Unknown)}
	case int:
		return long(int64(v))
	case int64:
		return long(v)
	case float64:
		return &expr.Literal{V: types.DoubleOf(v)}
	case bool:
		return &expr.Literal{V: types.BoolOf(v)}
	case string:
		return text(v)
	case types.Value:
		return &expr.Literal{V: v}
	case expr.Expr:
		return v
	}
	panic(fmt.Sprintf("no literal of %T", v))
}

func literals(vs []any) []expr.Expr {
	out := make([]expr.Expr, len(vs))
	for i, v := range vs {
		out[i] = lit(v)
	}
	return out
}

func args(vs ...any) []any { return vs }

// TestFunctions is the fine print of the language: every function and operator with NULL, values of other kinds
// and extremes.
func TestFunctions(t *testing.T) {
	iso := bind("TO_TIMESTAMP", text("2026-11-30T20:50:00.5Z"))
	doc := types.JsonOf(`{"a":{"b":[1,"x",null,true,2.50]},"n":null,"s":"q\"\u00e9"}`)
	a, b := bind("->", lit(doc), text("a")), bind("->", bind("->", lit(doc), text("a")), text("b"))
	for _, tt := range []struct {
		name string
		args []any
		want string
	}{
		{"+", args(1, 2), "3"}, {"+", args(1, 2.5), "3.5"}, {"+", args(1, nil), "NULL"}, {"+", args("1", 2), "NULL"},
		{"+", args(true, 2), "NULL"}, {"+", args(int64(math.MaxInt64), 1), "NULL"}, {"+", args(types.TimestampOf(5), 1), "6.0"},
		{"+", args(math.Inf(1), math.Inf(-1)), "NULL"},
		{"-", args(int64(math.MinInt64), 1), "NULL"}, {"-", args(5), "-5"}, {"-", args(0.0), "0.0"}, {"-", args("x"), "NULL"},
		{"-", args(lit(int64(math.MinInt64))), "NULL"}, {"-", args(nil), "NULL"},
		{"*", args(1<<40, 1<<40), "NULL"}, {"*", args(-3, 4), "-12"}, {"*", args(-1, int64(math.MinInt64)), "NULL"},
		{"*", args(0.0, -1), "0.0"}, {"*", args(0, math.Inf(1)), "NULL"},
		{"/", args(1, 2), "0.5"}, {"/", args(1, 0), "NULL"}, {"/", args(1.0, 0.0), "NULL"}, {"/", args(nil, 1), "NULL"}, {"/", args(math.Copysign(0, -1), 5), "0.0"},
		{"%", args(7, 3), "1"}, {"%", args(-7, 3), "-1"}, {"%", args(7, 0), "NULL"}, {"%", args(7.5, 2), "1.5"}, {"%", args(7.5, 0), "NULL"},
		{"%", args(int64(math.MinInt64), -1), "0"},

		{"=", args(1, 1.0), "true"}, {"=", args(1, "1"), "false"}, {"=", args(1, nil), "NULL"}, {"=", args(nil, nil), "NULL"},
		{"=", args(true, 1), "false"}, {"=", args(int64(1<<53+1), float64(1<<53)), "false"}, {"=", args("a", "A"), "false"},
		{"<>", args(1, "1"), "true"}, {"!=", args(1, 2), "true"}, {"<>", args(1, nil), "NULL"}, {"=", args(types.TimestampOf(5), 5), "true"},
		{"<", args(1, 1.5), "true"}, {"<", args(1, "2"), "NULL"}, {"<", args("a", "b"), "true"}, {"<", args(false, true), "true"},
		{"<=", args(2.0, 2), "true"}, {">", args(int64(1<<53+1), float64(1<<53)), "true"}, {">=", args("b", "a"), "true"},
		{"=", args(doc, nil), "NULL"},

		{"AND", args(false, nil), "false"}, {"AND", args(true, nil), "NULL"}, {"AND", args(true, true), "true"},
		{"OR", args(true, nil), "true"}, {"OR", args(false, nil), "NULL"}, {"OR", args(false, false), "false"},
		{"NOT", args(nil), "NULL"}, {"NOT", args(true), "false"},
		{"IS NULL", args(nil), "true"}, {"IS NULL", args(0), "false"}, {"IS NOT NULL", args(""), "true"},
		{"BETWEEN", args(2, 1, 3), "true"}, {"BETWEEN", args(4, 1, 3), "false"}, {"BETWEEN", args(4, nil, 3), "false"}, {"BETWEEN", args(2, nil, 3), "NULL"},
		{"IN", args(2, 1, 2.0), "true"}, {"IN", args(2, 1, nil), "NULL"}, {"IN", args(1, 1, nil), "true"}, {"IN", args(nil, 1), "NULL"},
		{"IN", args("a", "b", 1), "false"}, {"IN", args(true, false, true), "true"},
		{"LIKE", args("abc", "a%"), "true"}, {"LIKE", args("abc", "_b_"), "true"}, {"LIKE", args("abc", "b%"), "false"}, {"LIKE", args("é", "_"), "true"},
		{"LIKE", args("50%", "50!%", "!"), "true"}, {"LIKE", args("50x", "50!%", "!"), "false"}, {"LIKE", args(nil, "%"), "NULL"}, {"LIKE", args(5, "5"), "NULL"},
		{"LIKE", args("", "%%"), "true"}, {"LIKE", args("mississippi", "%iss%pi"), "true"},
		{"||", args("a", "b"), `"ab"`}, {"||", args("a", nil), "NULL"}, {"||", args("n", 1.5), `"n1.5"`},

		{"->", args(doc, "a"), `{"b":[1,"x",null,true,2.50]}`}, {"->", args(doc, "n"), "NULL"}, {"->", args(doc, "z"), "NULL"}, {"->", args(doc, 0), "NULL"},
		{"->", args(b, 0), "1"}, {"->", args(b, 9), "NULL"}, {"->", args(b, 2), "NULL"},
		{"->>", args(b, 1), `"x"`}, {"->>", args(b, 4), `"2.50"`}, {"->>", args(doc, "s"), `"q\"é"`}, {"->>", args(a, "b"), `"[1,\"x\",null,true,2.50]"`},

		{"ABS", args(-5), "5"}, {"ABS", args(-2.5), "2.5"}, {"ABS", args("x"), "NULL"}, {"ABS", args(lit(int64(math.MinInt64))), "NULL"}, {"ABS", args(nil), "NULL"},
		{"ROUND", args(2.5), "3.0"}, {"ROUND", args(-2.5), "-3.0"}, {"ROUND", args(1.005, 2), "1.01"}, {"ROUND", args(1234.5678, -2), "1235.0"},
		{"ROUND", args(7, 2), "7"}, {"ROUND", args("x"), "NULL"}, {"ROUND", args(9.995, 2), "10.0"}, {"ROUND", args(1e300, 2), "1e+300"}, {"ROUND", args(-0.2), "0.0"},
		{"ROUND", args(2.5, nil), "NULL"},
		{"UPPER", args("straße é"), `"STRAßE É"`}, {"LOWER", args("ÀB"), `"àb"`}, {"UPPER", args(5), "NULL"},
		{"COALESCE", args(nil, 2, 3), "2"}, {"COALESCE", args(nil, nil), "NULL"}, {"COALESCE", args(1), "1"}, {"COALESCE", args("a", 2), `"a"`},
		{"IF", args(true, 1, 2.5), "1.0"}, {"IF", args(nil, 1, 2), "2"}, {"IF", args(false, "a", nil), "NULL"},

		{"TO_LONG", args(2.9), "2"}, {"TO_LONG", args(-2.9), "-2"}, {"TO_LONG", args(1e30), "NULL"}, {"TO_LONG", args(true), "1"}, {"TO_LONG", args("12"), "12"},
		{"TO_LONG", args("x"), "NULL"}, {"TO_LONG", args(nil), "NULL"},
		{"TO_DOUBLE", args("1,234.5"), "1234.5"}, {"TO_DOUBLE", args("1e3"), "1000.0"}, {"TO_DOUBLE", args(false), "0.0"}, {"TO_DOUBLE", args("abc"), "NULL"},
		{"TO_BOOL", args("TRUE"), "true"}, {"TO_BOOL", args(""), "false"}, {"TO_BOOL", args("0"), "false"}, {"TO_BOOL", args("no"), "true"}, {"TO_BOOL", args(0.0), "false"},
		{"TO_TIMESTAMP", args("2026-11-30T20:50:00"), "1796071800000"}, {"TO_TIMESTAMP", args("17"), "17"}, {"TO_TIMESTAMP", args("soon"), "NULL"},
		{"TO_STRING", args(15.0), `"15"`}, {"TO_STRING", args(true), `"true"`}, {"TO_STRING", args(nil), "NULL"}, {"TO_STRING", args(iso), `"2026-11-30T20:50:00.500Z"`},
		{"TO_STRING", args(types.TimestampOf(5)), `"5"`}, {"TO_STRING", args(types.JsonOf(`{"a":1}`)), `"{\"a\":1}"`},
	} {
		f, ok := expr.Lookup(tt.name)
		if !ok {
			t.Errorf("no function %s", tt.name)
			continue
		}
		e, err := f.Bind(literals(tt.args))
		if err != nil {
			t.Errorf("%s%v: %v", tt.name, tt.args, err)
			continue
		}
		got, ok := expr.Constant(e)
		if !ok || got.String() != tt.want {
			t.Errorf("%s = %v, want %s", e, got, tt.want)
		}
		// A kernel on columns agrees with the folded constant.
		k := expr.Compile(unfolded(e))
		col := k.Eval(&zset.Batch{N: 1, Cols: columnsFor(e)}, nil)
		if v := col.Value(0); v.String() != tt.want {
			t.Errorf("%s over columns = %v, want %s", e, v, tt.want)
		}
	}
}

// unfolded replaces the literals of the outermost call by columns, so that nothing is folded.
func unfolded(e expr.Expr) expr.Expr {
	c, ok := e.(*expr.Call)
	if !ok || c.Fn.Name == "IN" {
		return e
	}
	out := &expr.Call{Fn: c.Fn, K: c.K}
	for i, a := range c.Args {
		if l, ok := a.(*expr.Literal); ok && l.V.Kind() != types.Unknown {
			a = &expr.Column{Index: i, Name: "x", K: l.V.Kind()}
		}
		out.Args = append(out.Args, a)
	}
	return out
}

func columnsFor(e expr.Expr) []zset.Column {
	c, ok := e.(*expr.Call)
	if !ok {
		return nil
	}
	var out []zset.Column
	for _, a := range c.Args {
		l, ok := a.(*expr.Literal)
		if !ok || l.V.Kind() == types.Unknown {
			out = append(out, zset.Column{})
			continue
		}
		b := zset.NewBuilder([]types.Kind{l.V.Kind()})
		b.Value(0, l.V)
		b.EndRow(1)
		out = append(out, b.Build().Cols[0])
	}
	return out
}

// TestTable: the table is sorted, complete and printable.
func TestTable(t *testing.T) {
	fs := expr.Functions()
	if !slices.IsSortedFunc(fs, func(a, b *expr.Function) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the table of functions is not sorted by name")
	}
	for _, f := range fs {
		if f.Signature == "" || f.Result == "" || !strings.HasSuffix(f.Doc, ".") {
			t.Errorf("%s: signature %q, result %q, doc %q", f.Name, f.Signature, f.Result, f.Doc)
		}
		if got, ok := expr.Lookup(strings.ToLower(f.Name)); !ok || got != f {
			t.Errorf("%s is not found in lower case", f.Name)
		}
	}
	for _, name := range expr.Names() {
		if f, _ := expr.Lookup(name); f.Operator {
			t.Errorf("%s is an operator", name)
		}
	}
}

func TestBindErrors(t *testing.T) {
	js := &expr.Column{Index: 0, Name: "j", K: types.Json}
	s := &expr.Column{Index: 1, Name: "s", K: types.String}
	for _, tt := range []struct {
		name string
		args []expr.Expr
		arg  int
		code string
		text string
	}{
		{"ABS", nil, -1, expr.CodeArgumentCount, "ABS takes 1 argument, found 0; write ABS(x)"},
		{"ROUND", literals(args(1, 2, 3)), -1, expr.CodeArgumentCount, "ROUND takes 1 to 2 arguments, found 3; write ROUND(x [, digits])"},
		{"COALESCE", nil, -1, expr.CodeArgumentCount, "COALESCE takes at least 1 argument, found 0; write COALESCE(a, ...)"},
		{"+", []expr.Expr{long(1), js}, 1, expr.CodeJSONBare, ""},
		{"<", []expr.Expr{js, long(1)}, 0, expr.CodeJSONBare, ""},
		{"BETWEEN", []expr.Expr{long(1), long(0), js}, 2, expr.CodeJSONBare, ""},
		{"->", []expr.Expr{s, text("a")}, 0, expr.CodeTypeMismatch, ""},
		{"->>", []expr.Expr{js, js}, 1, expr.CodeTypeMismatch, ""}, {"->", []expr.Expr{js, long(-1)}, 1, expr.CodeTypeMismatch, ""},
		{"AND", []expr.Expr{lit(true), s}, 1, expr.CodeTypeMismatch, ""},
		{"IF", []expr.Expr{s, long(1), long(2)}, 0, expr.CodeTypeMismatch, "the condition of IF must be Bool, found String; compare it with something"},
		{"IF", []expr.Expr{lit(true), long(1), s}, 2, expr.CodeTypeMismatch, "the branches of IF have different kinds: Long and String; convert the branches to one kind with CAST"},
	} {
		f, _ := expr.Lookup(tt.name)
		_, err := f.Bind(tt.args)
		var be *expr.BindError
		if !errors.As(err, &be) || be.Arg != tt.arg || be.Code != tt.code || tt.text != "" && be.Error() != tt.text {
			t.Errorf("%s%v: got %#v, want argument %d, code %s, %q", tt.name, tt.args, err, tt.arg, tt.code, tt.text)
		}
	}
}

// TestPrint: expressions print as SQL with the parentheses that the grammar needs.
func TestPrint(t *testing.T) {
	a, b, c := column(0), column(1), column(4)
	a.Name, b.Name, c.Name = "a", "b", "t.s"
	sum := bind("+", a, b)
	for _, tt := range []struct {
		e    expr.Expr
		want string
	}{
		{bind("*", sum, long(2)), "(a + b) * 2"},
		{bind("+", sum, long(2)), "a + b + 2"},
		{bind("-", a, sum), "a - (a + b)"},
		{bind("-", bind("*", a, b)), "-(a * b)"},
		{bind("+", a, long(-1)), "a + -1"},
		{bind("NOT", bind("AND", bind("=", a, b), bind("IS NULL", c))), "NOT (a = b AND t.s IS NULL)"},
		{bind("OR", bind("AND", bind("<", a, b), lit(true)), bind("NOT", bind("=", c, text("it's")))), "a < b AND TRUE OR NOT t.s = 'it''s'"},
		{bind("=", bind("<", a, b), lit(false)), "(a < b) = FALSE"},
		{bind("IN", a, long(1), lit(nil)), "a IN (1, NULL)"},
		{bind("LIKE", c, text("a%"), text("!")), "t.s LIKE 'a%' ESCAPE '!'"},
		{bind("IF", bind(">", a, long(1)), a, lit(nil)), "CASE WHEN a > 1 THEN a ELSE NULL END"},
		{bind("ROUND", bind("/", a, b), long(2)), "ROUND(a / b, 2)"},
		{bind("->>", bind("->", column(9), text("a")), long(0)), "c9_Json -> 'a' ->> 0"},
	} {
		if got := tt.e.String(); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

// ExampleCompile binds price * qty and evaluates it over a batch.
func ExampleCompile() {
	price := &expr.Column{Index: 0, Name: "price", K: types.Double}
	qty := &expr.Column{Index: 1, Name: "qty", K: types.Long}
	times, _ := expr.Lookup("*")
	total, err := times.Bind([]expr.Expr{price, qty})
	if err != nil {
		panic(err)
	}
	b := zset.NewBuilder([]types.Kind{types.Double, types.Long})
	b.Double(0, 2.5)
	b.Long(1, 4)
	b.EndRow(1)
	col := expr.Compile(total).Eval(b.Build(), nil)
	fmt.Println(total, total.Kind(), col.Value(0))
	// Output: price * qty Double 10.0
}
