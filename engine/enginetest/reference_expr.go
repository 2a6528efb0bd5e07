package enginetest

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

var null = types.Null(types.Unknown)

func (e *env) literal(l *syntax.Literal) types.Value {
	switch l.Kind {
	case syntax.TrueLiteral:
		return types.BoolOf(true)
	case syntax.FalseLiteral:
		return types.BoolOf(false)
	case syntax.StringLiteral:
		return types.StringOf(l.Text)
	case syntax.LongLiteral:
		i, err := strconv.ParseInt(l.Text, 10, 64)
		if err != nil {
			i = math.MinInt64 // only behind a minus does it compile
		}
		return types.LongOf(i)
	case syntax.DoubleLiteral:
		f, _ := strconv.ParseFloat(l.Text, 64)
		return types.DoubleOf(f)
	}
	return null
}

// truth reports whether a condition is exactly TRUE.
func (e *env) truth(x syntax.Expr) bool {
	v := e.value(x)
	return !v.IsNull() && v.Kind() == types.Bool && v.Bool()
}

// value computes an expression for the current row or group.
func (e *env) value(x syntax.Expr) types.Value {
	if e.group != nil && len(e.rolled) > 0 && e.rolled[syntax.Format(x)] {
		return types.Null(known(e.kind(x)))
	}
	switch x := x.(type) {
	case *syntax.ColumnRef:
		return e.columnValue(e.find(x))
	case *syntax.Literal:
		return e.literal(x)
	case *syntax.Unary:
		return e.unary(x)
	case *syntax.Binary:
		return e.binary(x)
	case *syntax.Access:
		return e.access(x)
	case *syntax.Is:
		return e.is(x)
	case *syntax.Between:
		v := and(compare(">=", e.value(x.X), e.value(x.Lo)), compare("<=", e.value(x.X), e.value(x.Hi)))
		return notIf(x.Not, v)
	case *syntax.Like:
		return notIf(x.Not, e.like(x))
	case *syntax.InList:
		out := types.BoolOf(false)
		for _, item := range x.List {
			out = or(out, compare("=", e.value(x.X), e.value(item)))
		}
		return notIf(x.Not, out)
	case *syntax.Case:
		return e.caseValue(x)
	case *syntax.Cast:
		return e.convert(x.X, castKind(x.Type.Name))
	case *syntax.Call:
		return e.call(x)
	case *syntax.InQuery:
		return notIf(x.Not, e.inQuery(x))
	case *syntax.Exists:
		return types.BoolOf(len(e.subquery(x.Query).rows) > 0)
	case *syntax.Subquery:
		t := e.subquery(x.Query)
		if len(t.rows) == 0 {
			return types.Null(t.fields[0].Stored())
		}
		return t.rows[0].vals[0]
	}
	panic("BUG: the reference does not know this expression")
}

func (e *env) columnValue(p place) types.Value {
	if o := p.outer; o != nil {
		p.outer = nil
		e.r.outerReads++
		return o.columnValue(p)
	}
	switch {
	case p.constant != nil:
		return *p.constant
	case p.border > 0:
		return e.window.value(p.border - 1)
	case p.merged != nil:
		return e.mergedValue(p.merged)
	case p.ts && e.ts[p.source] == noTime:
		return types.Null(types.Long)
	case p.ts:
		return types.LongOf(e.ts[p.source])
	}
	return e.vals[p.column]
}

func (e *env) unary(x *syntax.Unary) types.Value {
	if x.Op == "NOT" {
		return not(e.value(x.X))
	}
	v := e.value(x.X)
	switch {
	case v.IsNull():
	case v.Kind() == types.Long || v.Kind() == types.Timestamp:
		if v.Int() == math.MinInt64 {
			if _, literal := x.X.(*syntax.Literal); literal {
				return v
			}
			break
		}
		if v.Kind() == types.Timestamp {
			return types.TimestampOf(-v.Int())
		}
		return types.LongOf(-v.Int())
	case v.Kind() == types.Double:
		return types.DoubleOf(-v.Float())
	}
	return null
}

