package difftest_test

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/difftest/tpch"
	"github.com/streamsforge/streamsforge/engine/types"
)

var (
	refreshFlag = flag.Int("tpch.refreshes", 2, "pairs of RF1 and RF2 of TestTPCH")
	scaleFlag   = flag.Int("tpch.scale", 1, "size of the data of TestTPCH; 1 is 500 orders")
)

// TestTPCH maintains the 22 queries under interleaved inserts and deletes; each equals PostgreSQL after every refresh,
// and the same flow that takes the rows in other pieces and is restored in between.
func TestTPCH(t *testing.T) {
	c := connect(t)
	ctx := context.Background()
	w := &tpchWorld{c: c, ids: map[string]int64{}, present: map[string]row{}, filled: map[int]bool{}}
	w.declare(t, ctx)
	data, rows := tpch.New(*seedFlag, *scaleFlag)
	w.take(t, ctx, rows, nil)
	if err := execute(ctx, c, "ANALYZE"); err != nil {
		t.Fatal(err)
	}
	w.compare(t, ctx, "the load")
	for n := range *refreshFlag {
		w.take(t, ctx, data.Insert(12), nil)
		w.compare(t, ctx, fmt.Sprintf("RF1 of refresh %d", n))
		gone := data.Delete(15) // of those that are there before the new ones come
		w.take(t, ctx, data.Insert(3), gone)
		w.compare(t, ctx, fmt.Sprintf("RF2 of refresh %d", n))
	}
	for i, q := range tpch.Queries {
		if !w.filled[i] {
			t.Errorf("Q%d never has a row: the data proves nothing", q.Number)
		}
	}
	t.Logf("%d queries, %d comparisons", len(w.queries), w.compared)
}

type tpchWorld struct {
	c        *pgx.Conn
	cat      catalog
	queries  []*query
	ids      map[string]int64
	present  map[string]row
	filled   map[int]bool
	lastID   int64
	compared int
}

func (w *tpchWorld) declare(t *testing.T, ctx context.Context) {
	t.Helper()
	tables := map[string]types.Schema{}
	var ddl []string
	for _, table := range tpch.Tables {
		w.cat = append(w.cat, engine.Relation{Name: table.Name, Kind: engine.Table, Schema: table.Schema, Key: table.Key})
		tables[table.Name] = table.Schema
		cols := []string{"_id bigint PRIMARY KEY"}
		for _, f := range table.Schema {
			cols = append(cols, f.Name+" "+postgresTypes[f.Kind])
		}
		ddl = append(ddl, "DROP TABLE IF EXISTS "+table.Name+" CASCADE", "CREATE UNLOGGED TABLE "+table.Name+" ("+strings.Join(cols, ", ")+")")
	}
	if err := execute(ctx, w.c, ddl...); err != nil {
		t.Fatal(err)
	}
	for _, tq := range tpch.Queries {
		q, problems := newQuery(tq.SQL, w.cat)
		if q == nil {
			t.Fatalf("Q%d: %v", tq.Number, problems)
		}
		var err error
		if q.postgres, err = translate(tq.SQL, tables); err != nil {
			t.Fatal(err)
		}
		w.queries = append(w.queries, q)
	}
}

// take gives rows that come and rows that go to both sides.
func (w *tpchWorld) take(t *testing.T, ctx context.Context, come, gone []tpch.Row) {
	t.Helper()
	s := step{}
	var b pgx.Batch
	for _, r := range gone {
		key := keyOfRow(r)
		old := w.present[key]
		delete(w.present, key)
		b.Queue("DELETE FROM "+r.Table+" WHERE _id = $1", old.id)
		old.weight = -1
		s[r.Table] = append(s[r.Table], old)
	}
	for _, r := range come {
		w.lastID++
		in := row{id: w.lastID, weight: 1, values: r.Values}
		w.present[keyOfRow(r)] = in
		args, places := []any{in.id}, []string{"$1"}
		for i, v := range r.Values {
			args, places = append(args, argument(v)), append(places, fmt.Sprintf("$%d", i+2))
		}
		b.Queue("INSERT INTO "+r.Table+" VALUES ("+strings.Join(places, ", ")+")", args...)
		s[r.Table] = append(s[r.Table], in)
	}
	if err := w.c.SendBatch(ctx, &b).Close(); err != nil {
		t.Fatal(err)
	}
	for i, q := range w.queries {
		q.push(0, w.cat, s, nil)
		q.end(0, 1)
		// The other flow takes one table after the other, each as an epoch of its own.
		for _, table := range tpch.Tables {
			q.push(1, w.cat, step{table.Name: s[table.Name]}, nil)
			q.end(1, 1)
		}
		if err := q.restart(1); err != nil {
			t.Fatalf("Q%d: restore: %v", tpch.Queries[i].Number, err)
		}
	}
}

func keyOfRow(r tpch.Row) string {
	n := 1
	if r.Table == "partsupp" || r.Table == "lineitem" {
		n = 2
	}
	key := []byte(r.Table)
	for _, v := range r.Values[:n] {
		key = appendCell(key, v)
	}
	return string(key)
}

func (w *tpchWorld) compare(t *testing.T, ctx context.Context, when string) {
	t.Helper()
	for i, q := range w.queries {
		rows, err := w.c.Query(ctx, q.postgres)
		if err != nil {
			t.Fatalf("Q%d: %v\n%s", tpch.Queries[i].Number, err, q.postgres)
		}
		want, err := readRows(rows, q.program.Output())
		if err != nil {
			t.Fatalf("Q%d: %v\n%s", tpch.Queries[i].Number, err, q.postgres)
		}
		if d := difference(q.folded[0], want, "PostgreSQL"); d != "" {
			t.Errorf("Q%d after %s:\n%s", tpch.Queries[i].Number, when, d)
		}
		if d := difference(q.folded[0], q.folded[1], "in pieces"); d != "" {
			t.Errorf("Q%d after %s:\n%s", tpch.Queries[i].Number, when, d)
		}
		for row := range want {
			w.filled[i] = w.filled[i] || strings.Trim(row, "NUL0.|") != ""
		}
		w.compared++
	}
}
