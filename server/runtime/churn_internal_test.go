package runtime

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/view"
)

var (
	churnSeeds  = flag.Uint64("churn.seeds", 2, "runs of the churn test")
	churnFirst  = flag.Uint64("churn.first", 1, "seed of the first run")
	churnRounds = flag.Int("churn.rounds", 6, "kills in each run of the churn test")
)

type pair struct {
	K int64 `json:"k"`
	V int64 `json:"v"`
}

func modulo(m int64) string {
	return fmt.Sprintf("SELECT k %% %d AS g, COUNT(*) AS n, SUM(v) AS s FROM pairs GROUP BY k %% %d", m, m)
}

// churned is what a table of the churn test must show.
type churned struct {
	mod  int64 // of a table over the source
	over []string
}

// TestDefinitionsChangeUnderKills edits, stops, starts, deletes and creates tables and tables over them, without waiting
// for anything, under load, and kills the runtime in the middle. Then every running table shows what its query means.
func TestDefinitionsChangeUnderKills(t *testing.T) {
	for i := range *churnSeeds {
		seed := *churnFirst + i
		t.Run(fmt.Sprint(seed), func(t *testing.T) { churnRuns(t, seed) })
	}
}

func churnRuns(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 11))
	w := newWorld(t, func(o *Options) { o.CheckpointEvery = 10 * time.Millisecond })
	w.source("pairs", field("k", types.Long), field("v", types.Long))
	defs := map[string]*churned{}
	var rows []pair
	change := func() {
		names := []string{"t0", "t1", "over", "both"}
		name := names[r.IntN(len(names))]
		d, sql := &churned{}, ""
		switch name {
		case "over":
			in := names[r.IntN(2)]
			d.over, sql = []string{in}, "SELECT COUNT(*) AS g, SUM(n) AS n, SUM(s) AS s FROM "+in
		case "both":
			d.over, sql = []string{"t0", "t1"}, "SELECT a.g AS g, a.n + b.n AS n, a.s + b.s AS s FROM t0 a JOIN t1 b ON a.g = b.g"
		default:
			d.mod = 1 + r.Int64N(20)
			sql = modulo(d.mod)
		}
		ctx := w.ctx()
		id, ok := w.ids[name]
		var err error
		switch k := r.IntN(10); {
		case !ok:
			def := catalog.NewTable()
			def.Name, def.SQL = name, sql
			var rec *catalog.TableRecord
			if rec, err = w.catalog.CreateTable(ctx, "", "test", def); err == nil {
				w.ids[name], defs[name] = rec.ID, d
				_, err = w.catalog.StartTable(ctx, "", rec.ID)
			}
		case k < 4:
			sn, _ := w.catalog.Snapshot("")
			rec, _ := sn.Table(id)
			def := rec.Table
			def.SQL = sql
			if _, err = w.catalog.UpdateTable(ctx, "", "test", id, def); err == nil {
				defs[name] = d
			}
		case k < 6:
			_, err = w.catalog.StopTable(ctx, "", id)
		case k < 9:
			_, err = w.catalog.StartTable(ctx, "", id)
		default:
			if err = w.catalog.DeleteTable(ctx, "", id); err == nil {
				delete(w.ids, name)
				delete(defs, name)
			}
		}
		if view.CodeOf(err) == view.Internal && err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	for round := range *churnRounds {
		var seq uint64
		for range 10 + r.IntN(30) {
			change()
			if r.IntN(2) == 0 {
				var some []any
				for range 1 + r.IntN(5) {
					p := pair{r.Int64N(1000), r.Int64N(100)}
					rows = append(rows, p)
					some = append(some, p)
				}
				seq = max(seq, w.publish("pairs", some...))
			}
			if r.IntN(8) == 0 {
				pauseABit(r)
			}
		}
		if r.IntN(4) == 0 {
			w.stop()
		} else {
			w.kill()
		}
		if r.IntN(3) == 0 {
			w.kill()
		}
		rows = append(rows, pair{1, 1})
		seq = w.publish("pairs", pair{1, 1})
		for name := range w.ids {
			w.checkChurned(round, name, defs, rows, seq)
		}
	}
}

