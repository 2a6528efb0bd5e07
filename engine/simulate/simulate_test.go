package simulate_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/streamsforge/streamsforge/engine/changelog"
	"github.com/streamsforge/streamsforge/engine/project"
	"github.com/streamsforge/streamsforge/engine/simulate"
	"github.com/streamsforge/streamsforge/engine/types"
)

func checked(t testing.TB) *project.Checked {
	t.Helper()
	fields := types.Schema{{Name: "k", Kind: types.String}, {Name: "v", Kind: types.Long}}
	model := func(name, materialized, sql string, key ...string) project.Model {
		return project.Model{Name: name, Materialized: materialized, SQL: sql, Key: key}
	}
	c, found := project.Check(project.Project{
		Sources: []project.Source{{Name: "facts", Fields: fields}, {Name: "state", Fields: fields, Key: []string{"k"}}},
		Models: []project.Model{
			model("big", "upsert", "SELECT k, total FROM ref('totals') WHERE total > 3", "k"),
			model("levels", "upsert", "SELECT total, COUNT(*) AS n, SUM(total) AS sum FROM ref('totals') GROUP BY total", "total"),
			model("totals", "upsert", "SELECT k, SUM(v) AS total FROM facts GROUP BY k", "k"),
			model("all", "upsert", "SELECT COUNT(*) AS n, SUM(v) AS sum FROM state"),
			model("joined", "retract", "SELECT f.v, s.v AS w FROM facts AS f LEFT JOIN state AS s ON s.k = f.k"),
			model("newest", "upsert", "SELECT k, v FROM facts", "k"),
			model("values", "upsert", "SELECT v, COUNT(*) AS n FROM ref('newest') GROUP BY v", "v"),
			model("volumes", "append", "SELECT k, SUM(v) AS v FROM facts GROUP BY k WINDOW TUMBLING(SIZE 4 MILLISECONDS)"),
			model("up", "append", "SELECT k, v FROM facts WHERE v > 0"),
			model("up_volumes", "append", "SELECT k, SUM(v) AS v FROM ref('up') GROUP BY k WINDOW TUMBLING(SIZE 4 MILLISECONDS)"),
			model("wide_volumes", "append", "SELECT k, SUM(v) AS v FROM ref('up_volumes') GROUP BY k WINDOW TUMBLING(SIZE 8 MILLISECONDS)"),
			model("last_volume", "upsert", "SELECT k, v, window_start FROM ref('volumes')", "k"),
		},
	})
	if project.HasErrors(found) {
		t.Fatal(found)
	}
	return c
}

func row(source, k string, v, ts int64, more string) simulate.Row {
	return simulate.Row{Source: source, Object: simulate.Object{
		JSON:  fmt.Appendf(nil, `{"k":%q,"v":%d,"_ts":%d%s}`, k, v, ts, more),
		Names: []string{"k", "v", "_ts"},
	}}
}

// TestHowRowsAreCutDoesNotShow runs random fixtures in all variants, and holds the models against what maps say.
func TestHowRowsAreCutDoesNotShow(t *testing.T) {
	c := checked(t)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 24).Draw(t, "rows")
		times := rapid.Permutation(slices.Collect(func(yield func(int64) bool) {
			for i := range int64(n) {
				if !yield(1000 + i) {
					return
				}
			}
		})).Draw(t, "times")
		f := simulate.Fixture{Name: "random", Steps: []simulate.Step{{}}}
		totals, state := map[string]int64{}, map[string]int64{}
		newest, newestAt := map[string]int64{}, map[string]int64{}
		for i := range n {
			k := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "k")
			v := rapid.Int64Range(-2, 4).Draw(t, "v")
			step := &f.Steps[len(f.Steps)-1]
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				step.Rows = append(step.Rows, row("state", k, v, times[i], ""))
				state[k] = v
			case 1:
				more := rapid.SampledFrom([]string{`,"_op":"d"`, `,"_op":"delete"`, `,"_retract":true`}).Draw(t, "gone")
				step.Rows = append(step.Rows, row("state", k, v, times[i], more))
				delete(state, k)
			default:
				step.Rows = append(step.Rows, row("facts", k, v, times[i], ""))
				totals[k] += v
				if times[i] > newestAt[k] {
					newest[k], newestAt[k] = v, times[i]
				}
			}
			if rapid.IntRange(0, 4).Draw(t, "cut") == 0 {
				step.Together = rapid.Bool().Draw(t, "together")
				step.Restart = rapid.Bool().Draw(t, "restart")
				step.AdvanceMs = rapid.SampledFrom([]int64{0, 0, 3, 20_000}).Draw(t, "advance")
				f.Steps = append(f.Steps, simulate.Step{})
			}
		}
		rows := map[string]*[]simulate.Want{}
		for _, name := range []string{"totals", "big", "levels", "all", "newest", "values"} {
			rows[name] = &[]simulate.Want{}
		}
		want := func(model string, names []string, format string, args ...any) {
			*rows[model] = append(*rows[model], simulate.Want{Object: simulate.Object{JSON: fmt.Appendf(nil, format, args...), Names: names}})
		}
		levels, values := map[int64][2]int64{}, map[int64]int64{}
		for k, total := range totals {
			want("totals", []string{"k", "total"}, `{"k":%q,"total":%d}`, k, total)
			if total > 3 {
				want("big", []string{"k", "total"}, `{"k":%q,"total":%d}`, k, total)
			}
			levels[total] = [2]int64{levels[total][0] + 1, levels[total][1] + total}
		}
		for total, l := range levels {
			want("levels", []string{"total", "n", "sum"}, `{"total":%d,"n":%d,"sum":%d}`, total, l[0], l[1])
		}
		for k, v := range newest {
			want("newest", []string{"k", "v"}, `{"k":%q,"v":%d}`, k, v)
			values[v]++
		}
		for v, n := range values {
			want("values", []string{"v", "n"}, `{"v":%d,"n":%d}`, v, n)
		}
		sum := int64(0)
		for v := range maps.Values(state) {
			sum += v
		}
		if len(state) > 0 { // the one row of a global aggregate is there while it counts something
			want("all", []string{"n", "sum"}, `{"n":%d,"sum":%d}`, len(state), sum)
		}
		for name, list := range rows {
			f.Expect = append(f.Expect, simulate.Expect{Model: name, Rows: list})
		}
		trace, problems := simulate.Run(c, f, simulate.AsWritten)
		problems = append(problems, simulate.Verify(c, f, trace)...)
		for _, p := range problems {
			t.Error(p)
		}
		for _, m := range trace.Models {
			keyed := c.Model(m.Model).Effective.Key != nil
			for _, s := range m.Steps {
				for _, r := range s.Records {
					if r.Op == changelog.Update && !keyed || keyed && r.Count != 1 {
						t.Errorf("%s: %s", m.Model, r.Format(m.Columns))
					}
				}
			}
		}
	})
}
