package expr

import (
	"math"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

type arithOp uint8

const (
	opAdd arithOp = iota
	opSub
	opMul
	opDiv
	opMod
)

func buildArithmetic(op arithOp) func(*compiler, *Call) node {
	return func(c *compiler, e *Call) node {
		for _, a := range e.Args {
			if !a.Kind().IsNumeric() {
				return newNull(e.K)
			}
		}
		if e.K == types.Long {
			return &longArith{op: op, a: c.node(e.Args[0]), b: c.node(e.Args[1])}
		}
		return &doubleArith{op: op, a: c.number(e.Args[0]), b: c.number(e.Args[1])}
	}
}

func buildMinus(c *compiler, e *Call) node {
	if len(e.Args) == 2 {
		return buildArithmetic(opSub)(c, e)
	}
	switch e.K {
	case types.Double:
		return &doubleArith{op: opSub, a: &literalNode{v: types.DoubleOf(0)}, b: c.number(e.Args[0])}
	case types.Long, types.Timestamp:
		return &longArith{op: opSub, kind: e.K, a: &literalNode{v: types.LongOf(0)}, b: c.node(e.Args[0])}
	default:
		return newNull(e.K)
	}
}

// number compiles a numeric expression to a node that yields a Double column.
func (c *compiler) number(e Expr) node {
	switch e.Kind() {
	case types.Double:
		return c.node(e)
	case types.Long, types.Timestamp:
		if l, ok := e.(*Literal); ok {
			if l.V.IsNull() {
				return newNull(types.Double)
			}
			return &literalNode{v: types.DoubleOf(float64(l.V.Int()))}
		}
		return &toDouble{a: c.node(e)}
	default:
		return newNull(types.Double)
	}
}

// toDouble widens a Long or Timestamp column.
type toDouble struct {
	a   node
	col zset.Column
}

func (n *toDouble) eval(f *frame, sel []int32) *zset.Column {
	a := n.a.eval(f, sel)
	n.col.Kind = types.Double
	n.col.F64 = grow(n.col.F64, f.n)
	n.col.Valid = a.Valid
	out, in := n.col.F64, a.I64[:f.n]
	if sel == nil {
		for i, v := range in {
			out[i] = float64(v)
		}
		return &n.col
	}
	for _, i := range sel {
		out[i] = float64(in[i])
	}
	return &n.col
}

// doubleArith computes on doubles. Results without a value (division by zero, infinity minus infinity) are NULL;
// adding 0 turns a negative zero into 0, so that equal numbers have equal bytes.
type doubleArith struct {
	op    arithOp
	a, b  node
	col   zset.Column
	valid []uint64
}

func (n *doubleArith) eval(f *frame, sel []int32) *zset.Column {
	ca, cb := n.a.eval(f, sel), n.b.eval(f, sel)
	n.col.Kind = types.Double
	n.col.F64 = grow(n.col.F64, f.n)
	n.col.Valid = both(&n.valid, ca.Valid, cb.Valid, f.n)
	out, a, b := n.col.F64, ca.F64[:f.n], cb.F64[:f.n]
	var bad bool
	switch n.op {
	case opAdd:
		bad = addDoubles(out, a, b, sel)
	case opSub:
		bad = subDoubles(out, a, b, sel)
	case opMul:
		bad = mulDoubles(out, a, b, sel)
	case opDiv:
		bad = divDoubles(out, a, b, sel)
	default:
		bad = modDoubles(out, a, b, sel)
	}
	if bad {
		zeroIsNull := n.op == opDiv || n.op == opMod
		n.col.Valid = own(&n.valid, n.col.Valid, f.n)
		for k := range int32(selLen(sel, f.n)) {
			if i := at(sel, k); out[i] != out[i] || zeroIsNull && b[i] == 0 {
				setNull(n.col.Valid, i)
				out[i] = 0
			}
		}
	}
	return &n.col
}

func addDoubles(out, a, b []float64, sel []int32) (bad bool) {
	if sel == nil {
		out, b = out[:len(a)], b[:len(a)]
		for i := range a {
			r := a[i] + b[i]
			out[i] = r
			bad = bad || r != r
		}
		return bad
	}
	for _, i := range sel {
		r := a[i] + b[i]
		out[i] = r
		bad = bad || r != r
	}
	return bad
}

func subDoubles(out, a, b []float64, sel []int32) (bad bool) {
	if sel == nil {
		out, b = out[:len(a)], b[:len(a)]
		for i := range a {
			r := a[i] - b[i]
			out[i] = r
			bad = bad || r != r
		}
		return bad
	}
	for _, i := range sel {
		r := a[i] - b[i]
		out[i] = r
		bad = bad || r != r
	}
	return bad
}

func mulDoubles(out, a, b []float64, sel []int32) (bad bool) {
	if sel == nil {
		out, b = out[:len(a)], b[:len(a)]
		for i := range a {
			r := a[i]*b[i] + 0
			out[i] = r
			bad = bad || r != r
		}
		return bad
	}
	for _, i := range sel {
		r := a[i]*b[i] + 0
		out[i] = r
		bad = bad || r != r
	}
	return bad
}

func divDoubles(out, a, b []float64, sel []int32) (bad bool) {
	for k := range int32(selLen(sel, len(a))) {
		i := at(sel, k)
		d := b[i]
		r := a[i]/d + 0
		out[i] = r
		bad = bad || d == 0 || r != r
	}
	return bad
}

func modDoubles(out, a, b []float64, sel []int32) (bad bool) {
	for k := range int32(selLen(sel, len(a))) {
		i := at(sel, k)
		r := math.Mod(a[i], b[i]) + 0
		out[i] = r
		bad = bad || b[i] == 0 || r != r
	}
	return bad
}

// longArith computes on 64-bit integers. A result that does not fit is NULL.
type longArith struct {
	op    arithOp
	kind  types.Kind // of a negated Timestamp; zero means Long
	a, b  node
	col   zset.Column
	valid []uint64
}

func (n *longArith) eval(f *frame, sel []int32) *zset.Column {
	ca, cb := n.a.eval(f, sel), n.b.eval(f, sel)
	n.col.Kind = types.Long
	if n.kind == types.Timestamp {
		n.col.Kind = n.kind
	}
	n.col.I64 = grow(n.col.I64, f.n)
	n.col.Valid = both(&n.valid, ca.Valid, cb.Valid, f.n)
	out, a, b := n.col.I64, ca.I64[:f.n], cb.I64[:f.n]
	var bad int64 // negative when a result did not fit
	m := int32(selLen(sel, f.n))
	switch n.op {
	case opAdd:
		for k := range m {
			i := at(sel, k)
			x, y := a[i], b[i]
			r := x + y
			out[i] = r
			bad |= (x ^ r) & (y ^ r)
		}
	case opSub:
		for k := range m {
			i := at(sel, k)
			x, y := a[i], b[i]
			r := x - y
			out[i] = r
			bad |= (x ^ y) & (x ^ r)
		}
	case opMul:
		for k := range m {
			i := at(sel, k)
			r, ok := mulLong(a[i], b[i])
			out[i] = r
			if !ok {
				bad = -1
			}
		}
	case opMod:
		for k := range m {
			i := at(sel, k)
			if b[i] == 0 {
				bad = -1
				out[i] = 0
				continue
			}
			out[i] = a[i] % b[i]
		}
	default:
		panic("BUG: the quotient of Longs is a Double")
	}
	if bad < 0 {
		n.col.Valid = own(&n.valid, n.col.Valid, f.n)
		for k := range m {
			if i := at(sel, k); !n.fits(a[i], b[i], out[i]) {
				setNull(n.col.Valid, i)
				out[i] = 0
			}
		}
	}
	return &n.col
}

func (n *longArith) fits(x, y, r int64) bool {
	switch n.op {
	case opAdd:
		return (x^r)&(y^r) >= 0
	case opSub:
		return (x^y)&(x^r) >= 0
	case opMul:
		_, ok := mulLong(x, y)
		return ok
	default:
		return y != 0
	}
}

// mulLong multiplies and reports whether the product fits 64 bits.
func mulLong(x, y int64) (int64, bool) {
	r := x * y
	if uint64(x+1<<31)|uint64(y+1<<31) < 1<<32 {
		return r, true
	}
	if x == 0 || r/x == y && !(x == -1 && y == math.MinInt64) {
		return r, true
	}
	return r, false
}
