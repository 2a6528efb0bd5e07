package expr

import (
	"strconv"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// buildConvert compiles the TO_ functions; CAST is the same call.
func buildConvert(c *compiler, e *Call) node {
	x := e.Args[0]
	from := x.Kind()
	switch {
	case from == types.Unknown:
		return newNull(e.K)
	case from == e.K && !isISOText(e):
		return c.node(x)
	case isISOText(e):
		return &toText{a: c.node(x), append: appendISO}
	}
	switch e.K {
	case types.Long, types.Timestamp:
		return buildToInteger(c, x, e.K)
	case types.Double:
		switch from {
		case types.Long, types.Timestamp, types.Bool:
			return &toDouble{a: c.node(x)}
		case types.Json:
			return &jsonScalar{a: c.node(x), to: types.Double}
		default:
			return &fromText{a: c.node(x), kind: types.Double}
		}
	case types.Bool:
		return buildToBool(c, x)
	default:
		return buildToText(c, x)
	}
}

// isISOText finds TO_STRING(TO_TIMESTAMP(x)), which gives ISO-8601 text; a plain Timestamp gives its number.
func isISOText(e *Call) bool {
	if e.Fn.Name != "TO_STRING" {
		return false
	}
	inner, ok := e.Args[0].(*Call)
	return ok && inner.Fn.Name == "TO_TIMESTAMP"
}

func buildToInteger(c *compiler, x Expr, to types.Kind) node {
	switch x.Kind() {
	case types.Long, types.Timestamp:
		return &relabel{a: c.node(x), kind: to}
	case types.Bool:
		if to == types.Timestamp {
			return newNull(to)
		}
		return &relabel{a: c.node(x), kind: to}
	case types.Double:
		return &truncate{a: c.node(x), kind: to}
	case types.Json:
		return &jsonScalar{a: c.node(x), to: to}
	default:
		return &fromText{a: c.node(x), kind: to}
	}
}

func buildToBool(c *compiler, x Expr) node {
	switch x.Kind() {
	case types.Long, types.Timestamp:
		return &longMap{kind: types.Bool, a: c.node(x), fn: func(v int64) (int64, bool) { return int64(b2i(v != 0)), true }}
	case types.Double:
		return &doubleTruth{a: c.node(x)}
	case types.Json:
		return &jsonScalar{a: c.node(x), to: types.Bool}
	default:
		return &fromText{a: c.node(x), kind: types.Bool}
	}
}

func buildToText(c *compiler, x Expr) node {
	switch x.Kind() {
	case types.Json:
		return &toText{a: c.node(x), append: func(dst []byte, c *zset.Column, i int32) ([]byte, bool) {
			return types.AppendJsonText(dst, c.Text(int(i)))
		}}
	case types.Double:
		return &toText{a: c.node(x), append: func(dst []byte, c *zset.Column, i int32) ([]byte, bool) {
			return types.AppendDouble(dst, c.F64[i]), true
		}}
	case types.Bool:
		return &toText{a: c.node(x), append: func(dst []byte, c *zset.Column, i int32) ([]byte, bool) {
			return strconv.AppendBool(dst, c.I64[i] != 0), true
		}}
	default:
		return &toText{a: c.node(x), append: func(dst []byte, c *zset.Column, i int32) ([]byte, bool) {
			return strconv.AppendInt(dst, c.I64[i], 10), true
		}}
	}
}

func appendISO(dst []byte, c *zset.Column, i int32) ([]byte, bool) {
	return types.AppendTime(dst, c.I64[i])
}

// relabel gives a column another kind with the same storage.
type relabel struct {
	a    node
	kind types.Kind
	col  zset.Column
}

func (n *relabel) eval(f *frame, sel []int32) *zset.Column {
	n.col = *n.a.eval(f, sel)
	n.col.Kind = n.kind
	return &n.col
}

// truncate cuts the fraction of a Double off; what does not fit 64 bits is NULL.
type truncate struct {
	a     node
	kind  types.Kind
	col   zset.Column
	valid []uint64
}

func (n *truncate) eval(f *frame, sel []int32) *zset.Column {
	a := n.a.eval(f, sel)
	n.col.Kind = n.kind
	n.col.I64 = grow(n.col.I64, f.n)
	n.col.Valid = a.Valid
	for k := range int32(selLen(sel, f.n)) {
		i := at(sel, k)
		v, ok := types.DoubleToLong(a.F64[i])
		if !ok {
			n.col.Valid = own(&n.valid, n.col.Valid, f.n)
			setNull(n.col.Valid, i)
		}
		n.col.I64[i] = v
	}
	return &n.col
}

// doubleTruth is TRUE for every number but 0.
type doubleTruth struct {
	a   node
	col zset.Column
}

func (n *doubleTruth) eval(f *frame, sel []int32) *zset.Column {
	a := n.a.eval(f, sel)
	startBool(&n.col, f.n)
	n.col.Valid = a.Valid
	for k := range int32(selLen(sel, f.n)) {
		i := at(sel, k)
		n.col.I64[i] = int64(b2i(a.F64[i] != 0))
	}
	return &n.col
}

// toText writes values as text; a value without text is NULL.
type toText struct {
	a      node
	append func(dst []byte, c *zset.Column, i int32) ([]byte, bool)
	text   textOut
}

func (n *toText) eval(f *frame, sel []int32) *zset.Column {
	a := n.a.eval(f, sel)
	n.text.start(types.String, f.n)
	for k := range int32(selLen(sel, f.n)) {
		i := at(sel, k)
		if !isValid(a.Valid, i) {
			continue
		}
		n.text.skip(i)
		from := len(n.text.col.Bytes)
		out, ok := n.append(n.text.col.Bytes, a, i)
		if !ok {
			n.text.col.Bytes = out[:from]
			continue
		}
		n.text.col.Bytes = out
		n.text.end(i)
	}
	return n.text.done(f.n)
}

// fromText reads numbers, truth values and times from text; what cannot be read is NULL.
type fromText struct {
	a    node
	kind types.Kind
	out  scalarOut
}

func (n *fromText) eval(f *frame, sel []int32) *zset.Column {
	a := n.a.eval(f, sel)
	n.out.start(n.kind, f.n)
	for k := range int32(selLen(sel, f.n)) {
		if i := at(sel, k); isValid(a.Valid, i) {
			n.out.fromText(i, a.Text(int(i)))
		}
	}
	return &n.out.col
}

// scalarOut collects a column of numbers, truth values or times whose rows are NULL unless they are set.
type scalarOut struct {
	col   zset.Column
	valid []uint64
}

func (o *scalarOut) start(k types.Kind, n int) {
	o.col.Kind = k
	o.col.Valid = none(&o.valid, n)
	if k == types.Double {
		o.col.F64 = grow(o.col.F64, n)
	} else {
		o.col.I64 = grow(o.col.I64, n)
	}
}

func (o *scalarOut) double(i int32, v float64) {
	if v != v {
		return
	}
	o.col.F64[i] = v + 0
	setValid(o.col.Valid, i)
}

func (o *scalarOut) long(i int32, v int64) {
	o.col.I64[i] = v
	setValid(o.col.Valid, i)
}

func (o *scalarOut) fromText(i int32, text []byte) {
	switch o.col.Kind {
	case types.Double:
		if v, ok := types.TextToDouble(text); ok {
			o.double(i, v)
		}
	case types.Long:
		if v, ok := types.TextToLong(text); ok {
			o.long(i, v)
		}
	case types.Timestamp:
		if v, ok := types.TextToTimestamp(text); ok {
			o.long(i, v)
		}
	default:
		o.long(i, int64(b2i(types.TextToBool(text))))
	}
}
