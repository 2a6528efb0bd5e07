package agg

import (
	"bytes"
	"math"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// Results is a list of rows of aggregate results in columns. It is reused with Reset.
type Results struct {
	n    int
	cols []resultColumn
	text []byte
}

// resultColumn keeps one word a row: the bits of a number, or place and length of a text.
type resultColumn struct {
	kind  types.Kind
	words []uint64
	nulls []bool // empty while there is no NULL; it may be shorter than words
}

// NewResults makes an empty list for a table's results.
func (t *Table) NewResults() *Results {
	r := &Results{cols: make([]resultColumn, len(t.reads))}
	for i := range t.reads {
		r.cols[i].kind = t.reads[i].call.K
	}
	return r
}

// Len returns the number of rows.
func (r *Results) Len() int { return r.n }

// Reset empties the list and keeps the memory.
func (r *Results) Reset() {
	r.n = 0
	r.text = r.text[:0]
	for i := range r.cols {
		r.cols[i].words = r.cols[i].words[:0]
		r.cols[i].nulls = r.cols[i].nulls[:0]
	}
}

func (c *resultColumn) word(w uint64) { c.words = append(c.words, w) }

func (c *resultColumn) null() {
	for len(c.nulls) < len(c.words) {
		c.nulls = append(c.nulls, false)
	}
	c.nulls = append(c.nulls, true)
	c.words = append(c.words, 0)
}

func (c *resultColumn) isNull(i int) bool { return i < len(c.nulls) && c.nulls[i] }

func (c *resultColumn) double(f float64) {
	if f != f {
		c.null()
		return
	}
	c.word(math.Float64bits(f + 0))
}

func (c *resultColumn) mean(f float64, exp int, n int64) {
	if n <= 0 {
		c.null()
		return
	}
	c.double(mean(f, exp, n))
}

// ordered appends a value given by its order word, or by its number in a pool.
func (c *resultColumn) ordered(w uint64, pool *textPool, out *Results) {
	switch {
	case pool != nil:
		c.text(pool.text(w), out)
	case c.kind == types.Double:
		c.word(math.Float64bits(doubleOf(w)))
	default:
		c.word(uint64(longOf(w)))
	}
}

// text appends a text, which is copied.
func (c *resultColumn) text(text []byte, out *Results) {
	c.word(uint64(len(out.text))<<32 | uint64(len(text)))
	out.text = append(out.text, text...)
}

// Compare orders row i of r and row j of other by the chosen columns, as canonical records order: NULL first,
// numbers by value, text by its bytes.
func (r *Results) Compare(i int, other *Results, j int, cols []int) int {
	for _, c := range cols {
		a, b := &r.cols[c], &other.cols[c]
		if x, y := a.isNull(i), b.isNull(j); x || y {
			if x && y {
				continue
			}
			if x {
				return -1
			}
			return 1
		}
		x, y := a.words[i], b.words[j]
		switch {
		case a.kind.IsText():
			if c := bytes.Compare(r.textOf(x), other.textOf(y)); c != 0 {
				return c
			}
			continue
		case a.kind == types.Double:
			x, y = orderDouble(math.Float64frombits(x)), orderDouble(math.Float64frombits(y))
		default:
			x, y = orderLong(int64(x)), orderLong(int64(y))
		}
		if x < y {
			return -1
		}
		if x > y {
			return 1
		}
	}
	return 0
}

func (r *Results) textOf(w uint64) []byte { return r.text[w>>32:][:uint32(w)] }

// Pick names a row of one of two lists, as they stand before and after a change.
type Pick uint32

// Old names row t of the first list.
func Old(t int32) Pick { return Pick(t) << 1 }

// New names row t of the second list.
func New(t int32) Pick { return Pick(t)<<1 | 1 }

// IsNew reports whether the row is in the second list.
func (p Pick) IsNew() bool { return p&1 != 0 }

// Row is the number of the row in its list.
func (p Pick) Row() int { return int(p >> 1) }

// Column builds column c of an output batch from rows of two lists. The column owns its memory.
func Column(c int, lists [2]*Results, picks []Pick) zset.Column {
	col := [2]*resultColumn{&lists[0].cols[c], &lists[1].cols[c]}
	kind := col[0].kind
	out := zset.Column{Kind: kind}
	if len(col[0].nulls)+len(col[1].nulls) > 0 {
		out.Valid = validOf(col, picks)
	}
	switch words := [2][]uint64{col[0].words, col[1].words}; {
	case kind.IsText():
		out.Offs = make([]uint32, len(picks)+1)
		for k, p := range picks {
			out.Bytes = append(out.Bytes, lists[p&1].textOf(words[p&1][p>>1])...)
			out.Offs[k+1] = uint32(len(out.Bytes))
		}
	case kind == types.Double:
		out.F64 = make([]float64, len(picks))
		for k, p := range picks {
			out.F64[k] = math.Float64frombits(words[p&1][p>>1])
		}
	default:
		out.I64 = make([]int64, len(picks))
		for k, p := range picks {
			out.I64[k] = int64(words[p&1][p>>1])
		}
	}
	return out
}

// validOf is the validity of picked rows, nil when none is NULL.
func validOf(col [2]*resultColumn, picks []Pick) []uint64 {
	var valid []uint64
	for k, p := range picks {
		if !col[p&1].isNull(p.Row()) {
			continue
		}
		if valid == nil {
			valid = make([]uint64, (len(picks)+63)>>6)
			for i := range len(picks) {
				valid[i>>6] |= 1 << (uint(i) & 63)
			}
		}
		valid[k>>6] &^= 1 << (uint(k) & 63)
	}
	return valid
}

// Width returns the number of columns.
func (r *Results) Width() int { return len(r.cols) }
