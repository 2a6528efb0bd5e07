package expr

import (
	"math"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

func buildPath(asText bool) func(*compiler, *Call) node {
	return func(c *compiler, e *Call) node {
		n := &pathNode{a: c.node(e.Args[0]), asText: asText, kind: e.K}
		n.element = e.Args[1].Kind() == types.Long
		key, ok := e.Args[1].(*Literal)
		switch {
		case !ok:
			n.by = c.node(e.Args[1])
		case n.element:
			n.index = key.V.Int()
		default:
			n.key = []byte(key.V.Text())
		}
		return n
	}
}

// pathNode takes a member or an element out of Json values. What is absent is NULL; ->> turns a JSON null into
// NULL too.
type pathNode struct {
	a node
	// by computes the key of each row; nil means that key or index is that of all rows.
	by      node
	key     []byte
	index   int64
	element bool
	asText  bool
	kind    types.Kind
	text    textOut
}

func (n *pathNode) eval(f *frame, sel []int32) *zset.Column {
	a := n.a.eval(f, sel)
	var by *zset.Column
	if n.by != nil {
		by = n.by.eval(f, sel)
	}
	n.text.start(n.kind, f.n)
	for k := range int32(selLen(sel, f.n)) {
		i := at(sel, k)
		if !isValid(a.Valid, i) || by != nil && !n.take(by, i) {
			continue
		}
		raw, ok := n.step(a.Text(int(i)))
		if !ok {
			continue
		}
		if !n.asText {
			n.text.put(i, raw)
			continue
		}
		n.text.skip(i)
		out, ok := types.AppendJsonText(n.text.col.Bytes, raw)
		if ok {
			n.text.col.Bytes = out
			n.text.end(i)
		}
	}
	return n.text.done(f.n)
}

// take sets the key to that of a row; false means that it is NULL.
func (n *pathNode) take(by *zset.Column, i int32) bool {
	if !isValid(by.Valid, i) {
		return false
	}
	if n.element {
		n.index = by.I64[i]
	} else {
		n.key = by.Text(int(i))
	}
	return true
}

func (n *pathNode) step(doc []byte) ([]byte, bool) {
	if n.element {
		if n.index < 0 || n.index > math.MaxInt32 {
			return nil, false
		}
		return types.JsonIndex(doc, int(n.index))
	}
	return types.JsonField(doc, n.key)
}

// jsonNumber reads the numeric nodes of a Json column; everything else is NULL.
type jsonNumber struct {
	a   node
	out scalarOut
}

func (n *jsonNumber) eval(f *frame, sel []int32) *zset.Column {
	a := n.a.eval(f, sel)
	n.out.start(types.Double, f.n)
	for k := range int32(selLen(sel, f.n)) {
		if i := at(sel, k); isValid(a.Valid, i) {
			if node := a.Text(int(i)); len(node) > 0 && (node[0] == '-' || node[0]-'0' <= 9) {
				if v, ok := types.NumberToDouble(node); ok {
					n.out.double(i, v)
				}
			}
		}
	}
	return &n.out.col
}

// jsonScalar converts the scalar nodes of a Json column: a text node as its text, a number as the number, true and
// false as Bool.
type jsonScalar struct {
	a   node
	to  types.Kind
	out scalarOut
}

func (n *jsonScalar) eval(f *frame, sel []int32) *zset.Column {
	a := n.a.eval(f, sel)
	n.out.start(n.to, f.n)
	for k := range int32(selLen(sel, f.n)) {
		if i := at(sel, k); isValid(a.Valid, i) {
			n.convert(i, a.Text(int(i)))
		}
	}
	return &n.out.col
}

func (n *jsonScalar) convert(i int32, node []byte) {
	switch n.to {
	case types.Double:
		if v, ok := types.JsonToDouble(node); ok {
			n.out.double(i, v)
		}
	case types.Long:
		if v, ok := types.JsonToLong(node); ok {
			n.out.long(i, v)
		}
	case types.Timestamp:
		if v, ok := types.JsonToTimestamp(node); ok {
			n.out.long(i, v)
		}
	default:
		if v, ok := types.JsonToBool(node); ok {
			n.out.long(i, int64(b2i(v)))
		}
	}
}
