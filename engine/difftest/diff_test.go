package difftest_test

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

var (
	stepsFlag  = flag.Int("diff.steps", 5000, "query-steps of TestDifferential: a statement compared once counts one")
	seedFlag   = flag.Uint64("diff.seed", 1, "seed of the first world of TestDifferential")
	worldsFlag = flag.Int("diff.worlds", 0, "number of worlds; 0 is as many as the steps take")
	keepFlag   = flag.Bool("diff.all", false, "go on after a difference")
)

const (
	queriesOfWorld = 8
	stepsOfWorld   = 10
)

// TestDifferential holds that tables over random data equal PostgreSQL after every step, and themselves however the
// rows are cut and wherever they are restored.
func TestDifferential(t *testing.T) {
	c := connect(t)
	done, faults := 0, 0
	started, told := time.Now(), time.Now()
	for i := 0; (*worldsFlag == 0 && done < *stepsFlag) || i < *worldsFlag; i++ {
		seed := *seedFlag + uint64(i)
		n, err := runWorld(c, seed)
		done += n
		if err != nil {
			faults++
			t.Errorf("seed %d: %v\nagain with: go test ./engine/difftest -run TestDifferential -args -diff.worlds=1 -diff.seed=%d", seed, err, seed)
			if !*keepFlag || faults >= 20 {
				break
			}
		}
		if time.Since(told) > 30*time.Second {
			told = time.Now()
			t.Logf("%d query-steps in %s, last seed %d, %d differences", done, time.Since(started).Round(time.Second), seed, faults)
		}
	}
	t.Logf("%d query-steps in %s from seed %d, %d differences", done, time.Since(started).Round(time.Millisecond), *seedFlag, faults)
}

// world is a schema, its relations in PostgreSQL and the statements over them.
type world struct {
	g       *generator
	c       *pgx.Conn
	cat     catalog
	newest  *query // LATEST BY over events, which other statements read
	queries []*query
	keyed   []string // the key of "state" when it is a source, whose rows are inserts, updates and deletes by key
	marked  bool     // events carry retraction marks, and come in order of time
	now     int64
	id      int64
	present map[string][]row
}

// runWorld returns the number of comparisons.
func runWorld(c *pgx.Conn, seed uint64) (int, error) {
	w := &world{g: newGenerator(seed), c: c, present: map[string][]row{}, now: 1_000_000}
	ctx := context.Background()
	if err := w.declare(ctx); err != nil {
		return 0, err
	}
	defer func() { _ = c.DeallocateAll(ctx) }()
	for len(w.queries) < queriesOfWorld {
		if err := w.define(ctx, w.g.statement()); err != nil {
			return 0, err
		}
	}
	done := 0
	for n := range stepsOfWorld {
		s := w.step()
		if err := w.run(s); err != nil {
			return done, err
		}
		for i, got := range w.compare(ctx, s) {
			q := w.queries[i]
			if got != "" {
				return done, fmt.Errorf("step %d\n%s\n%s\n%s\n%s", n, q.sql, q.postgres, got, w.dump())
			}
			done++
		}
	}
	return done, nil
}

