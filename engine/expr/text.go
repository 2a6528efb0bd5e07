package expr

import (
	"bytes"
	"unicode/utf8"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

func buildUpper(c *compiler, e *Call) node { return buildTextMap(c, e, bytes.ToUpper) }

func buildLower(c *compiler, e *Call) node { return buildTextMap(c, e, bytes.ToLower) }

func buildTextMap(c *compiler, e *Call, fn func([]byte) []byte) node {
	if e.Args[0].Kind() != types.String {
		return newNull(types.String)
	}
	return &textMap{a: c.node(e.Args[0]), fn: fn}
}

// textMap applies a function to texts; to the entries of a dictionary once.
type textMap struct {
	a    node
	fn   func([]byte) []byte
	dict *zset.Dict // last input dictionary
	to   *zset.Dict // its image
	col  zset.Column
	text textOut
}

func (n *textMap) eval(f *frame, sel []int32) *zset.Column {
	a := n.a.eval(f, sel)
	if a.Dict != nil && (a.Dict == n.dict || a.Dict.Len() <= selLen(sel, f.n)) {
		if n.dict != a.Dict {
			n.dict, n.to = a.Dict, mapDict(a.Dict, n.fn)
		}
		n.col = zset.Column{Kind: types.String, Valid: a.Valid, Codes: a.Codes, Dict: n.to}
		return &n.col
	}
	n.text.start(types.String, f.n)
	for k := range int32(selLen(sel, f.n)) {
		if i := at(sel, k); isValid(a.Valid, i) {
			n.text.put(i, n.fn(a.Text(int(i))))
		}
	}
	return n.text.done(f.n)
}

func mapDict(d *zset.Dict, fn func([]byte) []byte) *zset.Dict {
	to := &zset.Dict{Offs: make([]uint32, 1, d.Len()+1)}
	for code := range d.Len() {
		to.Bytes = append(to.Bytes, fn(d.At(uint32(code)))...)
		to.Offs = append(to.Offs, uint32(len(to.Bytes)))
	}
	return to
}

func buildConcat(c *compiler, e *Call) node {
	return &concatNode{a: c.node(e.Args[0]), b: c.node(e.Args[1])}
}

type concatNode struct {
	a, b node
	text textOut
}

func (n *concatNode) eval(f *frame, sel []int32) *zset.Column {
	a, b := n.a.eval(f, sel), n.b.eval(f, sel)
	n.text.start(types.String, f.n)
	for k := range int32(selLen(sel, f.n)) {
		i := at(sel, k)
		if !isValid(a.Valid, i) || !isValid(b.Valid, i) {
			continue
		}
		n.text.skip(i)
		n.text.col.Bytes = append(append(n.text.col.Bytes, a.Text(int(i))...), b.Text(int(i))...)
		n.text.end(i)
	}
	return n.text.done(f.n)
}

func buildLike(c *compiler, e *Call) node {
	for _, a := range e.Args {
		if a.Kind() != types.String {
			return newNull(types.Bool)
		}
	}
	n := &likeNode{a: c.node(e.Args[0]), pattern: c.node(e.Args[1])}
	if len(e.Args) == 3 {
		n.escape = c.node(e.Args[2])
	}
	_, patternLit := e.Args[1].(*Literal)
	if patternLit && n.escape == nil && !IsNullLiteral(e.Args[1]) {
		n.fixed = []byte(e.Args[1].(*Literal).V.Text())
		n.isFixed = true
	}
	return n
}

// likeNode matches texts with a pattern. A constant pattern is matched once for each entry of a dictionary.
type likeNode struct {
	a, pattern, escape node
	fixed              []byte
	isFixed            bool
	test               dictTest
	col                zset.Column
	valid, pair        []uint64
	pick               []int32
}

var _ condition = (*likeNode)(nil)

func (n *likeNode) filter(f *frame, sel, out []int32) []int32 {
	if n.isFixed {
		a := n.a.eval(f, sel)
		return dropNulls(a.Valid, n.hits(a, nil, nil, sel, out, f.n))
	}
	return filterColumn(n.eval(f, sel), sel, out, f.n)
}

func (n *likeNode) hits(a, p, esc *zset.Column, sel, out []int32, rows int) []int32 {
	if n.isFixed {
		return n.test.hits(a, sel, out, rows, func(text []byte) bool { return Like(text, n.fixed, -1) })
	}
	return hitsWhere(sel, out, rows, func(i int32) bool {
		if !isValid(a.Valid, i) || !isValid(p.Valid, i) {
			return false
		}
		r := rune(-1)
		if esc != nil && isValid(esc.Valid, i) {
			r, _ = utf8.DecodeRune(esc.Text(int(i)))
		}
		return Like(a.Text(int(i)), p.Text(int(i)), r)
	})
}

func (n *likeNode) eval(f *frame, sel []int32) *zset.Column {
	a, p := n.a.eval(f, sel), n.pattern.eval(f, sel)
	n.col.Valid = both(&n.valid, a.Valid, p.Valid, f.n)
	var esc *zset.Column
	if n.escape != nil {
		esc = n.escape.eval(f, sel)
		n.col.Valid = both(&n.pair, n.col.Valid, esc.Valid, f.n)
	}
	n.pick = grow(n.pick, selLen(sel, f.n))
	markHits(&n.col, n.hits(a, p, esc, sel, n.pick, f.n), f.n)
	return &n.col
}

// markHits makes a Bool column that is TRUE at the given rows.
func markHits(c *zset.Column, hits []int32, n int) {
	startBool(c, n)
	clear(c.I64)
	for _, i := range hits {
		c.I64[i] = 1
	}
}

// Like reports whether the whole text matches the pattern: % stands for any text, _ for one character, and the
// escape character, when it is not negative, makes the next one plain.
func Like(text, pattern []byte, escape rune) bool {
	var starPattern, starText []byte
	star := false
	for {
		if len(pattern) > 0 {
			r, size := utf8.DecodeRune(pattern)
			switch {
			case r == '%' && r != escape:
				pattern = pattern[size:]
				star, starPattern, starText = true, pattern, text
				continue
			case r == '_' && r != escape:
				if len(text) > 0 {
					_, ts := utf8.DecodeRune(text)
					text, pattern = text[ts:], pattern[size:]
					continue
				}
			default:
				literal := pattern[:size]
				rest := pattern[size:]
				if r == escape && len(rest) > 0 {
					_, s := utf8.DecodeRune(rest)
					literal, rest = rest[:s], rest[s:]
				}
				if bytes.HasPrefix(text, literal) {
					text, pattern = text[len(literal):], rest
					continue
				}
			}
		} else if len(text) == 0 {
			return true
		}
		if !star || len(starText) == 0 {
			return false
		}
		_, size := utf8.DecodeRune(starText)
		starText = starText[size:]
		text, pattern = starText, starPattern
	}
}
