package op

import (
	"encoding/binary"
	"fmt"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// OuterKind is what an OuterJoin does with rows that have, or do not have, a match.
type OuterKind uint8

// The kinds.
const (
	// PadLeft gives the pairs, and left rows without a match with NULLs for the right columns.
	PadLeft OuterKind = iota
	// PadRight gives the pairs, and right rows without a match with NULLs for the left columns.
	PadRight
	// PadBoth gives the pairs and the rows of both sides without a match.
	PadBoth
	// Matched gives the left rows that have a match (semi join).
	Matched
	// Unmatched gives the left rows that have none (anti join).
	Unmatched
	// Marked gives every left row with a Bool column that says whether it has a match.
	Marked
)

// OuterJoin is every equi-join in which a row's place in the output depends on whether it has a match: outer, semi,
// anti and mark joins. A row has a match while one row of the other side with an equal key, for which the residual
// condition is TRUE, has a positive weight.
//
// The output is a function of both sides as they are, and each change gives out what that function changes by: the
// pairs as an inner join does, and for each row whose number of matches comes from or goes to zero, the padded row.
// Without a residual condition all rows of a key have the same matches: one present row of the other side decides. With
// one, each row of a kept side has a number of matches of its own.
type OuterJoin struct {
	kind     OuterKind
	sides    [2]joinSide
	counts   [2]*zset.Multiset // with a residual: the number of matches of each record of a kept side
	keep     [2]bool           // the side's rows are in the output whether or not they match
	residual *expr.Kernel
	width    int // columns of the left side

	pairs *zset.Builder // pairs, in which the residual condition is tested
	out   *zset.Builder // padded rows
	hits  []hit

	// Filtered counts pairs that the residual condition dropped.
	Filtered int64
}

var _ Operator = (*OuterJoin)(nil)

// hit is one match of a row at hand: the other side's record and its weight.
type hit struct {
	rec []byte
	w   int64
}

// NewOuterJoin makes a join of rows of two schemas. In the first nullSafe keys NULL equals NULL; without keys every row
// matches. residual, over the columns of both, may be nil.
func NewOuterJoin(left, right types.Schema, leftKeys, rightKeys []expr.Expr, nullSafe int, residual expr.Expr, kind OuterKind) *OuterJoin {
	j := &OuterJoin{kind: kind, width: len(left)}
	both := append(kindsOf(left), kindsOf(right)...)
	j.pairs = zset.NewBuilder(both)
	switch {
	case j.givesPairs():
		j.out = zset.NewBuilder(both)
	case kind == Marked:
		j.out = zset.NewBuilder(append(kindsOf(left), types.Bool))
	default:
		j.out = zset.NewBuilder(kindsOf(left))
	}
	j.sides[0] = newJoinSide(leftKeys, nullSafe, len(left), 0)
	j.sides[1] = newJoinSide(rightKeys, nullSafe, len(right), len(left))
	j.keep = [2]bool{kind != PadRight, kind == PadRight || kind == PadBoth}
	if residual != nil {
		j.residual = expr.Compile(residual)
		for s, keep := range j.keep {
			if keep {
				j.counts[s] = zset.NewMultiset()
			}
		}
	}
	return j
}

func (j *OuterJoin) givesPairs() bool { return j.kind <= PadBoth }

// Apply joins changes of one side (port 0 left, 1 right) with the other side and keeps them.
func (j *OuterJoin) Apply(port int, d Delta, emit Emit) {
	own, other := &j.sides[port], &j.sides[1-port]
	own.encode(d)
	if j.keep[port] && len(own.sel) < d.Len() {
		j.withoutKey(port, d, emit)
	}
	if len(own.sel) > 0 {
		other.rows.TouchBatch(&own.keys)
	}
	if j.residual == nil {
		for k, i := range own.sel {
			j.plain(port, d.B, k, int(i), emit)
		}
	} else {
		for k, i := range own.sel {
			j.filtered(port, d.B, k, int(i), emit)
		}
	}
	j.givePairs(emit)
	j.givePads(emit)
}

// withoutKey gives out rows that can never match: they have no state.
func (j *OuterJoin) withoutKey(port int, d Delta, emit Emit) {
	next := 0
	for k := range d.Len() {
		i := d.At(k)
		if next < len(j.sides[port].sel) && int(j.sides[port].sel[next]) == i {
			next++
			continue
		}
		j.row(port, d.B, i, d.B.W(i), false, emit)
	}
}

// plain takes one row when all rows of its key have the same matches.
func (j *OuterJoin) plain(port int, b *zset.Batch, k, i int, emit Emit) {
	own, other := &j.sides[port], &j.sides[1-port]
	key, h, w := own.keys.Key(k), own.keys.Hash[k], b.W(i)
	if j.givesPairs() {
		for m := other.rows.FindHash(h, key); ; {
			rec, x, ok := m.Next()
			if !ok {
				break
			}
			j.pair(port, b, i, rec, w*x)
			if j.pairs.Len() == maxJoinBatch {
				j.givePairs(emit)
			}
		}
	}
	if j.keep[port] {
		j.row(port, b, i, w, positive(other.rows.FindHash(h, key), 1) > 0, emit)
	}
	before, after := own.rows.AddHash(h, key, own.recs.Key(k), w)
	step := crossing(before, after)
	if step == 0 || !j.keep[1-port] {
		return
	}
	// The other side's rows turn when the first present row of the key came, or the last one left.
	n := positive(own.rows.FindHash(h, key), 2)
	if step > 0 && n > 1 || step < 0 && n > 0 {
		return
	}
	for m := other.rows.FindHash(h, key); ; {
		rec, x, ok := m.Next()
		if !ok {
			return
		}
		j.turn(1-port, rec, x, n > 0, emit)
	}
}

// positive counts the present rows of a key, up to a limit.
func positive(m zset.Matches, limit int) (n int) {
	for n < limit {
		_, w, ok := m.Next()
		if !ok {
			break
		}
		if w > 0 {
			n++
		}
	}
	return n
}

// filtered takes one row when a condition decides which rows of its key match.
func (j *OuterJoin) filtered(port int, b *zset.Batch, k, i int, emit Emit) {
	own := &j.sides[port]
	key, rec, h, w := own.keys.Key(k), own.recs.Key(k), own.keys.Hash[k], b.W(i)
	j.match(port, b, i, h, key, w, emit)
	n := int64(0)
	for _, hit := range j.hits {
		if hit.w > 0 {
			n++
		}
	}
	if j.keep[port] {
		j.row(port, b, i, w, n > 0, emit)
	}
	before, after := own.rows.AddHash(h, key, rec, w)
	if j.keep[port] && n > 0 {
		// The number is kept while the record is there.
		if before == 0 && after != 0 {
			j.counts[port].Add(rec, n)
		} else if before != 0 && after == 0 {
			j.counts[port].Add(rec, -n)
		}
	}
	step := crossing(before, after)
	if step == 0 || !j.keep[1-port] {
		return
	}
	for _, hit := range j.hits {
		was, is := j.counts[1-port].Add(hit.rec, step)
		if (was > 0) != (is > 0) {
			j.turn(1-port, hit.rec, hit.w, is > 0, emit)
		}
	}
}

// match lists the matches of a row and gives their pairs out.
func (j *OuterJoin) match(port int, b *zset.Batch, i int, h uint64, key []byte, w int64, emit Emit) {
	j.givePairs(emit)
	j.hits = j.hits[:0]
	found := j.hits
	for m := j.sides[1-port].rows.FindHash(h, key); ; {
		rec, x, ok := m.Next()
		if !ok {
			break
		}
		j.pair(port, b, i, rec, w*x)
		found = append(found, hit{rec, x})
	}
	j.hits = found
	if len(found) == 0 {
		return
	}
	d := Delta{B: j.pairs.Build(), Stable: true}
	sel := j.residual.Filter(d.B, nil)
	j.Filtered += int64(d.B.N - len(sel))
	for k, at := range sel {
		j.hits[k] = found[at]
	}
	j.hits = j.hits[:len(sel)]
	if len(sel) > 0 && j.givesPairs() {
		if len(sel) < d.B.N {
			d.Sel = sel
		}
		emit(d)
	}
}

// crossing is +1 when a weight becomes positive, -1 when it ceases to be.
func crossing(before, after int64) int64 {
	switch {
	case before <= 0 && after > 0:
		return 1
	case before > 0 && after <= 0:
		return -1
	}
	return 0
}

// pair adds a row of the batch at hand with a record of the other side to the pairs.
func (j *OuterJoin) pair(port int, b *zset.Batch, i int, rec []byte, w int64) {
	for c := range b.Cols {
		j.pairs.Cell(j.sides[port].first+c, &b.Cols[c], i)
	}
	j.sides[1-port].decode(j.pairs, rec)
	j.pairs.EndRow(w)
}

// row gives a row of the batch at hand its place as one of a kept side, when it has one.
func (j *OuterJoin) row(port int, b *zset.Batch, i int, w int64, matched bool, emit Emit) {
	if !j.shows(matched) {
		return
	}
	for c := range b.Cols {
		j.out.Cell(j.sides[port].first+c, &b.Cols[c], i)
	}
	j.endPad(port, w, matched, emit)
}

// turn takes a record of a kept side out of its place and gives it the other, because it now has a match or none.
func (j *OuterJoin) turn(port int, rec []byte, w int64, matched bool, emit Emit) {
	for _, m := range [2]bool{!matched, matched} {
		if !j.shows(m) {
			continue
		}
		x := w
		if m != matched {
			x = -w
		}
		j.sides[port].decode(j.out, rec)
		j.endPad(port, x, m, emit)
	}
}

// shows reports whether a row of a kept side is given out beside its pairs.
func (j *OuterJoin) shows(matched bool) bool {
	switch j.kind {
	case Matched:
		return matched
	case Marked:
		return true
	}
	return !matched
}

func (j *OuterJoin) endPad(port int, w int64, matched bool, emit Emit) {
	switch {
	case j.givesPairs():
		from, to := 0, j.width
		if port == 0 {
			from, to = j.width, len(j.pairs.Kinds())
		}
		for c := from; c < to; c++ {
			j.out.Null(c)
		}
	case j.kind == Marked:
		j.out.Bool(j.width, matched)
	}
	j.out.EndRow(w)
	if j.out.Len() == maxJoinBatch {
		j.givePads(emit)
	}
}

func (j *OuterJoin) givePairs(emit Emit) {
	if j.pairs.Len() > 0 {
		emit(Delta{B: j.pairs.Build(), Stable: true})
	}
}

func (j *OuterJoin) givePads(emit Emit) {
	if j.out.Len() > 0 {
		emit(Delta{B: j.out.Build(), Stable: true})
	}
}

// Advance does nothing: relations do not depend on time.
func (*OuterJoin) Advance(int64, Emit) {}

// Flush does nothing: changes are given out at once.
func (*OuterJoin) Flush(Emit) {}

// Waits is false.
func (*OuterJoin) Waits() bool { return false }

const outerJoinVersion = 1

// AppendSnapshot appends both sides and the numbers of matches.
func (j *OuterJoin) AppendSnapshot(dst []byte) []byte {
	dst = append(dst, outerJoinVersion)
	dst = binary.AppendVarint(dst, j.Filtered)
	for s := range j.sides {
		dst = appendBlock(dst, j.sides[s].rows.AppendSnapshot)
		if j.counts[s] != nil {
			dst = appendBlock(dst, j.counts[s].AppendSnapshot)
		}
	}
	return dst
}

// Restore replaces both sides.
func (j *OuterJoin) Restore(b []byte) error {
	r, err := openSnapshot(b, outerJoinVersion)
	if err != nil {
		return err
	}
	j.Filtered = r.varint()
	var rows, counts [2][]byte
	for s := range j.sides {
		rows[s] = r.block()
		if j.counts[s] != nil {
			counts[s] = r.block()
		}
	}
	if err := r.end(); err != nil {
		return err
	}
	for s, name := range [2]string{"left", "right"} {
		if err := j.sides[s].rows.Restore(rows[s]); err != nil {
			return fmt.Errorf("%s side: %w", name, err)
		}
		if j.counts[s] == nil {
			continue
		}
		if err := j.counts[s].Restore(counts[s]); err != nil {
			return fmt.Errorf("matches of the %s side: %w", name, err)
		}
	}
	return nil
}

// StateBytes is the memory of both sides and of the numbers of matches.
func (j *OuterJoin) StateBytes() int64 {
	n := j.sides[0].rows.StateBytes() + j.sides[1].rows.StateBytes()
	for _, c := range j.counts {
		if c != nil {
			n += c.StateBytes()
		}
	}
	return n
}
