package expr_test

import (
	"math"
	"math/big"
	"strings"
	"unicode/utf8"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
)

// reference evaluates an expression for one boxed row: the slow, obvious way, written from the rules of the
// language and not from the kernels.
func reference(e expr.Expr, row []types.Value) types.Value {
	switch e := e.(type) {
	case *expr.Column:
		return row[e.Index]
	case *expr.Literal:
		return e.V
	case *expr.Case:
		for _, w := range e.Whens {
			if c := reference(w.Cond, row); !c.IsNull() && c.Bool() {
				return reference(w.Then, row)
			}
		}
		if e.Else == nil {
			return types.Null(e.K)
		}
		return reference(e.Else, row)
	case *expr.Call:
		args := make([]types.Value, len(e.Args))
		for i, a := range e.Args {
			args[i] = reference(a, row)
		}
		v := referenceCall(e, args)
		if v.IsNull() {
			return types.Null(e.K)
		}
		return v
	}
	panic("unknown expression")
}

func referenceCall(e *expr.Call, args []types.Value) types.Value {
	null := types.Null(e.K)
	anyNull := false
	for _, a := range args {
		anyNull = anyNull || a.IsNull()
	}
	switch name := e.Fn.Name; name {
	case "IS NULL":
		return types.BoolOf(args[0].IsNull())
	case "IS NOT NULL":
		return types.BoolOf(!args[0].IsNull())
	case "COALESCE":
		for _, a := range args {
			if !a.IsNull() {
				return a
			}
		}
		return null
	case "AND":
		if isBool(args[0], false) || isBool(args[1], false) {
			return types.BoolOf(false)
		}
		if anyNull {
			return null
		}
		return types.BoolOf(true)
	case "OR":
		if isBool(args[0], true) || isBool(args[1], true) {
			return types.BoolOf(true)
		}
		if anyNull {
			return null
		}
		return types.BoolOf(false)
	case "IN":
		if args[0].IsNull() {
			return null
		}
		sawNull := false
		for _, a := range args[1:] {
			if a.IsNull() {
				sawNull = true
			} else if eq := referenceCompare("=", args[0], a); !eq.IsNull() && eq.Bool() {
				return types.BoolOf(true)
			}
		}
		if sawNull {
			return null
		}
		return types.BoolOf(false)
	}
	if anyNull {
		return null
	}
	switch name := e.Fn.Name; name {
	case "NOT":
		return types.BoolOf(!args[0].Bool())
	case "=", "<>", "!=", "<", "<=", ">", ">=":
		return referenceCompare(name, args[0], args[1])
	case "+", "-", "*", "/", "%":
		if len(args) == 1 {
			if !args[0].Kind().IsNumeric() {
				return null
			}
			if args[0].Kind() == types.Double {
				return types.DoubleOf(-args[0].Float())
			}
			return fitted(e.K, new(big.Int).Neg(big.NewInt(args[0].Int())))
		}
		return referenceArithmetic(e.K, name, args[0], args[1])
	case "->", "->>":
		var node []byte
		var ok bool
		if args[1].Kind() == types.Long {
			if args[1].Int() < 0 {
				return null
			}
			node, ok = types.JsonIndex([]byte(args[0].Text()), int(args[1].Int()))
		} else {
			node, ok = types.JsonField([]byte(args[0].Text()), []byte(args[1].Text()))
		}
		if !ok {
			return null
		}
		if name == "->" {
			return types.JsonOf(string(node))
		}
		text, ok := types.AppendJsonText(nil, node)
		if !ok {
			return null
		}
		return types.StringOf(string(text))
	case "UPPER", "LOWER":
		if args[0].Kind() != types.String {
			return null
		}
		if name == "UPPER" {
			return types.StringOf(strings.ToUpper(args[0].Text()))
		}
		return types.StringOf(strings.ToLower(args[0].Text()))
	case "||":
		return types.StringOf(args[0].Text() + args[1].Text())
	case "LIKE":
		for _, a := range args {
			if a.Kind() != types.String {
				return null
			}
		}
		esc := rune(-1)
		if len(args) == 3 {
			esc, _ = utf8.DecodeRuneInString(args[2].Text())
		}
		return types.BoolOf(slowLike([]rune(args[0].Text()), []rune(args[1].Text()), esc))
	case "ABS":
		switch x := jsonNumber(args[0]); x.Kind() {
		case types.Long:
			return fitted(types.Long, new(big.Int).Abs(big.NewInt(x.Int())))
		case types.Double, types.Timestamp:
			return types.DoubleOf(math.Abs(number(x)))
		}
		return null
	case "ROUND":
		x := jsonNumber(args[0])
		if len(args) == 2 && !args[1].Kind().IsNumeric() || !x.Kind().IsNumeric() {
			return null
		}
		if x.Kind() != types.Double {
			return x
		}
		d := 0.0
		if len(args) == 2 {
			d = number(args[1])
		}
		return types.DoubleOf(slowRound(x.Float(), d))
	}
	if to, ok := strings.CutPrefix(e.Fn.Name, "TO_"); ok {
		if inner, isCall := e.Args[0].(*expr.Call); isCall && to == "STRING" && inner.Fn.Name == "TO_TIMESTAMP" {
			text, ok := types.AppendTime(nil, args[0].Int())
			if !ok {
				return null
			}
			return types.StringOf(string(text))
		}
		return types.Convert(args[0], e.K)
	}
	panic("no reference for " + e.Fn.Name)
}

