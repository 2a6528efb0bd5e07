package expr

import (
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// buildIn compiles x IN (...). A list of constants becomes a set; anything else a chain of comparisons.
func buildIn(c *compiler, e *Call) node {
	x, list := e.Args[0], e.Args[1:]
	if n := newInSet(c, x, list); n != nil {
		return n
	}
	var out condition
	for _, v := range list {
		eq := c.compare(opEQ, x, v)
		cond, ok := eq.(condition)
		if !ok {
			cond = &columnCondition{eq}
		}
		if out == nil {
			out = cond
		} else {
			out = &orNode{a: out, b: cond}
		}
	}
	return out
}

// inSet tests membership in a set of constants: TRUE when x is in it, else NULL when x or one of the constants is
// NULL, else FALSE.
type inSet struct {
	a       node
	kind    types.Kind
	texts   map[string]struct{}
	longs   map[int64]struct{}
	doubles map[float64]struct{}
	hasNull bool
	test    dictTest
	col     zset.Column
	valid   []uint64
	pick    []int32
}

var _ condition = (*inSet)(nil)

func newInSet(c *compiler, x Expr, list []Expr) *inSet {
	cl := classOf(x.Kind())
	if cl != classText && cl != classNumber {
		return nil
	}
	n := &inSet{kind: x.Kind(), texts: map[string]struct{}{}, longs: map[int64]struct{}{}, doubles: map[float64]struct{}{}}
	for _, v := range list {
		l, ok := v.(*Literal)
		if !ok {
			return nil
		}
		n.add(l.V, cl)
	}
	n.a = c.node(x)
	return n
}

// add puts a constant into the set of x's kind; a constant that no value of the kind equals is left out.
func (n *inSet) add(v types.Value, cl class) {
	switch {
	case v.IsNull():
		n.hasNull = true
	case classOf(v.Kind()) != cl:
	case cl == classText:
		n.texts[v.Text()] = struct{}{}
	case n.kind == types.Double && v.Kind() == types.Double:
		n.doubles[v.Float()] = struct{}{}
	case n.kind == types.Double:
		if f := float64(v.Int()); exactLong(v.Int(), f) {
			n.doubles[f] = struct{}{}
		}
	case v.Kind() == types.Double:
		if f := v.Float(); f >= -1<<63 && f < 1<<63 && float64(int64(f)) == f {
			n.longs[int64(f)] = struct{}{}
		}
	default:
		n.longs[v.Int()] = struct{}{}
	}
}

func (n *inSet) hits(a *zset.Column, sel, out []int32, rows int) []int32 {
	switch {
	case n.kind == types.String:
		return n.test.hits(a, sel, out, rows, func(text []byte) bool {
			_, ok := n.texts[string(text)]
			return ok
		})
	case n.kind == types.Double:
		return hitsWhere(sel, out, rows, func(i int32) bool {
			_, ok := n.doubles[a.F64[i]]
			return ok
		})
	default:
		return hitsWhere(sel, out, rows, func(i int32) bool {
			_, ok := n.longs[a.I64[i]]
			return ok
		})
	}
}

func (n *inSet) filter(f *frame, sel, out []int32) []int32 {
	a := n.a.eval(f, sel)
	return dropNulls(a.Valid, n.hits(a, sel, out, f.n))
}

func (n *inSet) eval(f *frame, sel []int32) *zset.Column {
	a := n.a.eval(f, sel)
	n.pick = grow(n.pick, selLen(sel, f.n))
	hits := dropNulls(a.Valid, n.hits(a, sel, n.pick, f.n))
	markHits(&n.col, hits, f.n)
	n.col.Valid = a.Valid
	if n.hasNull {
		n.col.Valid = none(&n.valid, f.n)
		for _, i := range hits {
			setValid(n.col.Valid, i)
		}
	}
	return &n.col
}
