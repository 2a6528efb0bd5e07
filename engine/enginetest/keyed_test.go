package enginetest_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/enginetest"
	"github.com/streamsforge/streamsforge/engine/types"
)

// TestKeyedSourcesAreTheirLastRows: LIM-003: after any sequence of upserts and deletes of two keyed sources, a random
// statement has the rows that it has over the last row of each key alone. Meanwhile it agrees with the reference after
// every step, and with itself however the rows are cut.
func TestKeyedSourcesAreTheirLastRows(t *testing.T) {
	n := *rounds
	if testing.Short() {
		n = min(n, 100)
	}
	held := 0
	for i := range n {
		s := *seed + uint64(i)
		rows, ok := lastRows(t, s)
		if !ok {
			t.Logf("again with -run TestKeyedSourcesAreTheirLastRows -args -seed=%d -rounds=1", s)
			return
		}
		held += rows
	}
	if held < n {
		t.Errorf("%d rows in the results of %d statements: the test is too tame", held, n)
	}
}

// lastRows runs the statement of a seed and returns how many rows it has in the end.
func lastRows(t *testing.T, s uint64) (int, bool) {
	g := &generator{Rand: rand.New(rand.NewPCG(s, 13)), tables: true}
	sql := g.statement(engine.TableMode)
	world := append([]engine.Relation(nil), relations...)
	for i := range world {
		if world[i].Kind == engine.Source {
			world[i].AppendOnly, world[i].Key = false, pick(g, []string{"k"}, []string{"a"}, []string{"k", "f"}, []string{"x"})
		}
	}
	if _, by, ok := strings.Cut(sql, " LATEST BY ("); ok {
		// By other columns than the key it depends on how changes are put together: it keeps no older rows.
		world[0].Key = []string{by[:1]}
	}
	steps := g.steps(2 + g.IntN(5))
	for _, rows := range steps {
		for i := range rows {
			if rows[i].Relation == "events" || rows[i].Relation == "others" {
				rows[i].Retract = g.IntN(4) == 0
			}
		}
	}
	run := func(v enginetest.Variant, steps ...[]enginetest.Event) []enginetest.Row {
		w := enginetest.NewWorld(v)
		for _, r := range world {
			w.Declare(r)
		}
		p, problems := w.Define("q", sql, engine.TableMode, engine.Options{})
		if p == nil {
			t.Errorf("seed %d: %s\ndoes not compile: %v", s, sql, problems)
			return nil
		}
		for _, rows := range steps {
			if err := w.Step(append([]enginetest.Event(nil), rows...)); err != nil {
				t.Errorf("seed %d, %s: %s\n%v\n%s", s, v, sql, err, describe(steps))
				return nil
			}
		}
		have, err := w.Rows("q")
		if err != nil {
			t.Errorf("seed %d, %s: %s\n%v", s, v, sql, err)
		}
		return have
	}
	want := run(enginetest.AsWritten, steps...)
	for _, v := range enginetest.Variants() {
		if diff := enginetest.Difference(want, run(v, steps...)); diff != "" {
			t.Errorf("seed %d, %s: %s\nthe reference is the run as written\n%s\n%s", s, v, sql, diff, describe(steps))
		}
	}
	if diff := enginetest.Difference(run(enginetest.AsWritten, newestRows(world, steps)), want); diff != "" {
		t.Errorf("seed %d: %s\nthe reference has the last row of each key only\n%s\n%s", s, sql, diff, describe(steps))
	}
	return len(want), !t.Failed()
}

// newestRows leaves the changes out that a later one of the same key overtakes, and the deletes.
func newestRows(world []engine.Relation, steps [][]enginetest.Event) []enginetest.Event {
	keys := map[string][]string{}
	for _, r := range world {
		keys[r.Name] = r.Key
	}
	var out []enginetest.Event
	seen := map[string]bool{}
	for i := len(steps) - 1; i >= 0; i-- {
		for j := len(steps[i]) - 1; j >= 0; j-- {
			e := steps[i][j]
			if len(keys[e.Relation]) > 0 {
				name := e.Relation
				for _, k := range keys[e.Relation] {
					c, _ := columns.Find(k)
					name += fmt.Sprintf("|%v %s", e.Values[c].IsNull(), printed(e.Values[c]))
				}
				if seen[name] {
					continue
				}
				if seen[name] = true; e.Retract {
					continue
				}
			}
			out = append([]enginetest.Event{e}, out...)
		}
	}
	return out
}

func printed(v types.Value) string {
	return enginetest.FormatRow(nil, enginetest.Row{Values: []types.Value{v}})
}
