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
	read   []int        // columns that value functions read, sorted
	at     []int        // of each call, the position of its argument in read, -1 for a constant
	// running says that no function looks further than the rows that are equal in the order.
	running bool

	peers  [][]byte
	rows   [][]byte
	cells  [][][]byte // for each column of read, the cells of the rows
	group  []int      // of each row, the number of its peer group
	starts []int      // of each peer group, its first row; then the number of rows
}

func newOverValues(kinds []types.Kind, order []agg.OrderKey, calls []over.Call) *overValues {
	v := &overValues{calls: calls, order: order, running: true}
	wanted := map[int]bool{}
	for _, c := range calls {
		v.running = v.running && c.Running()
		for _, e := range []expr.Expr{c.Arg, c.Default} {
			if col, ok := e.(*expr.Column); ok {
				wanted[col.Index] = true
			}
		}
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
	place := map[int]int{}
	for c := range kinds {
		if wanted[c] {
			place[c] = len(v.read)
			v.read = append(v.read, c)
		}
	}
	v.cells = make([][][]byte, len(v.read))
	for _, c := range calls {
		at := -1
		if col, ok := c.Arg.(*expr.Column); ok {
			at = place[col.Index]
		}
		v.at = append(v.at, at)
	}
	for _, f := range v.frames {
		f.prepare(kinds)
	}
	return v
}

func (v *overValues) reset() {
	v.peers, v.rows, v.group, v.starts = v.peers[:0], v.rows[:0], v.group[:0], v.starts[:0]
	for i := range v.cells {
		v.cells[i] = v.cells[i][:0]
	}
}

// add appends the next row.
func (v *overValues) add(peer, row []byte) {
	n := len(v.rows)
	if n == 0 || !bytes.Equal(v.peers[n-1], peer) {
		v.starts = append(v.starts, n)
	}
	v.group = append(v.group, len(v.starts)-1)
	v.peers, v.rows = append(v.peers, peer), append(v.rows, row)
	c := 0
	for i, want := range v.read {
		row = zset.SkipCells(row, want-c)
		rest := zset.SkipCells(row, 1)
		v.cells[i] = append(v.cells[i], row[:len(row)-len(rest)])
		row, c = rest, want+1
	}
}

// compute writes the values of the rows from first on.
func (v *overValues) compute(first int, out *overRows) {
	n := len(v.rows)
	v.starts = append(v.starts, n)
	for _, f := range v.frames {
		f.compute(v, first)
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
	n, g := len(v.rows), v.group[i]
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
	if at := int64(i) + by; at >= 0 && at < int64(len(v.rows)) {
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

func (v *overValues) columnCell(column, row int) []byte {
	for i, c := range v.read {
		if c == column {
			return v.cells[i][row]
		}
	}
	panic("BUG: a window function reads a column that is not kept")
}

// cell appends the argument of call k in a row; -1 is no row.
func (v *overValues) cell(dst []byte, k, row int) []byte {
	if row < 0 {
		return zset.AppendNullCell(dst)
	}
	if v.at[k] >= 0 {
		return append(dst, v.cells[v.at[k]][row]...)
	}
	return zset.AppendValue(dst, v.calls[k].Arg.(*expr.Literal).V)
}