// declare makes the relations: a source, two tables of somebody else, and a table over the source.
func (w *world) declare(ctx context.Context) error {
	g := w.g
	w.marked = g.chance(2)
	visible := g.schema
	events := visible.Clone()
	if w.marked {
		events = append(events, types.Field{Name: types.RetractColumn, Kind: types.Bool})
	}
	w.cat = catalog{
		{Name: "events", Kind: engine.Source, Schema: events, EventTime: true, AppendOnly: true},
		{Name: "bag", Kind: engine.Table, Schema: visible},
		{Name: "state", Kind: engine.Table, Schema: visible, EventTime: true},
	}
	if g.chance(2) {
		w.keyed = pick(g, []string{"k"}, []string{"a"}, []string{"k", "a"})
		w.cat[2] = engine.Relation{Name: "state", Kind: engine.Source, Schema: visible, EventTime: true, Key: w.keyed}
	}
	ddl := []string{"DROP TABLE IF EXISTS events, bag, state CASCADE"}
	for _, r := range w.cat {
		cols := []string{"_id bigint PRIMARY KEY", "_ts bigint", "_seq bigint GENERATED ALWAYS AS (_id) STORED"}
		for _, f := range r.Schema {
			cols = append(cols, f.Name+" "+postgresTypes[f.Kind])
		}
		ddl = append(ddl, "CREATE UNLOGGED TABLE "+r.Name+" ("+strings.Join(cols, ", ")+")")
	}
	latest := "SELECT " + g.columns("r") + " FROM events AS r LATEST BY (k)"
	var problems []engine.Diagnostic
	if w.newest, problems = newQuery(latest, w.cat); w.newest == nil {
		return fmt.Errorf("%s: %v", latest, problems)
	}
	view, err := translate(latest, w.tables())
	if err != nil {
		return err
	}
	ddl = append(ddl, "CREATE VIEW newest AS "+view)
	w.cat = append(w.cat, w.newest.program.Relation("newest"))
	return execute(ctx, w.c, ddl...)
}

func (w *world) tables() map[string]types.Schema {
	out := map[string]types.Schema{}
	for _, r := range w.cat {
		out[r.Name] = r.Schema
	}
	return out
}

// define compiles a statement for both sides. What the engine does not plan is passed over.
func (w *world) define(ctx context.Context, sql string) error {
	q, problems := newQuery(sql, w.cat)
	if q == nil {
		return fmt.Errorf("%s: %v", sql, problems)
	}
	var err error
	if q.postgres, err = translate(sql, w.tables()); err != nil {
		return err
	}
	q.name = fmt.Sprintf("q%d", len(w.queries))
	if _, err := w.c.Prepare(ctx, q.name, q.postgres); err != nil {
		return fmt.Errorf("%w: %w\n%s\n%s", errSide, err, sql, q.postgres)
	}
	w.queries = append(w.queries, q)
	return nil
}

// step makes the changes of one epoch.
func (w *world) step() step {
	g, s := w.g, step{}
	for range 1 + g.IntN(8) {
		name := pick(g, "events", "events", "bag", "state")
		have := w.present[name]
		if name == "state" && w.keyed != nil {
			s[name] = append(s[name], w.change(have))
			continue
		}
		if name != "events" && len(have) > 0 && g.chance(3) {
			at := g.IntN(len(have))
			gone := have[at]
			gone.weight = -1
			w.present[name] = append(have[:at:at], have[at+1:]...)
			s[name] = append(s[name], gone)
			continue
		}
		w.id++
		w.now += int64(g.IntN(1500))
		r := row{id: w.id, ts: w.now, weight: 1}
		if !w.marked {
			r.ts -= int64(g.IntN(4000))
		}
		if name == "bag" && len(have) > 0 && g.chance(4) {
			r.values, r.ts = pick(g, have...).values, pick(g, have...).ts // a duplicate
		} else {
			for _, f := range g.schema {
				r.values = append(r.values, g.cell(f))
			}
		}
		if name == "events" && w.marked {
			r.marked = g.chance(6)
			r.values = append(r.values[:len(r.values):len(r.values)], types.BoolOf(r.marked))
		}
		w.present[name] = append(have, r)
		s[name] = append(s[name], r)
	}
	return s
}