// pauseABit lets workers get somewhere between two changes.
func pauseABit(r *rand.Rand) { <-time.After(time.Duration(r.IntN(8)) * time.Millisecond) }

func groupsOf(rows []pair, m int64) map[int64][2]int64 {
	out := map[int64][2]int64{}
	for _, p := range rows {
		x := out[p.K%m]
		out[p.K%m] = [2]int64{x[0] + 1, x[1] + p.V}
	}
	return out
}

// checkChurned compares a table with what its definition means, when all that it reads runs.
func (w *world) checkChurned(round int, name string, defs map[string]*churned, rows []pair, seq uint64) {
	w.t.Helper()
	running := func(n string) bool {
		id, ok := w.ids[n]
		if !ok {
			return false
		}
		st := w.rt.Observed("", catalog.InputTable, id)
		// A query whose input was deleted says so; that is a clear state as well.
		if st.Status == view.Failed && st.Error != "" && !refusedStart(w, id) && !strings.Contains(st.Error, "no source, table or pipeline") {
			w.t.Fatalf("round %d: %s is Failed: %s\n%s", round, n, st.Error, w.rt.env.clk)
		}
		return st.Status == view.Running
	}
	if !running(name) {
		return
	}
	d := defs[name]
	want := map[string]int64{}
	add := func(g, n, s int64) { want[fmt.Sprintf(`{"g":%d,"n":%d,"s":%d}`, g, n, s)]++ }
	switch {
	case d.mod > 0:
		for g, x := range groupsOf(rows, d.mod) {
			add(g, x[0], x[1])
		}
	default:
		for _, in := range d.over {
			if !running(in) {
				return
			}
		}
		a := groupsOf(rows, defs[d.over[0]].mod)
		if name == "over" {
			var n, s int64
			for _, x := range a {
				n, s = n+x[0], s+x[1]
			}
			add(int64(len(a)), n, s)
			break
		}
		b := groupsOf(rows, defs[d.over[1]].mod)
		for g, x := range a {
			if y, ok := b[g]; ok {
				add(g, x[0]+y[0], x[1]+y[1])
			}
		}
	}
	var got map[string]int64
	end := time.Now().Add(10 * time.Second)
	for time.Now().Before(end) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		r, err := w.rt.TableRows(ctx, "", w.ids[name], view.RowsQuery{Limit: 1 << 20, MinPositions: map[string]uint64{"pairs": seq}})
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			w.t.Fatalf("round %d: %s: %v\n%s", round, name, err, w.rt.env.clk)
		}
		got = map[string]int64{}
		for _, x := range r.Rows {
			got[string(x.Row)] += x.Weight
		}
		if maps.Equal(got, want) {
			return
		}
		pauseABit(rand.New(rand.NewPCG(1, 1)))
	}
	sn, _ := w.catalog.Snapshot("")
	for n, id := range w.ids {
		rec, _ := sn.Table(id)
		e := w.rt.env.entity(kindTable, id)
		r, _ := w.rt.env.state.load(w.ctx(), kindTable, id)
		w.t.Logf("%s %s: %+v gen %d present %v %s record %+v", n, id, w.rt.Observed("", catalog.InputTable, id), e.gen, e.present, rec.SQL, r)
	}
	w.t.Fatalf("round %d: %s shows %v, want %v\n%s", round, name, got, want, w.rt.env.clk)
}

// refusedStart says that the catalog refused the last start or edit: that is a clear state.
func refusedStart(w *world, id string) bool {
	sn, err := w.catalog.Snapshot("")
	if err != nil {
		return false
	}
	rec, ok := sn.Table(id)
	return ok && rec.Run.Refused != ""
}