func (e *env) binary(x *syntax.Binary) types.Value {
	a, b := e.value(x.L), e.value(x.R)
	switch x.Op {
	case "AND":
		return and(a, b)
	case "OR":
		return or(a, b)
	case "||":
		l, r := types.Convert(a, types.String), types.Convert(b, types.String)
		if l.IsNull() || r.IsNull() {
			return null
		}
		return types.StringOf(l.Text() + r.Text())
	case "+", "-", "*", "/", "%":
		if v, ok := e.addInterval(x); ok {
			return v
		}
		return arithmetic(x.Op, a, b)
	}
	return compare(x.Op, a, b)
}

func number(v types.Value) bool {
	return !v.IsNull() && (v.Kind() == types.Long || v.Kind() == types.Double || v.Kind() == types.Timestamp)
}

func asFloat(v types.Value) float64 {
	if v.Kind() == types.Double {
		return v.Float()
	}
	return float64(v.Int())
}

func arithmetic(op string, a, b types.Value) types.Value {
	if !number(a) || !number(b) {
		return null
	}
	if a.Kind() == types.Long && b.Kind() == types.Long && op != "/" {
		return longArithmetic(op, big.NewInt(a.Int()), big.NewInt(b.Int()))
	}
	x, y := asFloat(a), asFloat(b)
	var f float64
	switch op {
	case "+":
		f = x + y
	case "-":
		f = x - y
	case "*":
		f = x * y
	case "/":
		if y == 0 {
			return null
		}
		f = x / y
	case "%":
		if y == 0 {
			return null
		}
		f = math.Mod(x, y)
	}
	if f != f {
		return null
	}
	return types.DoubleOf(f)
}

func longArithmetic(op string, x, y *big.Int) types.Value {
	z := new(big.Int)
	switch op {
	case "+":
		z.Add(x, y)
	case "-":
		z.Sub(x, y)
	case "*":
		z.Mul(x, y)
	case "%":
		if y.Sign() == 0 {
			return null
		}
		z.Rem(x, y)
	}
	if !z.IsInt64() {
		return null
	}
	return types.LongOf(z.Int64())
}

// compare is a three-valued comparison.
func compare(op string, a, b types.Value) types.Value {
	if a.IsNull() || b.IsNull() {
		return null
	}
	var c int
	switch {
	case number(a) && number(b):
		c = compareNumbers(a, b)
	case a.Kind() == types.String && b.Kind() == types.String:
		c = strings.Compare(a.Text(), b.Text())
	case a.Kind() == types.Bool && b.Kind() == types.Bool:
		c = int(a.Int() - b.Int())
	case op == "=":
		return types.BoolOf(false)
	case op == "<>":
		return types.BoolOf(true)
	default:
		return null
	}
	switch op {
	case "=":
		return types.BoolOf(c == 0)
	case "<>":
		return types.BoolOf(c != 0)
	case "<":
		return types.BoolOf(c < 0)
	case "<=":
		return types.BoolOf(c <= 0)
	case ">":
		return types.BoolOf(c > 0)
	}
	return types.BoolOf(c >= 0)
}

func compareNumbers(a, b types.Value) int {
	x, okX := exactNumber(a)
	y, okY := exactNumber(b)
	if okX && okY {
		return x.Cmp(y)
	}
	switch f, g := asFloat(a), asFloat(b); { // infinities
	case f < g:
		return -1
	case f > g:
		return 1
	}
	return 0
}

func not(v types.Value) types.Value {
	if v.IsNull() {
		return null
	}
	return types.BoolOf(!v.Bool())
}

func notIf(negate bool, v types.Value) types.Value {
	if negate {
		return not(v)
	}
	return v
}

func and(a, b types.Value) types.Value {
	switch {
	case !a.IsNull() && !a.Bool(), !b.IsNull() && !b.Bool():
		return types.BoolOf(false)
	case a.IsNull() || b.IsNull():
		return null
	}
	return types.BoolOf(true)
}

