package expr

import (
	"math"
	"strconv"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

func buildAbs(c *compiler, e *Call) node {
	if e.K == types.Long {
		return &longMap{kind: types.Long, a: c.node(e.Args[0]), fn: func(v int64) (int64, bool) {
			if v < 0 {
				v = -v
			}
			return v, v >= 0 // the smallest Long has no absolute value
		}}
	}
	return &doubleMap{a: c.numberOrNode(e.Args[0]), fn: math.Abs}
}

func buildRound(c *compiler, e *Call) node {
	x := e.Args[0]
	if x.Kind() == types.Long || x.Kind() == types.Timestamp {
		if len(e.Args) == 1 {
			return c.node(x)
		}
		if l, ok := e.Args[1].(*Literal); ok && !l.V.IsNull() && l.V.Kind().IsNumeric() {
			return c.node(x) // an integer has no digits to round
		}
		return &roundLong{a: c.node(x), digits: c.number(e.Args[1])}
	}
	n := &roundDouble{a: c.numberOrNode(x)}
	if len(e.Args) == 2 {
		n.digits = c.number(e.Args[1])
	}
	return n
}

// numberOrNode is number, and takes the number of a Json node too.
func (c *compiler) numberOrNode(e Expr) node {
	if e.Kind() == types.Json {
		return &jsonNumber{a: c.node(e)}
	}
	return c.number(e)
}

// longMap applies a function to a Long column; the function may refuse a value, which is then NULL.
type longMap struct {
	kind  types.Kind
	a     node
	fn    func(int64) (int64, bool)
	col   zset.Column
	valid []uint64
}

func (n *longMap) eval(f *frame, sel []int32) *zset.Column {
	a := n.a.eval(f, sel)
	n.col.Kind = n.kind
	n.col.I64 = grow(n.col.I64, f.n)
	n.col.Valid = a.Valid
	for k := range int32(selLen(sel, f.n)) {
		i := at(sel, k)
		v, ok := n.fn(a.I64[i])
		if !ok {
			n.col.Valid = own(&n.valid, n.col.Valid, f.n)
			setNull(n.col.Valid, i)
			v = 0
		}
		n.col.I64[i] = v
	}
	return &n.col
}

// doubleMap applies a total function to a Double column.
type doubleMap struct {
	a   node
	fn  func(float64) float64
	col zset.Column
}

func (n *doubleMap) eval(f *frame, sel []int32) *zset.Column {
	a := n.a.eval(f, sel)
	n.col.Kind = types.Double
	n.col.F64 = grow(n.col.F64, f.n)
	n.col.Valid = a.Valid
	for k := range int32(selLen(sel, f.n)) {
		i := at(sel, k)
		n.col.F64[i] = n.fn(a.F64[i]) + 0
	}
	return &n.col
}

// roundLong gives the Long back unless the digits are NULL.
type roundLong struct {
	a, digits node
	col       zset.Column
	valid     []uint64
}

func (n *roundLong) eval(f *frame, sel []int32) *zset.Column {
	a, d := n.a.eval(f, sel), n.digits.eval(f, sel)
	n.col = *a
	n.col.Valid = both(&n.valid, a.Valid, d.Valid, f.n)
	return &n.col
}

// roundDouble rounds half away from zero at a number of decimal digits.
type roundDouble struct {
	a, digits node // digits nil: 0
	col       zset.Column
	valid     []uint64
}

func (n *roundDouble) eval(f *frame, sel []int32) *zset.Column {
	a := n.a.eval(f, sel)
	n.col.Kind = types.Double
	n.col.F64 = grow(n.col.F64, f.n)
	m := int32(selLen(sel, f.n))
	if n.digits == nil {
		n.col.Valid = a.Valid
		for k := range m {
			i := at(sel, k)
			n.col.F64[i] = math.Round(a.F64[i]) + 0
		}
		return &n.col
	}
	d := n.digits.eval(f, sel)
	n.col.Valid = both(&n.valid, a.Valid, d.Valid, f.n)
	for k := range m {
		i := at(sel, k)
		n.col.F64[i] = Round(a.F64[i], d.F64[i]) + 0
	}
	return &n.col
}

// Round rounds half away from zero at the given number of decimal digits, as the number prints: 1.005 is the
// shortest text of its double, so ROUND(1.005, 2) is 1.01. Digits below 0 act as 0.
func Round(x, digits float64) float64 {
	d := 0
	if digits >= 1 {
		d = 400 // more digits than any double has
		if digits < 400 {
			d = int(digits)
		}
	}
	if d == 0 {
		return math.Round(x)
	}
	if math.IsInf(x, 0) || x != x || math.Abs(x) >= 1<<52 {
		return x
	}
	// The decimal text is the number people see; rounding it half away from zero is what they expect.
	var buf [512]byte
	text := strconv.AppendFloat(buf[:0], math.Abs(x), 'f', -1, 64)
	point := -1
	for i, c := range text {
		if c == '.' {
			point = i
			break
		}
	}
	if point < 0 || len(text)-point-1 <= d {
		return x
	}
	up := text[point+1+d] >= '5'
	text = text[:point+1+d]
	if up {
		i := len(text) - 1
		for ; i >= 0; i-- {
			if text[i] == '.' {
				continue
			}
			if text[i] != '9' {
				text[i]++
				break
			}
			text[i] = '0'
		}
		if i < 0 {
			text = append([]byte{'1'}, text...)
		}
	}
	r, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return x
	}
	return math.Copysign(r, x)
}
