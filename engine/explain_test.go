package engine_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// TestDescribeIsStable holds the JSON and the text of an explanation, and that they are the same each time.
func TestDescribeIsStable(t *testing.T) {
	sql := "SELECT COUNT(*) AS n, symbol FROM trades WHERE qty > 1 GROUP BY symbol WINDOW TUMBLING(SIZE 1 MINUTE)"
	p := compile(t, sql, engine.PipelineMode)
	got, err := json.MarshalIndent(p.Describe(nil), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/explain.json", string(got)+"\n")
	golden(t, "testdata/explain.txt", p.Describe(nil).String())
	again, err := json.MarshalIndent(compile(t, sql, engine.PipelineMode).Describe(nil), "", " ")
	if err != nil || string(again) != string(got) {
		t.Errorf("another explanation of the same: %s, %v", again, err)
	}
}

// TestDescribeRunning holds that the operators of a running flow count their rows, and that a stopwatch gives times.
func TestDescribeRunning(t *testing.T) {
	p := compile(t, "SELECT COUNT(*) AS n, symbol FROM trades WHERE qty > 1 GROUP BY symbol", engine.TableMode)
	f := p.NewFlow()
	now := int64(0)
	f.Measure(func() int64 { now += 10; return now })
	b := zset.NewBuilder([]types.Kind{types.String, types.Long})
	for qty := range int64(5) {
		b.Text(0, []byte("AAPL"))
		b.Long(1, qty)
		b.EndRow(1)
	}
	f.Push(0, b.Build())
	f.Advance(1)
	f.Flush()
	e := p.Describe(f.Describe())
	if !e.Running || len(e.Physical) != 3 {
		t.Fatalf("%s", e)
	}
	for i, want := range []struct{ in, out int64 }{{3, 1}, {5, 3}, {5, 5}} {
		w := e.Physical[i].Work
		if w.RowsIn != want.in || w.RowsOut != want.out {
			t.Errorf("%s: in=%d out=%d, want %+v", e.Physical[i].Name, w.RowsIn, w.RowsOut, want)
		}
	}
	if top := e.Physical[0].Work; top.StateBytes == 0 || top.TimeNs == 0 || top.StateBytes != f.StateBytes() {
		t.Errorf("the grouping: %+v of %d bytes", top, f.StateBytes())
	}
}

// golden compares with a file, which -rewrite writes.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != got {
		t.Errorf("%s (%v): got\n%s", path, err, got)
	}
}