// change makes a change of the keyed source: a row of a new or a known key, or the delete of one.
func (w *world) change(have []row) row {
	g := w.g
	w.id++
	w.now += int64(g.IntN(1500))
	r := row{id: w.id, ts: w.now - int64(g.IntN(4000)), weight: 1, marked: g.chance(4)}
	for _, f := range g.schema {
		r.values = append(r.values, g.cell(f))
	}
	key := func(r row) string {
		var b []byte
		for _, name := range w.keyed {
			i, _ := g.schema.Find(name)
			b = appendCell(b, r.values[i])
		}
		return string(b)
	}
	if len(have) > 0 && g.chance(2) {
		known := pick(g, have...)
		for _, name := range w.keyed {
			i, _ := g.schema.Find(name)
			r.values[i] = known.values[i]
		}
	}
	for i, old := range have {
		if key(old) == key(r) {
			r.replaces = old.id
			have = append(have[:i:i], have[i+1:]...)
			break
		}
	}
	if !r.marked {
		have = append(have, r)
	}
	w.present["state"] = have
	return r
}

// run gives the step to the flows: to one as one epoch, to the other in pieces, with restarts.
func (w *world) run(s step) error {
	g := w.g
	derived := func(which int, part step) map[string]*zset.Batch {
		w.newest.push(which, w.cat, part, nil)
		return map[string]*zset.Batch{"newest": w.newest.end(which, w.now)}
	}
	feed := func(which int, part step) {
		d := derived(which, part)
		for _, q := range w.queries {
			q.push(which, w.cat, part, d)
			q.end(which, w.now)
		}
	}
	feed(0, s)
	var pieces []step
	last := step{}
	for _, name := range []string{"events", "bag", "state"} {
		for _, r := range s[name] {
			last[name] = append(last[name], r)
			if g.chance(2) {
				pieces, last = append(pieces, last), step{}
			}
		}
	}
	for _, p := range append(pieces, last) {
		feed(1, p)
		if g.chance(4) {
			for _, q := range append(w.queries, w.newest) {
				if err := q.restart(1); err != nil {
					return fmt.Errorf("%s: restore: %w", q.sql, err)
				}
			}
		}
	}
	return nil
}

// compare changes the rows in PostgreSQL, asks every statement, all in one round trip, and tells the differences.
func (w *world) compare(ctx context.Context, s step) []string {
	out := make([]string, len(w.queries))
	var b pgx.Batch
	changes := 0
	for name, rows := range s {
		schema := w.cat.Relations(name)[0].Schema
		for _, r := range rows {
			if r.replaces > 0 {
				changes++
				b.Queue("DELETE FROM "+name+" WHERE _id = $1", r.replaces)
			}
			if name == "state" && r.marked {
				continue
			}
			changes++
			if r.weight < 0 {
				b.Queue("DELETE FROM "+name+" WHERE _id = $1", r.id)
				continue
			}
			args, places := []any{r.id, r.ts}, []string{"$1", "$2"}
			for i := range schema {
				args = append(args, argument(r.values[i]))
				places = append(places, fmt.Sprintf("$%d", i+3))
			}
			b.Queue("INSERT INTO "+name+" (_id, _ts, "+strings.Join(schema.Names(), ", ")+") VALUES ("+strings.Join(places, ", ")+")", args...)
		}
	}
	for _, q := range w.queries {
		b.Queue(q.name)
	}
	results := w.c.SendBatch(ctx, &b)
	defer results.Close()
	for range changes {
		if _, err := results.Exec(); err != nil {
			out[0] = err.Error()
			return out
		}
	}
	for i, q := range w.queries {
		rows, err := results.Query()
		if err != nil {
			out[i] = err.Error()
			return out
		}
		want, err := readRows(rows, q.program.Output())
		if err != nil {
			out[i] = err.Error()
			return out
		}
		out[i] = difference(q.folded[0], want, "PostgreSQL")
		if out[i] == "" {
			out[i] = difference(q.folded[0], q.folded[1], "in pieces")
		}
	}
	return out
}

// dump shows the rows that there are.
func (w *world) dump() string {
	var b strings.Builder
	for _, r := range w.cat[:3] {
		fmt.Fprintf(&b, "%s %s\n", r.Name, r.Schema)
		for _, row := range w.present[r.Name] {
			fmt.Fprintf(&b, "  @%d", row.ts)
			for _, v := range row.values {
				fmt.Fprintf(&b, " | %s", v)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}
