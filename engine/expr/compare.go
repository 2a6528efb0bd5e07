package expr

import (
	"bytes"
	"math"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

type compareOp uint8

const (
	opEQ compareOp = iota
	opNE
	opLT
	opLE
	opGT
	opGE
)

// mirror is the operator with its sides exchanged.
func (op compareOp) mirror() compareOp { return [...]compareOp{opEQ, opNE, opGT, opGE, opLT, opLE}[op] }

// holds reports whether the operator accepts a three-way comparison.
func (op compareOp) holds(cmp int) bool {
	switch op {
	case opEQ:
		return cmp == 0
	case opNE:
		return cmp != 0
	case opLT:
		return cmp < 0
	case opLE:
		return cmp <= 0
	case opGT:
		return cmp > 0
	default:
		return cmp >= 0
	}
}

// class groups the kinds that have an order among themselves.
type class uint8

const (
	classNone class = iota // Json and unknown
	classNumber
	classText
	classBool
)

func classOf(k types.Kind) class {
	switch k {
	case types.Double, types.Long, types.Timestamp:
		return classNumber
	case types.String:
		return classText
	case types.Bool:
		return classBool
	default:
		return classNone
	}
}

func buildCompare(op compareOp) func(*compiler, *Call) node {
	return func(c *compiler, e *Call) node { return c.compare(op, e.Args[0], e.Args[1]) }
}

func (c *compiler) compare(op compareOp, a, b Expr) node {
	if IsNullLiteral(a) || IsNullLiteral(b) || a.Kind() == types.Unknown || b.Kind() == types.Unknown {
		return newNull(types.Bool)
	}
	if _, ok := a.(*Literal); ok {
		a, b, op = b, a, op.mirror()
	}
	n := &compareNode{a: c.node(a), b: c.node(b)}
	lit, constant := b.(*Literal)
	switch ca, cb := classOf(a.Kind()), classOf(b.Kind()); {
	case ca != cb || ca == classNone:
		n.hits = hitsUnordered(op)
		n.noOrder = op >= opLT
	case ca == classText && constant:
		n.hits = textHitsConst(op, []byte(lit.V.Text()))
	case ca == classText:
		n.hits = hitsText(op)
	case ca == classBool:
		n.hits = hitsLong(op, lit)
	default:
		n.hits = numberHits(op, a.Kind(), b.Kind(), lit)
	}
	return n
}

// compareNode is NULL when a side is NULL. hits writes the selected rows for which the comparison of the two
// columns holds, without regard to NULLs.
type compareNode struct {
	a, b node
	// noOrder is set for <, <=, > and >= between kinds that have no common order: the result is NULL.
	noOrder bool
	hits    func(a, b *zset.Column, sel, out []int32, n int) []int32
	col     zset.Column
	valid   []uint64
	pick    []int32
}

var _ condition = (*compareNode)(nil)

func (n *compareNode) filter(f *frame, sel, out []int32) []int32 {
	ca := n.a.eval(f, sel)
	cb := n.b.eval(f, sel)
	hits := n.hits(ca, cb, sel, out, f.n)
	return dropNulls(cb.Valid, dropNulls(ca.Valid, hits))
}

func (n *compareNode) eval(f *frame, sel []int32) *zset.Column {
	ca := n.a.eval(f, sel)
	cb := n.b.eval(f, sel)
	n.pick = grow(n.pick, selLen(sel, f.n))
	hits := n.hits(ca, cb, sel, n.pick, f.n)
	n.col.Kind = types.Bool
	n.col.I64 = grow(n.col.I64, f.n)
	clear(n.col.I64)
	for _, i := range hits {
		n.col.I64[i] = 1
	}
	n.col.Valid = both(&n.valid, ca.Valid, cb.Valid, f.n)
	if n.noOrder {
		n.col.Valid = none(&n.valid, f.n)
	}
	return &n.col
}

// hitsUnordered compares kinds without a common order: they are different, and neither is smaller.
func hitsUnordered(op compareOp) func(a, b *zset.Column, sel, out []int32, n int) []int32 {
	return func(_, _ *zset.Column, sel, out []int32, n int) []int32 {
		if op == opNE {
			return allRows(sel, out, n)
		}
		return out[:0]
	}
}

// numberHits picks the loop for two numeric kinds. A Long and a Double compare by their exact values.
func numberHits(op compareOp, a, b types.Kind, lit *Literal) func(a, b *zset.Column, sel, out []int32, n int) []int32 {
	aDouble, bDouble := a == types.Double, b == types.Double
	switch {
	case aDouble && bDouble:
		if lit != nil {
			return hitsDoubleConst(op, lit.V.Float())
		}
		return func(a, b *zset.Column, sel, out []int32, n int) []int32 {
			return hitsVectors(op, a.F64[:n], b.F64[:n], sel, out)
		}
	case !aDouble && !bDouble:
		return hitsLong(op, lit)
	case aDouble:
		if lit != nil {
			if f := float64(lit.V.Int()); exactLong(lit.V.Int(), f) {
				return hitsDoubleConst(op, f)
			}
		}
		return func(a, b *zset.Column, sel, out []int32, n int) []int32 {
			return hitsWhere(sel, out, n, func(i int32) bool { return op.holds(-types.CompareLongDouble(b.I64[i], a.F64[i])) })
		}
	default:
		if lit != nil {
			if f := lit.V.Float(); f == math.Trunc(f) && f >= -1<<63 && f < 1<<63 {
				return hitsLongConst(op, int64(f))
			}
		}
		return func(a, b *zset.Column, sel, out []int32, n int) []int32 {
			return hitsWhere(sel, out, n, func(i int32) bool { return op.holds(types.CompareLongDouble(a.I64[i], b.F64[i])) })
		}
	}
}

func hitsDoubleConst(op compareOp, x float64) func(a, b *zset.Column, sel, out []int32, n int) []int32 {
	return func(a, _ *zset.Column, sel, out []int32, n int) []int32 { return hitsConst(op, a.F64[:n], x, sel, out) }
}

func hitsLongConst(op compareOp, x int64) func(a, b *zset.Column, sel, out []int32, n int) []int32 {
	return func(a, _ *zset.Column, sel, out []int32, n int) []int32 { return hitsConst(op, a.I64[:n], x, sel, out) }
}

func hitsLong(op compareOp, lit *Literal) func(a, b *zset.Column, sel, out []int32, n int) []int32 {
	if lit != nil {
		return hitsLongConst(op, lit.V.Int())
	}
	return func(a, b *zset.Column, sel, out []int32, n int) []int32 {
		return hitsVectors(op, a.I64[:n], b.I64[:n], sel, out)
	}
}

func exactLong(i int64, f float64) bool { return f >= -1<<63 && f < 1<<63 && int64(f) == i }

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// hitsWhere is the slow general loop.
func hitsWhere(sel, out []int32, n int, holds func(i int32) bool) []int32 {
	m := 0
	for k := range int32(selLen(sel, n)) {
		i := at(sel, k)
		out[m] = i
		m += b2i(holds(i))
	}
	return out[:m]
}

// hitsConst compares a column with a constant. Every row is written and the length moves on when it holds, so the
// loops have no branch that data can mispredict.
func hitsConst[T int64 | float64](op compareOp, v []T, x T, sel, out []int32) []int32 {
	if op == opGT || op == opLT {
		return hitsConstStrict(op == opGT, v, x, sel, out)
	}
	m := 0
	if sel == nil {
		out = out[:len(v)]
		switch op {
		case opEQ:
			for i, y := range v {
				out[m] = int32(i)
				m += b2i(y == x)
			}
		case opNE:
			for i, y := range v {
				out[m] = int32(i)
				m += b2i(y != x)
			}
		case opLE:
			for i, y := range v {
				out[m] = int32(i)
				m += b2i(y <= x)
			}
		default:
			for i, y := range v {
				out[m] = int32(i)
				m += b2i(y >= x)
			}
		}
		return out[:m]
	}
	out = out[:len(sel)]
	switch op {
	case opEQ:
		for _, i := range sel {
			out[m] = i
			m += b2i(v[i] == x)
		}
	case opNE:
		for _, i := range sel {
			out[m] = i
			m += b2i(v[i] != x)
		}
	case opLE:
		for _, i := range sel {
			out[m] = i
			m += b2i(v[i] <= x)
		}
	default:
		for _, i := range sel {
			out[m] = i
			m += b2i(v[i] >= x)
		}
	}
	return out[:m]
}

func hitsConstStrict[T int64 | float64](greater bool, v []T, x T, sel, out []int32) []int32 {
	m := 0
	switch {
	case sel == nil && greater:
		out = out[:len(v)]
		for i, y := range v {
			out[m] = int32(i)
			m += b2i(y > x)
		}
	case sel == nil:
		out = out[:len(v)]
		for i, y := range v {
			out[m] = int32(i)
			m += b2i(y < x)
		}
	case greater:
		out = out[:len(sel)]
		for _, i := range sel {
			out[m] = i
			m += b2i(v[i] > x)
		}
	default:
		out = out[:len(sel)]
		for _, i := range sel {
			out[m] = i
			m += b2i(v[i] < x)
		}
	}
	return out[:m]
}

// hitsVectors compares two columns.
func hitsVectors[T int64 | float64](op compareOp, a, b []T, sel, out []int32) []int32 {
	if op == opGT || op == opGE {
		a, b, op = b, a, op.mirror()
	}
	m := 0
	rows := int32(selLen(sel, len(a)))
	switch op {
	case opEQ:
		for k := range rows {
			i := at(sel, k)
			out[m] = i
			m += b2i(a[i] == b[i])
		}
	case opNE:
		for k := range rows {
			i := at(sel, k)
			out[m] = i
			m += b2i(a[i] != b[i])
		}
	case opLT:
		for k := range rows {
			i := at(sel, k)
			out[m] = i
			m += b2i(a[i] < b[i])
		}
	default:
		for k := range rows {
			i := at(sel, k)
			out[m] = i
			m += b2i(a[i] <= b[i])
		}
	}
	return out[:m]
}

// hitsText compares two text columns byte by byte.
func hitsText(op compareOp) func(a, b *zset.Column, sel, out []int32, n int) []int32 {
	return func(a, b *zset.Column, sel, out []int32, n int) []int32 {
		switch op {
		case opEQ:
			return hitsWhere(sel, out, n, func(i int32) bool { return bytes.Equal(a.Text(int(i)), b.Text(int(i))) })
		case opNE:
			return hitsWhere(sel, out, n, func(i int32) bool { return !bytes.Equal(a.Text(int(i)), b.Text(int(i))) })
		default:
			return hitsWhere(sel, out, n, func(i int32) bool {
				return op.holds(bytes.Compare(a.Text(int(i)), b.Text(int(i))))
			})
		}
	}
}

// textHitsConst compares a text column with a constant. For a dictionary column the comparison is made once an
// entry and kept while the dictionary stays the same.
func textHitsConst(op compareOp, x []byte) func(a, b *zset.Column, sel, out []int32, n int) []int32 {
	var test dictTest
	holds := func(text []byte) bool {
		if op == opEQ || op == opNE {
			return bytes.Equal(text, x) == (op == opEQ)
		}
		return op.holds(bytes.Compare(text, x))
	}
	return func(a, _ *zset.Column, sel, out []int32, n int) []int32 { return test.hits(a, sel, out, n, holds) }
}

// dictTest remembers which entries of a dictionary a test accepts.
type dictTest struct {
	dict *zset.Dict
	pass []uint8
}

func (t *dictTest) hits(c *zset.Column, sel, out []int32, n int, holds func(text []byte) bool) []int32 {
	rows := selLen(sel, n)
	if c.Dict == nil || c.Dict != t.dict && c.Dict.Len() > rows {
		return hitsWhere(sel, out, n, func(i int32) bool {
			return !c.IsNull(int(i)) && holds(c.Text(int(i)))
		})
	}
	if t.dict != c.Dict {
		t.dict = c.Dict
		t.pass = grow(t.pass, max(c.Dict.Len(), 1))
		t.pass[0] = 0
		for code := range c.Dict.Len() {
			t.pass[code] = uint8(b2i(holds(c.Dict.At(uint32(code)))))
		}
	}
	pass, m := t.pass, 0
	if sel == nil {
		codes := c.Codes[:n]
		out = out[:n]
		for i, code := range codes {
			out[m] = int32(i)
			m += int(pass[code])
		}
		return out[:m]
	}
	out = out[:len(sel)]
	for _, i := range sel {
		out[m] = i
		m += int(pass[c.Codes[i]])
	}
	return out[:m]
}
