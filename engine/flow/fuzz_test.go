package flow_test

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/flow"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/types"
)

// snapshotQuery has every operator that keeps state and every aggregate.
func snapshotQuery() *plan.Query {
	k := &expr.Column{Index: 0, Name: "k", K: types.String}
	n := &expr.Column{Index: 1, Name: "n", K: types.Long}
	latest := &plan.LatestBy{In: scanOf(2), Keys: []int{0}, Ts: 4, Retract: 5}
	join := plan.NewJoin(latest, scanOf(0), []expr.Expr{k}, []expr.Expr{k}, nil, plan.Inner)
	var calls = drawCount()
	for _, e := range []expr.Expr{n, &expr.Column{Index: 2, Name: "x", K: types.Double}, k} {
		calls = append(calls, allAggregates(e)...)
	}
	return queryOf(plan.NewReduce(join, []expr.Expr{k, n}, calls), false)
}

// FuzzRestore: whatever the bytes are, with a right checksum or not, Restore returns an error or a state, and does
// not panic.
func FuzzRestore(f *testing.F) {
	const head = 13
	q := snapshotQuery()
	run := flow.New(q)
	row := func(k string, n, ts int64) []types.Value {
		return []types.Value{types.StringOf(k), types.LongOf(n), types.DoubleOf(1e300), types.JsonOf("[1]"), types.LongOf(ts), types.BoolOf(false)}
	}
	f.Add(run.Snapshot(nil)[head:])
	for i := range int64(6) {
		run.Push(2, batchOf(inputColumns, []event{{2, row("a", i, i), 1}, {2, row("b", i, i), 1}}))
		run.Push(0, batchOf(inputColumns, []event{{0, row("a", i, i), 1}, {0, row("b", -i, i), 1}}))
		run.Advance(i)
		run.Flush()
		f.Add(run.Snapshot(nil)[head:])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		snap := append(append([]byte(nil), run.Snapshot(nil)[:head]...), body...)
		_ = flow.New(q).Restore(snap)
		snap = binary.LittleEndian.AppendUint32(snap, crc32.Checksum(snap, crc32.MakeTable(crc32.Castagnoli)))
		_ = flow.New(q).Restore(snap)
	})
}