// jsonNumber takes the number out of a numeric Json node; everything else is itself.
func jsonNumber(v types.Value) types.Value {
	if v.Kind() == types.Json && strings.ContainsAny(v.Text()[:1], "-0123456789") {
		if f, ok := types.NumberToDouble([]byte(v.Text())); ok {
			return types.DoubleOf(f)
		}
	}
	return v
}

func isBool(v types.Value, want bool) bool { return !v.IsNull() && v.Bool() == want }

func number(v types.Value) float64 {
	if v.Kind() == types.Double {
		return v.Float()
	}
	return float64(v.Int())
}

func fitted(k types.Kind, x *big.Int) types.Value {
	if !x.IsInt64() {
		return types.Null(k)
	}
	if k == types.Timestamp {
		return types.TimestampOf(x.Int64())
	}
	return types.LongOf(x.Int64())
}

func referenceArithmetic(k types.Kind, op string, a, b types.Value) types.Value {
	if !a.Kind().IsNumeric() || !b.Kind().IsNumeric() {
		return types.Null(k)
	}
	if k == types.Long {
		x, y := big.NewInt(a.Int()), big.NewInt(b.Int())
		switch op {
		case "+":
			return fitted(k, x.Add(x, y))
		case "-":
			return fitted(k, x.Sub(x, y))
		case "*":
			return fitted(k, x.Mul(x, y))
		}
		if y.Sign() == 0 {
			return types.Null(k)
		}
		return fitted(k, x.Rem(x, y))
	}
	x, y := number(a), number(b)
	var r float64
	switch op {
	case "+":
		r = x + y
	case "-":
		r = x - y
	case "*":
		r = x * y
	case "/", "%":
		if y == 0 {
			return types.Null(k)
		}
		r = x / y
		if op == "%" {
			r = math.Mod(x, y)
		}
	}
	if r != r {
		return types.Null(k)
	}
	return types.DoubleOf(r)
}

func referenceCompare(op string, a, b types.Value) types.Value {
	c, ok := types.Compare(a, b)
	if !ok {
		switch op {
		case "=":
			return types.BoolOf(false)
		case "<>", "!=":
			return types.BoolOf(true)
		}
		return types.Null(types.Bool)
	}
	return types.BoolOf(map[string]bool{
		"=": c == 0, "<>": c != 0, "!=": c != 0, "<": c < 0, "<=": c <= 0, ">": c > 0, ">=": c >= 0,
	}[op])
}

func slowLike(text, pattern []rune, esc rune) bool {
	if len(pattern) == 0 {
		return len(text) == 0
	}
	switch c := pattern[0]; {
	case c == esc && len(pattern) > 1:
		return len(text) > 0 && text[0] == pattern[1] && slowLike(text[1:], pattern[2:], esc)
	case c == '%' && c != esc:
		for i := 0; i <= len(text); i++ {
			if slowLike(text[i:], pattern[1:], esc) {
				return true
			}
		}
		return false
	case c == '_' && c != esc:
		return len(text) > 0 && slowLike(text[1:], pattern[1:], esc)
	default:
		return len(text) > 0 && text[0] == c && slowLike(text[1:], pattern[1:], esc)
	}
}

// slowRound rounds the decimal text of the number half away from zero with rational arithmetic.
func slowRound(x, digits float64) float64 {
	d := int64(0)
	if digits >= 1 {
		d = int64(math.Min(digits, 400))
	}
	if math.IsInf(x, 0) {
		return x
	}
	if d == 0 {
		return math.Round(x)
	}
	r, ok := new(big.Rat).SetString(big.NewFloat(x).Text('g', -1))
	if !ok {
		panic("no number")
	}
	pow := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(d), nil))
	scaled := new(big.Rat).Mul(r, pow)
	half := big.NewRat(1, 2)
	if scaled.Sign() < 0 {
		scaled.Sub(scaled, half)
	} else {
		scaled.Add(scaled, half)
	}
	whole := new(big.Int).Quo(scaled.Num(), scaled.Denom()) // toward zero
	f, _ := new(big.Rat).SetFrac(whole, pow.Num()).Float64()
	return f
}
