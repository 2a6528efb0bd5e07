package op

import (
	"bytes"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/over"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// overRows is rows of a partition with the values of the functions: their places in the partition's list, and a record
// of one cell for each function.
type overRows struct {
	place []int
	cells []byte
	ends  []int
}

func (r *overRows) reset() { r.place, r.cells, r.ends = r.place[:0], r.cells[:0], r.ends[:0] }

func (r *overRows) value(i int) []byte {
	from := 0
	if i > 0 {
		from = r.ends[i-1]
	}
	return r.cells[from:r.ends[i]]
}

// overValues computes window functions over the sorted rows of one partition.
type overValues struct {
	calls  []over.Call
	order  []agg.OrderKey
	frames []*overFrame // the different frames
	frame  []int        // of each call, -1 where it does not count
	folded []int        // the position of an aggregate among those of its frame
	// running says that no function looks further than the rows that are equal in the order.
	running bool
	// all says that a function of a row reads the order of all rows before it.
	all bool

	ids    []uint32               // the rows; one that is there several times is several
	peerOf func(id uint32) []byte // the cells by which a row is ordered
	rowOf  func(id uint32) []byte // the cells of a row
	at0    int                    // the first row whose peer group is known, the first of its group
	group  []int                  // of each row from there, the number of its peer group
	starts []int                  // of each peer group, its first row; then the number of rows
}

func newOverValues(kinds []types.Kind, order []agg.OrderKey, calls []over.Call) *overValues {
	v := &overValues{calls: calls, order: order, running: true}
	for _, c := range calls {
		v.running = v.running && c.Running()
		v.all = v.all || c.What == over.DenseRank
		at := -1
		if c.Framed() {
			for i, f := range v.frames {
				if f.def == c.Frame {
					at = i
				}
			}
			if at < 0 {
				at = len(v.frames)
				v.frames = append(v.frames, &overFrame{def: c.Frame})
			}
		}
		v.frame = append(v.frame, at)
		folded := -1
		if c.What == over.Aggregate {
			folded = len(v.frames[at].calls)
			v.frames[at].calls = append(v.frames[at].calls, c.Agg)
		}
		v.folded = append(v.folded, folded)
	}
	for _, f := range v.frames {
		v.all = v.all || f.def.Mode != over.Rows && (f.def.Start.Distant() || f.def.End.Distant())
		f.kept = v.running && len(f.calls) > 0 && f.def.Start.Kind == over.UnboundedPreceding
		f.prepare(kinds)
	}
	return v
}

func (v *overValues) reset() { v.ids, v.group, v.starts = v.ids[:0], v.group[:0], v.starts[:0] }

// grow makes room for the kept aggregates of partitions below n.
func (v *overValues) grow(n int) {
	for _, f := range v.frames {
		if f.kept {
			f.states.Grow(n)
		}
	}
}

// release forgets the kept aggregates of a partition.
func (v *overValues) release(part uint32) {
	for _, f := range v.frames {
		if f.kept {
			f.states.Release(part)
		}
	}
}

// fold makes the kept aggregates of a partition of its rows.
func (v *overValues) fold(part uint32) {
	for _, f := range v.frames {
		if f.kept {
			plus, _ := f.load(v, 0)
			f.part = part
			f.add(plus, 0, len(v.ids))
		}
	}
}

func (v *overValues) bytes() (n int64) {
	for _, f := range v.frames {
		n += f.states.Bytes()
	}
	return n
}

// peers finds the peer groups of the rows from first on, or of all.
func (v *overValues) peers(first int) {
	if v.at0 = first; v.all {
		v.at0 = 0
	}
	var before []byte
	for i := v.at0; i < len(v.ids); i++ {
		if i == v.at0 || v.ids[i] != v.ids[i-1] {
			peer := v.peerOf(v.ids[i])
			if i == v.at0 || !bytes.Equal(peer, before) {
				v.starts = append(v.starts, i)
			}
			before = peer
		}
		v.group = append(v.group, len(v.starts)-1)
	}
	v.starts = append(v.starts, len(v.ids))
}

// groupOf is the number of the peer group of a row.
func (v *overValues) groupOf(i int) int { return v.group[i-v.at0] }

// compute writes the values of the rows of a partition from first on, which is the first row of a peer group. It is
// called for the rows as they were and then for the rows as they are, which are the same before first.
func (v *overValues) compute(part uint32, first int, old bool, out *overRows) {
	n := len(v.ids)
	v.peers(first)
	for _, f := range v.frames {
		f.compute(v, part, first, old)
	}
	for i := first; i < n; i++ {
		for k := range v.calls {
			out.cells = v.append(out.cells, k, i, i-first)
		}
		out.ends = append(out.ends, len(out.cells))
	}
}

// append appends the value of call k for row i, the j-th that is computed.
func (v *overValues) append(dst []byte, k, i, j int) []byte {
	c := &v.calls[k]
	n, g := len(v.ids), v.groupOf(i)
	switch c.What {
	case over.Aggregate:
		return zset.AppendCell(dst, &v.frames[v.frame[k]].results[v.folded[k]], v.frames[v.frame[k]].picked[j])
	case over.RowNumber:
		return zset.AppendLongCell(dst, int64(i)+1)
	case over.Rank:
		return zset.AppendLongCell(dst, int64(v.starts[g])+1)
	case over.DenseRank:
		return zset.AppendLongCell(dst, int64(g)+1)
	case over.PercentRank:
		if n == 1 {
			return zset.AppendDoubleCell(dst, 0)
		}
		return zset.AppendDoubleCell(dst, float64(v.starts[g])/float64(n-1))
	case over.CumeDist:
		return zset.AppendDoubleCell(dst, float64(v.starts[g+1])/float64(n))
	}
	if c.NoN {
		return zset.AppendNullCell(dst)
	}
	switch c.What {
	case over.Ntile:
		return zset.AppendLongCell(dst, ntile(int64(i), int64(n), c.N))
	case over.Lag:
		return v.shifted(dst, k, i, -c.N)
	case over.Lead:
		return v.shifted(dst, k, i, c.N)
	case over.FirstValue:
		return v.cell(dst, k, v.frames[v.frame[k]].nth(v, i, 1))
	case over.LastValue:
		return v.cell(dst, k, v.frames[v.frame[k]].nth(v, i, -1))
	default:
		return v.cell(dst, k, v.frames[v.frame[k]].nth(v, i, c.N))
	}
}

// ntile cuts n rows into parts whose sizes differ by one at most, the larger ones first.
func ntile(i, n, parts int64) int64 {
	size, larger := n/parts, n%parts
	if i < larger*(size+1) {
		return i/(size+1) + 1
	}
	return larger + (i-larger*(size+1))/size + 1
}

func (v *overValues) shifted(dst []byte, k, i int, by int64) []byte {
	if at := int64(i) + by; at >= 0 && at < int64(len(v.ids)) {
		return v.cell(dst, k, int(at))
	}
	switch d := v.calls[k].Default.(type) {
	case *expr.Literal:
		return zset.AppendValue(dst, d.V)
	case *expr.Column:
		return append(dst, v.columnCell(d.Index, i)...)
	}
	return zset.AppendNullCell(dst)
}

// columnCell is one cell of a row.
func (v *overValues) columnCell(column, row int) []byte {
	rec := zset.SkipCells(v.rowOf(v.ids[row]), column)
	return rec[:len(rec)-len(zset.SkipCells(rec, 1))]
}

// cell appends the argument of call k in a row; -1 is no row.
func (v *overValues) cell(dst []byte, k, row int) []byte {
	if row < 0 {
		return zset.AppendNullCell(dst)
	}
	switch arg := v.calls[k].Arg.(type) {
	case *expr.Column:
		return append(dst, v.columnCell(arg.Index, row)...)
	case *expr.Literal:
		return zset.AppendValue(dst, arg.V)
	}
	panic("BUG: an argument of a window function is neither a column nor a constant")
}
