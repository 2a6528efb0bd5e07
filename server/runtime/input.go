package runtime

import (
	"math"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
	"github.com/streamsforge/streamsforge/server/runtime/clock"
)

// input is one relation that a worker reads, with how far it has come.
type input struct {
	name    string
	kind    engine.InputKind
	columns types.Schema // what the flow wants

	src *source // of a source that exists, else nil
	ent *entity // of a table or pipeline
	in  clock.Input

	// at is how far the worker has taken the input: of a source the last message, of another entity the position of
	// its last delta.
	at  clock.Position
	gen uint64 // of another entity: the version that the worker has seen

	of   *types.Field // first column of the schema that from was made for
	n    int
	cols []int
}

// project picks the columns that the flow wants of a batch with the given columns, by name. A column that is not there,
// or has a kind that does not fit, is NULL: a program keeps its shape when a source changes under it.
func (in *input) project(s types.Schema, b *zset.Batch) *zset.Batch {
	if len(s) == 0 {
		return b
	}
	if in.of != &s[0] || in.n != len(s) {
		in.of, in.n, in.cols = &s[0], len(s), in.cols[:0]
		for _, want := range in.columns {
			i, ok := s.Find(want.Name)
			if !ok || !fits(s[i].Stored(), want.Stored()) {
				i = -1
			}
			in.cols = append(in.cols, i)
		}
	}
	out := &zset.Batch{N: b.N, Cols: make([]zset.Column, len(in.columns)), Weight: b.Weight}
	for c, i := range in.cols {
		want := in.columns[c].Stored()
		if i < 0 {
			out.Cols[c] = nulls(want, b.N)
			continue
		}
		out.Cols[c] = convert(&b.Cols[i], want, b.N)
	}
	return out
}

// fits reports whether values of one stored kind can be read as another.
func fits(have, want types.Kind) bool {
	long := func(k types.Kind) bool { return k == types.Long || k == types.Timestamp }
	return have == want || long(have) && (long(want) || want == types.Double) || have == types.Json && want == types.String
}

func convert(c *zset.Column, want types.Kind, n int) zset.Column {
	out := *c
	out.Kind = want
	if want == types.Double && c.Kind != types.Double {
		out.F64, out.I64 = make([]float64, n), nil
		for i, v := range c.I64[:n] {
			out.F64[i] = float64(v)
		}
	}
	return out
}

// nulls is a column without values.
func nulls(k types.Kind, n int) zset.Column {
	c := zset.Column{Kind: k, Valid: make([]uint64, (n+63)/64)}
	switch {
	case k.IsText():
		c.Offs = make([]uint32, n+1)
	case k == types.Double:
		c.F64 = make([]float64, n)
	default:
		c.I64 = make([]int64, n)
	}
	return c
}

func kindsOf(s types.Schema) []types.Kind {
	out := make([]types.Kind, len(s))
	for i := range s {
		out[i] = s[i].Stored()
	}
	return out
}

// outputSchema is the columns of a program's batches: the visible ones and, behind them, the hidden event time.
func outputSchema(p *engine.Program) types.Schema {
	out := make(types.Schema, 0, len(p.Output())+1)
	for _, f := range p.Output() {
		out = append(out, types.Field{Name: f.Name, Kind: f.Stored()})
	}
	if p.EventTime() {
		out = append(out, types.Field{Name: types.TsColumn, Kind: types.Long})
	}
	return out
}

// newestTime is the largest _ts of a batch, or 0.
func newestTime(s types.Schema, b *zset.Batch) int64 {
	c, ok := s.Find(types.TsColumn)
	if !ok || b.N == 0 || b.Cols[c].I64 == nil {
		return 0
	}
	best := int64(math.MinInt64)
	for i, v := range b.Cols[c].I64[:b.N] {
		if v > best && !b.Cols[c].IsNull(i) {
			best = v
		}
	}
	return max(best, 0)
}
