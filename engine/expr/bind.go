package expr

import (
	"errors"
	"fmt"
	"strings"

	"github.com/streamsforge/streamsforge/engine/types"
)

const hintJSON = "take the value out with ->> and convert it with TO_DOUBLE, TO_LONG or another TO_ function"

// BindCase makes a searched CASE. Every condition must be Bool; the branches must have one common kind, where Long
// and Double make Double and a NULL literal takes the kind of the others. A nil els is NULL.
//
// The position in a BindError counts conditions and results in the order they are written: WHEN 0 THEN 1 WHEN 2
// THEN 3 ELSE 4.
func BindCase(whens []When, els Expr) (Expr, error) {
	if len(whens) == 0 {
		return nil, bindErrorf(-1, CodeArgumentCount, "", "CASE needs at least one WHEN")
	}
	branches := make([]Expr, 0, len(whens)+1)
	for i, w := range whens {
		if err := wantBool("a CASE condition", 2*i, w.Cond); err != nil {
			return nil, err
		}
		branches = append(branches, w.Then)
	}
	if els != nil {
		branches = append(branches, els)
	}
	kind, at := CommonKind(branches)
	if at >= 0 {
		pos := 2*at + 1
		if at == len(whens) {
			pos = 2 * at
		}
		return nil, bindErrorf(pos, CodeTypeMismatch, "convert the branches to one kind with CAST",
			"the branches of CASE have different kinds: %s and %s", kind, branches[at].Kind())
	}
	out := &Case{K: kind, Whens: make([]When, len(whens))}
	for i, w := range whens {
		out.Whens[i] = When{Cond: As(w.Cond, types.Bool), Then: As(w.Then, kind)}
	}
	if els != nil {
		out.Else = As(els, kind)
	}
	return out, nil
}

// CommonKind is the kind that branches of a CASE, columns of a UNION and the like share: equal kinds, or Long with
// Double = Double; an unknown kind (a NULL literal) takes the other's, and String when nothing is known. When there
// is none, bad is the position of the first expression that does not fit the kind found before it, else -1.
func CommonKind(es []Expr) (kind types.Kind, bad int) {
	kind = types.Unknown
	for i, e := range es {
		k, ok := Common(kind, e.Kind())
		if !ok {
			return kind, i
		}
		kind = k
	}
	if kind == types.Unknown {
		kind = types.String
	}
	return kind, -1
}

// Common is the common kind of two kinds, see CommonKind.
func Common(a, b types.Kind) (types.Kind, bool) {
	switch {
	case a == b || b == types.Unknown:
		return a, true
	case a == types.Unknown:
		return b, true
	case a == types.Long && b == types.Double || a == types.Double && b == types.Long:
		return types.Double, true
	default:
		return a, false
	}
}

// As gives an expression the kind of its context: a NULL literal gets the kind, a Long becomes a Double. Any other
// difference is converted as CAST does; expressions that already have the kind are returned as they are.
func As(e Expr, k types.Kind) Expr {
	if e.Kind() == k || k == types.Unknown {
		return e
	}
	if l, ok := e.(*Literal); ok {
		if l.V.IsNull() {
			return &Literal{V: types.Null(k)}
		}
		if k == types.Double && l.V.Kind() == types.Long {
			return &Literal{V: types.DoubleOf(float64(l.V.Int()))}
		}
	}
	f, ok := Cast(k)
	if !ok {
		return &Literal{V: types.Null(k)}
	}
	return &Call{Fn: f, Args: []Expr{e}, K: k}
}

// IsNullLiteral reports whether the expression is the NULL literal.
func IsNullLiteral(e Expr) bool {
	l, ok := e.(*Literal)
	return ok && l.V.IsNull()
}

func countText(lo, hi int) string {
	noun := func(n int) string {
		if n == 1 {
			return "1 argument"
		}
		return fmt.Sprintf("%d arguments", n)
	}
	switch {
	case hi < 0:
		return "at least " + noun(lo)
	case lo == hi:
		return noun(lo)
	default:
		return fmt.Sprintf("%d to %s", lo, noun(hi))
	}
}

func wantBool(what string, pos int, e Expr) error {
	if k := e.Kind(); k != types.Bool && k != types.Unknown {
		return bindErrorf(pos, CodeTypeMismatch, "compare it with something",
			"%s must be Bool, found %s", what, k)
	}
	return nil
}

func noJSON(f *Function, args []Expr) error {
	for i, a := range args {
		if a.Kind() == types.Json {
			return bindErrorf(i, CodeJSONBare, hintJSON, "a Json value cannot be used bare with %s", f.Name)
		}
	}
	return nil
}

func call(f *Function, k types.Kind, args []Expr) (Expr, error) {
	return &Call{Fn: f, Args: append([]Expr(nil), args...), K: k}, nil
}

// fixed binds any arguments to one result kind.
func fixed(k types.Kind) func(*Function, []Expr) (Expr, error) {
	return func(f *Function, args []Expr) (Expr, error) { return call(f, k, args) }
}

func bindArithmetic(f *Function, args []Expr) (Expr, error) {
	if err := noJSON(f, args); err != nil {
		return nil, err
	}
	if len(args) == 1 { // unary minus
		return bindNegate(f, args[0])
	}
	if args[0].Kind() == types.Long && args[1].Kind() == types.Long {
		return call(f, types.Long, args)
	}
	return call(f, types.Double, args)
}

