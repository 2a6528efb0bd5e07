package expr

import (
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

func buildAnd(c *compiler, e *Call) node {
	return &andNode{a: c.condition(e.Args[0]), b: c.condition(e.Args[1])}
}

func buildOr(c *compiler, e *Call) node {
	return &orNode{a: c.condition(e.Args[0]), b: c.condition(e.Args[1])}
}

func buildNot(c *compiler, e *Call) node { return &notNode{a: c.condition(e.Args[0])} }

// andNode: FALSE when a side is FALSE, else NULL when a side is NULL, else TRUE.
type andNode struct {
	a, b  condition
	col   zset.Column
	valid []uint64
}

func (n *andNode) filter(f *frame, sel, out []int32) []int32 {
	hits := n.a.filter(f, sel, out)
	if len(hits) == 0 {
		return hits
	}
	return n.b.filter(f, hits, hits)
}

func (n *andNode) eval(f *frame, sel []int32) *zset.Column {
	ca, cb := n.a.eval(f, sel), n.b.eval(f, sel)
	startBool(&n.col, f.n)
	n.col.Valid = nil
	out := n.col.I64
	m := int32(selLen(sel, f.n))
	if ca.Valid == nil && cb.Valid == nil {
		for k := range m {
			i := at(sel, k)
			out[i] = ca.I64[i] & cb.I64[i]
		}
		return &n.col
	}
	n.col.Valid = own(&n.valid, nil, f.n)
	for k := range m {
		i := at(sel, k)
		okA, okB := isValid(ca.Valid, i), isValid(cb.Valid, i)
		isFalse := okA && ca.I64[i] == 0 || okB && cb.I64[i] == 0
		out[i] = int64(b2i(okA && okB && !isFalse))
		if !isFalse && !(okA && okB) {
			setNull(n.col.Valid, i)
		}
	}
	return &n.col
}

// orNode: TRUE when a side is TRUE, else NULL when a side is NULL, else FALSE.
type orNode struct {
	a, b        condition
	col         zset.Column
	valid       []uint64
	hitA, restA []int32
}

func (n *orNode) filter(f *frame, sel, out []int32) []int32 {
	m := selLen(sel, f.n)
	n.hitA, n.restA = grow(n.hitA, m), grow(n.restA, m)
	hit := n.a.filter(f, sel, n.hitA)
	rest := without(sel, hit, n.restA, f.n)
	if len(rest) > 0 {
		rest = n.b.filter(f, rest, rest)
	}
	return merge(hit, rest, out)
}

func (n *orNode) eval(f *frame, sel []int32) *zset.Column {
	ca, cb := n.a.eval(f, sel), n.b.eval(f, sel)
	startBool(&n.col, f.n)
	n.col.Valid = nil
	out := n.col.I64
	m := int32(selLen(sel, f.n))
	if ca.Valid == nil && cb.Valid == nil {
		for k := range m {
			i := at(sel, k)
			out[i] = ca.I64[i] | cb.I64[i]
		}
		return &n.col
	}
	n.col.Valid = own(&n.valid, nil, f.n)
	for k := range m {
		i := at(sel, k)
		okA, okB := isValid(ca.Valid, i), isValid(cb.Valid, i)
		isTrue := okA && ca.I64[i] != 0 || okB && cb.I64[i] != 0
		out[i] = int64(b2i(isTrue))
		if !isTrue && !(okA && okB) {
			setNull(n.col.Valid, i)
		}
	}
	return &n.col
}

// notNode exchanges TRUE and FALSE; NOT NULL is NULL.
type notNode struct {
	a   condition
	col zset.Column
}

func (n *notNode) filter(f *frame, sel, out []int32) []int32 {
	c := n.a.eval(f, sel)
	m := 0
	for k := range int32(selLen(sel, f.n)) {
		i := at(sel, k)
		out[m] = i
		m += int(^c.I64[i] & 1)
	}
	return dropNulls(c.Valid, out[:m])
}

func (n *notNode) eval(f *frame, sel []int32) *zset.Column {
	c := n.a.eval(f, sel)
	startBool(&n.col, f.n)
	n.col.Valid = c.Valid
	for k := range int32(selLen(sel, f.n)) {
		i := at(sel, k)
		n.col.I64[i] = c.I64[i] ^ 1
	}
	return &n.col
}

func startBool(c *zset.Column, n int) {
	c.Kind = types.Bool
	c.I64 = grow(c.I64, n)
}

func buildIsNull(want bool) func(*compiler, *Call) node {
	return func(c *compiler, e *Call) node { return &isNullNode{want: want, a: c.node(e.Args[0])} }
}

// isNullNode is never NULL itself.
type isNullNode struct {
	want bool
	a    node
	col  zset.Column
}

func (n *isNullNode) filter(f *frame, sel, out []int32) []int32 {
	c := n.a.eval(f, sel)
	m := 0
	for k := range int32(selLen(sel, f.n)) {
		i := at(sel, k)
		out[m] = i
		m += b2i(isValid(c.Valid, i) != n.want)
	}
	return out[:m]
}

func (n *isNullNode) eval(f *frame, sel []int32) *zset.Column {
	c := n.a.eval(f, sel)
	startBool(&n.col, f.n)
	for k := range int32(selLen(sel, f.n)) {
		i := at(sel, k)
		n.col.I64[i] = int64(b2i(isValid(c.Valid, i) != n.want))
	}
	return &n.col
}
