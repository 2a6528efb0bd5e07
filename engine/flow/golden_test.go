package flow_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"hash/crc32"
	"os"
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/flow"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/types"
)

var update = flag.Bool("update", false, "write the golden snapshots")

// goldenRun feeds a table query and a windowed pipeline with fixed rows.
func goldenRun(q *plan.Query) *flow.Flow {
	f := flow.New(q)
	for i := range int64(40) {
		row := []types.Value{
			types.StringOf([]string{"a", "b", "ccc"}[i%3]), types.LongOf(i * i), types.DoubleOf(float64(i) / 10),
			types.JsonOf("[1,2]"), types.LongOf(1000 * i), types.BoolOf(i == 7),
		}
		if i%5 == 0 {
			row[1], row[2] = types.Null(types.Long), types.DoubleOf(1e300)
		}
		f.Push(0, batchOf(inputColumns, []event{{0, row, 1}}))
		f.Push(2, batchOf(inputColumns, []event{{2, row, 1}}))
		if i%4 == 3 {
			f.Push(2, batchOf(inputColumns, []event{{2, row, -1}}))
		}
		f.Advance(1000 * i)
		f.Flush()
	}
	return f
}

func goldenWindow() *plan.Query {
	k := &expr.Column{Index: 0, Name: "k", K: types.String}
	calls := append(drawCount(), allAggregates(&expr.Column{Index: 2, Name: "x", K: types.Double})...)
	calls = append(calls, allAggregates(k)...)
	w := plan.NewWindow(&plan.Filter{In: scanOf(0), Pred: call(">", &expr.Column{Index: 1, Name: "n", K: types.Long}, long(3))}, 4, 7000,
		[]expr.Expr{k}, calls)
	return queryOf(w, true)
}

// TestGoldenSnapshots: what an older program wrote must be read, and this one writes the same. The fingerprint is
// that of the present plan, because the printed form of a plan is no stored format.
func TestGoldenSnapshots(t *testing.T) {
	for name, q := range map[string]*plan.Query{"table-v1": snapshotQuery(), "window-v1": goldenWindow()} {
		t.Run(name, func(t *testing.T) {
			file := "testdata/" + name + ".hex"
			now := goldenRun(q).Snapshot(nil)
			if *update {
				if err := os.WriteFile(file, []byte(hexLines(now)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			old, err := hex.DecodeString(strings.ReplaceAll(string(text), "\n", ""))
			if err != nil {
				t.Fatal(err)
			}
			copy(old[5:13], now[5:13])
			end := len(old) - 4
			binary.LittleEndian.PutUint32(old[end:], crc32.Checksum(old[:end], crc32.MakeTable(crc32.Castagnoli)))
			f := flow.New(q)
			if err := f.Restore(old); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(f.Snapshot(nil), old) {
				t.Error("the restored state is written in another way")
			}
			if !bytes.Equal(now, old) {
				t.Error("the same rows give another snapshot than before; a change of the format needs a new version")
			}
		})
	}
}

func hexLines(b []byte) string {
	text := hex.EncodeToString(b)
	var out strings.Builder
	for len(text) > 120 {
		out.WriteString(text[:120] + "\n")
		text = text[120:]
	}
	return out.String() + text + "\n"
}