func bindNegate(f *Function, x Expr) (Expr, error) {
	if l, ok := x.(*Literal); ok && !l.V.IsNull() {
		switch l.V.Kind() {
		case types.Long:
			if v := -l.V.Int(); v != l.V.Int() || v == 0 {
				return &Literal{V: types.LongOf(v)}, nil
			}
		case types.Double:
			return &Literal{V: types.DoubleOf(-l.V.Float())}, nil
		}
	}
	k := x.Kind()
	if k == types.Unknown {
		k = types.Double
	}
	return call(f, k, []Expr{As(x, k)})
}

func bindDivide(f *Function, args []Expr) (Expr, error) {
	if err := noJSON(f, args); err != nil {
		return nil, err
	}
	return call(f, types.Double, args)
}

func bindCompare(f *Function, args []Expr) (Expr, error) {
	if !IsNullLiteral(args[0]) && !IsNullLiteral(args[1]) {
		if err := noJSON(f, args); err != nil {
			return nil, err
		}
	}
	return call(f, types.Bool, args)
}

// bindBetween makes x >= lo AND x <= hi.
func bindBetween(f *Function, args []Expr) (Expr, error) {
	lo, err := mustLookup(">=").Bind(args[:2])
	if err != nil {
		return nil, err
	}
	hi, err := mustLookup("<=").Bind([]Expr{args[0], args[2]})
	if err != nil {
		if be := (*BindError)(nil); errors.As(err, &be) && be.Arg == 1 {
			be.Arg = 2
		}
		return nil, err
	}
	return mustLookup("AND").Bind([]Expr{lo, hi})
}

func bindIn(f *Function, args []Expr) (Expr, error) {
	if err := noJSON(f, args); err != nil {
		return nil, err
	}
	return call(f, types.Bool, args)
}

func bindLogic(f *Function, args []Expr) (Expr, error) {
	out := make([]Expr, len(args))
	for i, a := range args {
		if err := wantBool("an operand of "+f.Name, i, a); err != nil {
			return nil, err
		}
		out[i] = As(a, types.Bool)
	}
	return call(f, types.Bool, out)
}

func bindPath(k types.Kind) func(*Function, []Expr) (Expr, error) {
	return func(f *Function, args []Expr) (Expr, error) {
		if kind := args[0].Kind(); kind != types.Json && kind != types.Unknown {
			return nil, bindErrorf(0, CodeTypeMismatch, "only a Json column or the result of -> has members",
				"%s takes a Json value on its left, found %s", f.Name, kind)
		}
		if kind := args[1].Kind(); kind != types.String && kind != types.Long {
			return nil, bindErrorf(1, CodeTypeMismatch, "write "+f.Name+" 'key' or "+f.Name+" 0, or convert a computed key with TO_STRING or TO_LONG",
				"the key of %s must be String or Long, found %s", f.Name, kind)
		}
		if key, ok := args[1].(*Literal); ok && key.V.Kind() == types.Long && key.V.Int() < 0 {
			return nil, bindErrorf(1, CodeTypeMismatch, "write 0 for the first element", "the index of %s counts from 0, found %d", f.Name, key.V.Int())
		}
		return call(f, k, []Expr{As(args[0], types.Json), args[1]})
	}
}

func bindAbs(f *Function, args []Expr) (Expr, error) {
	if args[0].Kind() == types.Long {
		return call(f, types.Long, args)
	}
	return call(f, types.Double, args)
}

func bindRound(f *Function, args []Expr) (Expr, error) {
	k := args[0].Kind()
	if !k.IsNumeric() {
		k = types.Double
	}
	if len(args) == 2 {
		if dk := args[1].Kind(); dk == types.Json {
			return nil, bindErrorf(1, CodeJSONBare, hintJSON, "the digits of ROUND cannot be a Json value")
		}
	}
	return call(f, k, args)
}

func bindCoalesce(f *Function, args []Expr) (Expr, error) {
	k := types.Unknown
	for _, a := range args {
		if a.Kind() != types.Unknown {
			k = a.Kind()
			break
		}
	}
	if k == types.Unknown {
		k = types.String
	}
	out := make([]Expr, len(args))
	for i, a := range args {
		if k == types.Json && a.Kind() != types.Json && a.Kind() != types.Unknown {
			return nil, bindErrorf(i, CodeTypeMismatch, "take the text out with ->> first",
				"COALESCE of a Json value takes Json values, found %s", a.Kind())
		}
		out[i] = As(a, k)
	}
	return call(f, k, out)
}

func bindIf(f *Function, args []Expr) (Expr, error) {
	e, err := BindCase([]When{{Cond: args[0], Then: args[1]}}, args[2])
	if be := (*BindError)(nil); errors.As(err, &be) {
		be.Message = strings.Replace(strings.Replace(be.Message, "a CASE condition", "the condition of IF", 1),
			"the branches of CASE", "the branches of IF", 1)
	}
	return e, err
}

func bindConcat(f *Function, args []Expr) (Expr, error) {
	out := make([]Expr, len(args))
	for i, a := range args {
		out[i] = As(a, types.String)
	}
	return call(f, types.String, out)
}

func bindLike(f *Function, args []Expr) (Expr, error) {
	if err := noJSON(f, args); err != nil {
		return nil, err
	}
	return call(f, types.Bool, args)
}

func mustLookup(name string) *Function {
	f, ok := Lookup(name)
	if !ok {
		panic("BUG: no function " + name)
	}
	return f
}
