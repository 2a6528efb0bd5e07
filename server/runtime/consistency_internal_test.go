package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/server/view"
)

type transfer struct {
	Src    string `json:"src"`
	Dst    string `json:"dst"`
	Amount int64  `json:"amount"`
}

const accounts = 8

// bank is a chain whose end is zero at every moment: what leaves one account arrives at another in the same row.
func (w *world) bank() {
	w.t.Helper()
	w.source("transfers", field("src", types.String), field("dst", types.String), field("amount", types.Long))
	w.table("credits", "SELECT dst AS account, SUM(amount) AS credit FROM transfers GROUP BY dst")
	w.table("debits", "SELECT src AS account, SUM(amount) AS debit FROM transfers GROUP BY src")
	w.table("balances", "SELECT c.account, c.credit - d.debit AS balance FROM credits c JOIN debits d ON c.account = d.account")
	w.table("total", "SELECT SUM(balance) AS total, COUNT(*) AS n FROM balances")
	var all []any
	for i := range accounts {
		all = append(all, transfer{fmt.Sprint(i), fmt.Sprint((i + 1) % accounts), 1})
	}
	w.rows("total", "transfers", w.publish("transfers", all...))
}

func randomTransfers(r *rand.Rand, n int) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = transfer{fmt.Sprint(r.IntN(accounts)), fmt.Sprint(r.IntN(accounts)), r.Int64N(1000)}
	}
	return out
}

// TestTheChainNeverMixesTwoMoments publishes transfers as fast as it can, with workers that coalesce differently, and
// reads the chain all the time: every row that is ever seen of its end says zero.
func TestTheChainNeverMixesTwoMoments(t *testing.T) {
	w := newWorld(t)
	w.bank()
	env := w.rt.env
	env.clk.SetCoarse(env.entity(kindTable, w.ids["credits"]).node, 4)
	env.clk.SetCoarse(env.entity(kindTable, w.ids["debits"]).node, 16)
	ctx, stop := context.WithCancel(w.ctx())
	var wg sync.WaitGroup
	seen := map[int64]bool{}
	wg.Go(func() {
		for ctx.Err() == nil {
			r, err := w.rt.TableRows(ctx, "", w.ids["total"], view.RowsQuery{Limit: 10})
			if err != nil {
				t.Errorf("read: %v", err)
				return
			}
			for _, x := range r.Rows {
				var v struct{ Total, N int64 }
				if err := json.Unmarshal(x.Row, &v); err != nil || v.Total != 0 || v.N != accounts || x.Weight != 1 {
					t.Errorf("the end of the chain at epoch %d says %s (weight %d): two moments are mixed", *r.FrontierEpoch, x.Row, x.Weight)
					return
				}
			}
			seen[*r.FrontierEpoch] = true
		}
	})
	// A subscriber sees every delta, so every state in between too.
	sub, err := w.rt.Subscribe(ctx, "", w.ids["balances"])
	if err != nil {
		t.Fatal(err)
	}
	wg.Go(func() {
		defer sub.Close()
		sum, rows := int64(0), int64(0)
		sub.View.Each(0, 1<<30, func(rec []byte, weight int64) {
			var v struct{ Balance int64 }
			_ = json.Unmarshal(sub.View.AppendJSON(nil, rec), &v)
			sum += v.Balance * weight
			rows += weight
		})
		for {
			c, err := sub.Next(ctx)
			if err != nil {
				if !errors.Is(err, context.Canceled) {
					t.Errorf("subscriber: %v", err)
				}
				return
			}
			for i := range c.Batch.N {
				sum += c.Batch.Cols[1].I64[i] * c.Batch.W(i)
				rows += c.Batch.W(i)
			}
			if rows == accounts && sum != 0 {
				t.Errorf("balances sum up to %d at epoch %d", sum, c.Epoch)
				return
			}
		}
	})
	// Both sides of the join, read together, are of one epoch as well.
	wg.Go(func() {
		for ctx.Err() == nil {
			r, err := w.rt.RowsAtEpoch(ctx, "", []string{w.ids["credits"], w.ids["debits"]}, 100)
			if err != nil {
				if ctx.Err() == nil {
					t.Errorf("read at one epoch: %v", err)
				}
				return
			}
			if len(r.Excluded) > 0 {
				t.Errorf("left out: %v", r.Excluded)
				return
			}
			sum := int64(0)
			for _, x := range r.Tables["credits"] {
				var v struct{ Credit int64 }
				_ = json.Unmarshal(x.Row, &v)
				sum += v.Credit
			}
			for _, x := range r.Tables["debits"] {
				var v struct{ Debit int64 }
				_ = json.Unmarshal(x.Row, &v)
				sum -= v.Debit
			}
			if sum != 0 {
				t.Errorf("credits minus debits is %d at epoch %d", sum, r.Epoch)
				return
			}
		}
	})
	r := rand.New(rand.NewPCG(1, 2))
	var last uint64
	for end := env.clk.Head().Epoch + 400; env.clk.Head().Epoch < end; {
		last = w.publish("transfers", randomTransfers(r, 1+r.IntN(20))...)
	}
	// Coarse workers rest between their borders; let them come to the end.
	env.clk.SetCoarse(env.entity(kindTable, w.ids["credits"]).node, 0)
	env.clk.SetCoarse(env.entity(kindTable, w.ids["debits"]).node, 0)
	same(t, "the end", w.rows("total", "transfers", last), map[string]int64{fmt.Sprintf(`{"total":0,"n":%d}`, accounts): 1})
	stop()
	wg.Wait()
	if len(seen) < 5 {
		t.Fatalf("only %d epochs were observed", len(seen))
	}
}