func or(a, b types.Value) types.Value { return not(and(not(a), not(b))) }

func (e *env) access(x *syntax.Access) types.Value {
	v := e.value(x.X)
	if v.IsNull() {
		return null
	}
	var node []byte
	var ok bool
	key := e.value(x.Key)
	if key.IsNull() {
		return null
	}
	if key.Kind() == types.Long {
		node, ok = types.JsonIndex([]byte(v.Text()), int(key.Int()))
	} else {
		node, ok = types.JsonField([]byte(v.Text()), []byte(key.Text()))
	}
	if !ok {
		return null
	}
	if !x.AsText {
		return types.JsonOf(string(node))
	}
	text, ok := types.AppendJsonText(nil, node)
	if !ok {
		return null
	}
	return types.StringOf(string(text))
}

func (e *env) is(x *syntax.Is) types.Value {
	v := e.value(x.X)
	var out bool
	switch x.What {
	case "NULL":
		out = v.IsNull()
	case "TRUE":
		out = !v.IsNull() && v.Bool()
	case "FALSE":
		out = !v.IsNull() && !v.Bool()
	default:
		y := e.value(x.Y)
		if v.IsNull() || y.IsNull() {
			out = v.IsNull() != y.IsNull()
		} else {
			out = compare("<>", v, y).Bool()
		}
	}
	return types.BoolOf(out != x.Not)
}

func (e *env) like(x *syntax.Like) types.Value {
	v, p := e.value(x.X), e.value(x.Pattern)
	escape := rune(-1)
	if x.Escape != nil {
		c := e.value(x.Escape)
		if c.IsNull() || c.Kind() != types.String || len([]rune(c.Text())) != 1 {
			return null
		}
		escape = []rune(c.Text())[0]
	}
	if v.IsNull() || p.IsNull() || v.Kind() != types.String || p.Kind() != types.String {
		return null
	}
	s, pattern := v.Text(), p.Text()
	if x.FoldCase {
		s, pattern = strings.ToLower(s), strings.ToLower(pattern)
	}
	return types.BoolOf(matches([]rune(s), []rune(pattern), escape))
}

func matches(s, p []rune, escape rune) bool {
	if len(p) == 0 {
		return len(s) == 0
	}
	switch {
	case p[0] == escape && len(p) > 1:
		return len(s) > 0 && s[0] == p[1] && matches(s[1:], p[2:], escape)
	case p[0] == '%':
		return matches(s, p[1:], escape) || len(s) > 0 && matches(s[1:], p, escape)
	case p[0] == '_':
		return len(s) > 0 && matches(s[1:], p[1:], escape)
	}
	return len(s) > 0 && s[0] == p[0] && matches(s[1:], p[1:], escape)
}

func (e *env) caseValue(x *syntax.Case) types.Value {
	k := e.kind(x)
	for _, w := range x.Whens {
		hit := false
		if x.Operand != nil {
			c := compare("=", e.value(x.Operand), e.value(w.Cond))
			hit = !c.IsNull() && c.Bool()
		} else {
			hit = e.truth(w.Cond)
		}
		if hit {
			return widen(e.value(w.Then), k)
		}
	}
	if x.Else == nil {
		return types.Null(k)
	}
	return widen(e.value(x.Else), k)
}

// widen gives a branch the common kind.
func widen(v types.Value, k types.Kind) types.Value {
	if v.IsNull() {
		return types.Null(k)
	}
	if k == types.Double && v.Kind() == types.Long {
		return types.DoubleOf(float64(v.Int()))
	}
	return v
}

// convert is CAST: the text of TO_TIMESTAMP(x) is ISO-8601, that of any other Timestamp its number.
func (e *env) convert(x syntax.Expr, to types.Kind) types.Value {
	v := e.value(x)
	if to == types.String && isConversionToTimestamp(x) {
		if v.IsNull() {
			return types.Null(types.String)
		}
		text, ok := types.AppendTime(nil, v.Int())
		if !ok {
			return types.Null(types.String)
		}
		return types.StringOf(string(text))
	}
	return types.Convert(v, to)
}

