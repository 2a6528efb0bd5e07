package difftest_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// bank is a chain of tables over transfers that are amended and taken back. Money neither comes nor goes: the total of
// all balances is zero at every epoch that anybody can see.
var bank = []struct{ name, sql string }{
	{"live", "SELECT id, payer, payee, amount FROM transfers LATEST BY (id)"},
	{"credits", "SELECT payee AS account, SUM(amount) AS credit FROM live GROUP BY payee"},
	{"debits", "SELECT payer AS account, SUM(amount) AS debit FROM live GROUP BY payer"},
	{"balance", "SELECT COALESCE(c.account, d.account) AS account, COALESCE(c.credit, 0) - COALESCE(d.debit, 0) AS balance FROM credits AS c FULL JOIN debits AS d ON c.account = d.account"},
	{"total", "SELECT SUM(balance) AS total, COUNT(*) AS accounts FROM balance"},
	{"direct", "SELECT SUM(u.amount) AS total FROM (SELECT payee AS account, amount FROM live UNION ALL SELECT payer, -amount FROM live) AS u"},
}

// TestInternalConsistency holds that the total is zero after every epoch, with disorder, amendments, deletions,
// restarts and in partitions (TBL-020), and that the end does not depend on how the transfers were cut into epochs.
func TestInternalConsistency(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			g := rand.New(rand.NewPCG(seed, 5))
			rows := transfers(g, 400)
			var ends []string
			for _, epoch := range []int{1, 7, 64, len(rows)} {
				ends = append(ends, runBank(t, rows, epoch, 1, g), runBank(t, rows, epoch, 2+g.IntN(15), g))
			}
			for _, e := range ends[1:] {
				if e != ends[0] {
					t.Fatalf("the balances depend on the epochs:\n%s\n%s", ends[0], e)
				}
			}
		})
	}
}

// transfers come in disorder; one in three amends an earlier one, one in ten takes it back.
func transfers(g *rand.Rand, n int) []row {
	out := make([]row, n)
	for i := range out {
		ts := int64(1000*i) - g.Int64N(5000)
		id := int64(i)
		marked := false
		if i > 0 && g.IntN(3) == 0 {
			id = g.Int64N(int64(i))
			marked = g.IntN(3) == 0
		}
		out[i] = row{ts: ts, weight: 1, marked: marked, values: []types.Value{types.LongOf(id), types.LongOf(g.Int64N(10)), types.LongOf(g.Int64N(10)),
			types.LongOf(g.Int64N(1000)), types.BoolOf(marked)}}
	}
	return out
}

func runBank(t *testing.T, rows []row, epoch, partitions int, g *rand.Rand) string {
	t.Helper()
	cat := catalog{{Name: "transfers", Kind: engine.Source, EventTime: true, AppendOnly: true, Schema: types.Schema{{Name: "id", Kind: types.Long},
		{Name: "payer", Kind: types.Long}, {Name: "payee", Kind: types.Long}, {Name: "amount", Kind: types.Long}, {Name: types.RetractColumn, Kind: types.Bool}}}}
	var tables []*query
	for _, b := range bank {
		q, problems := newQuery(b.sql, cat)
		if q == nil {
			t.Fatalf("%s: %v", b.name, problems)
		}
		q.name, q.parts[0] = b.name, partitions
		q.flows[0] = q.start(0)
		tables = append(tables, q)
		cat = append(cat, q.program.Relation(b.name))
	}
	for from := 0; from < len(rows); from += epoch {
		part := step{"transfers": rows[from:min(from+epoch, len(rows))]}
		derived := map[string]*zset.Batch{}
		for _, q := range tables {
			q.push(0, cat, part, derived)
			if d := q.end(0, int64(from)); d != nil {
				derived[q.name] = d
			}
			if g.IntN(8) == 0 {
				if err := q.restart(0); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, q := range tables[4:] {
			for total := range q.folded[0] {
				if total[:2] != "0|" {
					t.Fatalf("after row %d of epochs of %d, %s is %s", from, epoch, q.name, total)
				}
			}
			if len(q.folded[0]) > 1 {
				t.Fatalf("after row %d, %s has %d rows", from, q.name, len(q.folded[0]))
			}
		}
	}
	return fmt.Sprint(tables[3].folded[0])
}
