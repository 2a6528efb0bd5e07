package flow_test

import (
	"testing"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// streams is a catalog of two sources.
type streams struct{}

func (streams) Names() []string { return []string{"a", "b"} }

func (streams) Relations(name string) []engine.Relation {
	if name != "a" && name != "b" {
		return nil
	}
	return []engine.Relation{{Name: name, Kind: engine.Source, EventTime: true, AppendOnly: true, Schema: types.Schema{
		{Name: "k", Kind: types.Long}, {Name: "v", Kind: types.Long}}}}
}

func pipelineOf(t testing.TB, sql string) *engine.Program {
	t.Helper()
	p, problems := engine.Compile(sql, streams{}, engine.PipelineMode, engine.Options{})
	if p == nil {
		t.Fatal(problems)
	}
	return p
}

// someRows makes n rows of an input, one every 10 ms from a time on.
func someRows(in engine.Input, n int, from int64) *zset.Batch {
	kinds := make([]types.Kind, len(in.Columns))
	for i, f := range in.Columns {
		kinds[i] = f.Stored()
	}
	b := zset.NewBuilder(kinds)
	for i := range n {
		for c, f := range in.Columns {
			switch f.Name {
			case types.TsColumn:
				b.Long(c, from+int64(i)*10)
			case "k":
				b.Long(c, int64(i*7919%100))
			default:
				b.Long(c, int64(i))
			}
		}
		b.EndRow(1)
	}
	return b.Build()
}

// TestTimeKeepsStateBounded: what an operator of time keeps depends on its duration, not on how long it runs.
func TestTimeKeepsStateBounded(t *testing.T) {
	for _, sql := range []string{
		"SELECT a.v, b.v AS w FROM a FULL JOIN b WITHIN 2 SECONDS ON a.k = b.k",
		"SELECT k, SUM(v) AS v FROM a GROUP BY k WINDOW HOPPING(SIZE 4 SECONDS, ADVANCE BY 1 SECOND) ALLOWED LATENESS 2 SECONDS",
		"SELECT k, SUM(v) AS v FROM a GROUP BY k WINDOW SESSION(GAP 500 MILLISECONDS)",
		"SELECT v FROM a WHERE k IN (SELECT k FROM b GROUP BY k WINDOW TUMBLING(SIZE 1 SECOND))",
	} {
		p := pipelineOf(t, sql)
		f := p.NewFlow()
		var early int64
		for epoch := range int64(60) {
			for i, in := range p.Inputs() {
				f.Push(i, someRows(in, 100, epoch*1000))
			}
			f.Advance(epoch * 1000)
			f.Flush()
			if epoch == 15 {
				early = f.StateBytes()
			}
		}
		if late := f.StateBytes(); late > early+early/4 {
			t.Errorf("%s\nkeeps %d bytes after 16 s and %d after 60 s", sql, early, late)
		}
	}
}

func benchmarkPipeline(b *testing.B, sql string) {
	p := pipelineOf(b, sql)
	const n = 1000
	f := p.NewFlow()
	rows := 0
	for b.Loop() {
		for i, in := range p.Inputs() {
			f.Push(i, someRows(in, n, int64(rows)*10))
		}
		rows += n
		f.Advance(int64(rows) * 10)
		f.Flush()
	}
	b.ReportMetric(float64(rows*len(p.Inputs()))/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(f.StateBytes()), "state-B")
}

func BenchmarkIntervalJoin(b *testing.B) {
	benchmarkPipeline(b, "SELECT a.v, b.v AS w FROM a JOIN b WITHIN 2 SECONDS ON a.k = b.k")
}

func BenchmarkHopping(b *testing.B) {
	benchmarkPipeline(b, "SELECT k, SUM(v) AS v FROM a GROUP BY k WINDOW HOPPING(SIZE 4 SECONDS, ADVANCE BY 1 SECOND)")
}

func BenchmarkTumbling(b *testing.B) {
	benchmarkPipeline(b, "SELECT k, SUM(v) AS v FROM a GROUP BY k WINDOW TUMBLING(SIZE 4 SECONDS)")
}

func BenchmarkSession(b *testing.B) {
	benchmarkPipeline(b, "SELECT k, SUM(v) AS v FROM a GROUP BY k WINDOW SESSION(GAP 500 MILLISECONDS)")
}

func BenchmarkRolling(b *testing.B) {
	benchmarkPipeline(b, "SELECT v FROM a WHERE k IN (SELECT k FROM b GROUP BY k WINDOW TUMBLING(SIZE 1 SECOND))")
}