func isConversionToTimestamp(x syntax.Expr) bool {
	switch x := x.(type) {
	case *syntax.Cast:
		return castKind(x.Type.Name) == types.Timestamp
	case *syntax.Call:
		return strings.EqualFold(x.Name.Name, "TO_TIMESTAMP")
	}
	return false
}

func (e *env) call(c *syntax.Call) types.Value {
	if c.Over != nil {
		return e.over[c]
	}
	if isAggregateCall(c) {
		return e.aggregate(c)
	}
	switch name := strings.ToUpper(c.Name.Name); name {
	case "GROUPING":
		return e.grouping(c)
	case "TO_LONG":
		return e.convert(c.Args[0], types.Long)
	case "TO_DOUBLE":
		return e.convert(c.Args[0], types.Double)
	case "TO_BOOL":
		return e.convert(c.Args[0], types.Bool)
	case "TO_STRING":
		return e.convert(c.Args[0], types.String)
	case "TO_TIMESTAMP":
		return e.convert(c.Args[0], types.Timestamp)
	case "IF":
		k := e.callKind(c)
		if e.truth(c.Args[0]) {
			return widen(e.value(c.Args[1]), k)
		}
		return widen(e.value(c.Args[2]), k)
	case "COALESCE":
		k := e.callKind(c)
		for _, a := range c.Args {
			v := e.value(a)
			if v.Kind() != k {
				v = e.convert(a, k)
			}
			if !v.IsNull() {
				return v
			}
		}
		return types.Null(k)
	case "UPPER", "LOWER":
		v := e.value(c.Args[0])
		if v.IsNull() || v.Kind() != types.String {
			return null
		}
		if name == "UPPER" {
			return types.StringOf(strings.ToUpper(v.Text()))
		}
		return types.StringOf(strings.ToLower(v.Text()))
	case "ABS":
		return abs(numberOf(e.value(c.Args[0])))
	case "ROUND":
		digits := types.LongOf(0)
		if len(c.Args) == 2 {
			digits = e.value(c.Args[1])
		}
		return round(numberOf(e.value(c.Args[0])), digits)
	}
	return e.tableFunction(c)
}

// numberOf takes the number out of a Json value.
func numberOf(v types.Value) types.Value {
	if v.IsNull() || v.Kind() != types.Json {
		return v
	}
	if f, ok := jsonNumber(v); ok {
		return types.DoubleOf(f)
	}
	return null
}

func abs(v types.Value) types.Value {
	switch {
	case !number(v):
		return null
	case v.Kind() == types.Double:
		return types.DoubleOf(math.Abs(v.Float()))
	case v.Kind() == types.Timestamp:
		return types.DoubleOf(math.Abs(float64(v.Int())))
	case v.Int() == math.MinInt64:
		return null
	}
	return types.LongOf(max(v.Int(), -v.Int()))
}

// round rounds the shortest decimal text of a number half away from zero.
func round(v, digits types.Value) types.Value {
	if !number(v) || !number(digits) {
		return null
	}
	if v.Kind() != types.Double {
		return v
	}
	f := v.Float()
	if math.IsInf(f, 0) || f != f {
		return v
	}
	d := max(0, min(400, asFloat(digits)))
	x, ok := new(big.Rat).SetString(strconv.FormatFloat(math.Abs(f), 'f', -1, 64))
	if !ok {
		return null
	}
	scale := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(d)), nil))
	x.Mul(x, scale)
	x.Add(x, big.NewRat(1, 2))
	whole := new(big.Int).Quo(x.Num(), x.Denom())
	r, _ := new(big.Rat).Quo(new(big.Rat).SetInt(whole), scale).Float64()
	return types.DoubleOf(math.Copysign(r, f))
}
