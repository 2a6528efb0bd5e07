package flow_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/flow"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// relations is a catalog of a few relations.
type relations []engine.Relation

func (r relations) Relations(name string) (out []engine.Relation) {
	for _, x := range r {
		if x.Name == name {
			out = append(out, x)
		}
	}
	return out
}

func (r relations) Names() (out []string) {
	for _, x := range r {
		out = append(out, x.Name)
	}
	return out
}

func updating(name string) engine.Relation {
	return engine.Relation{Name: name, Kind: engine.Table, Schema: types.Schema{
		{Name: "k", Kind: types.String}, {Name: "g", Kind: types.Long}, {Name: "v", Kind: types.Double},
	}}
}

var partitionedQueries = []string{
	"SELECT k, SUM(v) AS s, COUNT(*) AS n, MAX(g) AS m FROM a GROUP BY k",
	"SELECT SUM(v) AS s, COUNT(*) AS n FROM a",
	"SELECT a.k, a.v, b.v AS w FROM a JOIN b ON a.k = b.k",
	"SELECT a.k, a.v, b.v AS w FROM a LEFT JOIN b ON a.k = b.k AND a.g = b.g",
	"SELECT a.k, b.v AS w FROM a FULL JOIN b ON a.g = b.g AND a.v < b.v",
	"SELECT a.k, b.k AS o FROM a RIGHT JOIN b ON a.v < b.v",
	"SELECT a.k, b.k AS o FROM a CROSS JOIN b",
	"SELECT a.k, b.k AS o FROM a FULL JOIN b ON a.v < b.v",
	"SELECT k, v FROM a WHERE v > (SELECT AVG(v) FROM b)",
	"SELECT k, v FROM a WHERE k NOT IN (SELECT k FROM b)",
	"SELECT k, v FROM a WHERE EXISTS (SELECT 1 AS one FROM b WHERE b.k = a.k AND b.g > a.g)",
	"SELECT k, g FROM a UNION SELECT k, g FROM b",
	"SELECT k, g FROM a UNION ALL SELECT k, n FROM (SELECT k, COUNT(*) AS n FROM b GROUP BY k) c",
	"SELECT k, g FROM a EXCEPT ALL SELECT k, g FROM b",
	"SELECT DISTINCT g, v FROM a",
	"SELECT k, v FROM a ORDER BY v DESC, k LIMIT 3",
	"SELECT k, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS n, SUM(v) OVER (ORDER BY g) AS s FROM a",
	"SELECT x.k, x.s, y.n FROM (SELECT k, SUM(v) AS s FROM a GROUP BY k) x JOIN (SELECT k, g, COUNT(*) AS n FROM b GROUP BY k, g) y ON x.k = y.k",
	"SELECT g, MAX(s) AS m FROM (SELECT k, g, SUM(v) AS s FROM a GROUP BY k, g) x GROUP BY g",
	"WITH RECURSIVE r AS (SELECT g FROM a WHERE g = 1 UNION SELECT b.g FROM r JOIN b ON b.g = r.g + 1) SELECT g FROM r",
}

// goroutines runs every task on a goroutine of its own.
func goroutines(_ int, tasks []func()) {
	var wait sync.WaitGroup
	for _, t := range tasks {
		wait.Go(t)
	}
	wait.Wait()
}

// TestPartitionedEqualsFlow holds that in any number of partitions, on goroutines or not, every flush gives the bytes
// that a flow gives: under updates, retractions that come before their assertions, NULL keys, several epochs a commit,
// and restarts. TBL-020, TBL-021.
func TestPartitionedEqualsFlow(t *testing.T) {
	cat := relations{updating("a"), updating("b")}
	for i, sql := range partitionedQueries {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			p, problems := engine.Compile(sql, cat, engine.TableMode, engine.Options{})
			if p == nil {
				t.Fatalf("%s: %v", sql, problems)
			}
			for seed := range uint64(4) {
				partitionedRun(t, p, rand.New(rand.NewPCG(seed, uint64(i))))
			}
		})
	}
}

func partitionedRun(t *testing.T, p *engine.Program, r *rand.Rand) {
	t.Helper()
	one := p.NewFlow()
	n := 2 + r.IntN(15)
	many, err := p.NewPartitioned(n, flow.Sequential)
	if err != nil {
		t.Fatal(err)
	}
	spread, err := p.NewPartitioned(n, goroutines)
	if err != nil {
		t.Fatal(err)
	}
	flows := []flow.Runner{one, many, spread}
	for epoch := range int64(12) {
		for range r.IntN(4) {
			input, width := r.IntN(len(p.Inputs())), r.IntN(30)
			b := randomRows(r, p.Inputs()[input].Columns, width)
			for _, f := range flows {
				f.Push(input, b)
			}
		}
		for _, f := range flows {
			f.Advance(epoch)
		}
		if r.IntN(3) == 0 {
			continue // the next epoch belongs to the same commit
		}
		want := one.Flush()
		for _, f := range flows[1:] {
			if got := f.Flush(); !sameBatch(got.Delta, want.Delta) {
				t.Fatalf("%s in %d partitions gives\n%v, a flow gives\n%v", p.SQL(), n, boxed(got.Delta), boxed(want.Delta))
			}
		}
		snapshot := many.Snapshot(nil)
		if other := spread.Snapshot(nil); !bytes.Equal(snapshot, other) {
			t.Fatalf("%s: the snapshots of two executors differ", p.SQL())
		}
		if r.IntN(3) == 0 {
			again, err := p.NewPartitioned(n, flow.Sequential)
			if err != nil {
				t.Fatal(err)
			}
			if err := again.Restore(snapshot); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(again.Snapshot(nil), snapshot) {
				t.Fatalf("%s: the restored state has another snapshot", p.SQL())
			}
			many, flows[1] = again, again
		}
	}
	for _, f := range flows {
		f.Flush()
	}
	a, b := one.Counters(), many.Counters()
	// How many pairs a condition beside the keys drops depends on the order in which the two sides come.
	pairs := strings.Contains(p.SQL(), "a.v < b.v") || strings.Contains(p.SQL(), "EXISTS")
	if a.Filtered != b.Filtered && !pairs || a.Ignored != b.Ignored || fmt.Sprint(a.RowsIn) != fmt.Sprint(b.RowsIn) {
		t.Errorf("%s: counters %+v in partitions, %+v in a flow", p.SQL(), b, a)
	}
}

func sameBatch(a, b *zset.Batch) bool {
	if a == nil || b == nil {
		return a == b
	}
	return fmt.Sprint(boxed(a)) == fmt.Sprint(boxed(b)) && zset.IsConsolidated(a)
}

func boxed(b *zset.Batch) (out []string) {
	if b == nil {
		return nil
	}
	for i := range b.N {
		out = append(out, fmt.Sprint(b.W(i), b.Row(i)))
	}
	return out
}

func randomRows(r *rand.Rand, columns types.Schema, n int) *zset.Batch {
	kinds := make([]types.Kind, len(columns))
	for i, c := range columns {
		kinds[i] = c.Stored()
	}
	b := zset.NewBuilder(kinds)
	for range n {
		for c, k := range kinds {
			switch {
			case r.IntN(8) == 0:
				b.Null(c)
			case k == types.String:
				b.Text(c, []byte{'a' + byte(r.IntN(5))})
			case k == types.Double:
				b.Double(c, float64(r.IntN(6))/2)
			default:
				b.Long(c, int64(r.IntN(4)))
			}
		}
		b.EndRow([]int64{1, 1, 1, -1, 2, -2}[r.IntN(6)])
	}
	return b.Build()
}

// TestPartitionedRefusesOtherSnapshots holds that the state of another number of partitions is refused by name.
func TestPartitionedRefusesOtherSnapshots(t *testing.T) {
	p, problems := engine.Compile(partitionedQueries[0], relations{updating("a")}, engine.TableMode, engine.Options{})
	if p == nil {
		t.Fatal(problems)
	}
	in := func(n int) *flow.Partitioned {
		f, err := p.NewPartitioned(n, flow.Sequential)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	if err := in(3).Restore(in(4).Snapshot(nil)); !errors.Is(err, flow.ErrOtherPartitions) || !errors.Is(err, flow.ErrOtherPlan) {
		t.Errorf("four partitions into three: %v", err)
	}
	if err := in(3).Restore(p.NewFlow().Snapshot(nil)); !errors.Is(err, flow.ErrOtherPartitions) {
		t.Errorf("a flow into three partitions: %v", err)
	}
	if err := p.NewFlow().Restore(in(3).Snapshot(nil)); !errors.Is(err, flow.ErrSnapshot) {
		t.Errorf("three partitions into a flow: %v", err)
	}
	whole := in(3).Snapshot(nil)
	for i := range whole {
		if err := in(3).Restore(whole[:i]); err == nil {
			t.Fatalf("the first %d of %d bytes are accepted", i, len(whole))
		}
	}
	for _, n := range []int{0, 1, 17} {
		if _, err := p.NewPartitioned(n, flow.Sequential); !errors.Is(err, plan.ErrPartitions) {
			t.Errorf("%d partitions: %v", n, err)
		}
	}
}

// TestPartitionedDescribes: the operators of all partitions add up to what one flow has done, with exchanges between
// the stages.
func TestPartitionedDescribes(t *testing.T) {
	p, problems := engine.Compile("SELECT k, SUM(g) AS total FROM a WHERE g > 0 GROUP BY k", relations{updating("a")}, engine.TableMode, engine.Options{})
	if p == nil {
		t.Fatal(problems)
	}
	one := p.NewFlow()
	many, err := p.NewPartitioned(3, flow.Sequential)
	if err != nil {
		t.Fatal(err)
	}
	ns := int64(0)
	for _, f := range []flow.Runner{one, many} {
		f.Measure(func() int64 { ns += 1000; return ns })
		for i := range 200 {
			b := zset.NewBuilder([]types.Kind{types.String, types.Long})
			b.Text(0, fmt.Appendf(nil, "k%d", i%7))
			b.Long(1, int64(i%5))
			b.EndRow(1)
			f.Push(0, b.Build())
			f.Advance(int64(i))
			f.Flush()
		}
	}
	of := func(d plan.Description, name string) plan.Operator {
		for _, o := range d {
			if strings.Contains(o.Name, name) {
				return o
			}
		}
		t.Fatalf("no %s in\n%s", name, d)
		return plan.Operator{}
	}
	a, b := of(one.Describe(), "Reduce"), of(many.Describe(), "Reduce")
	if a.Work.RowsIn != 160 || b.Work.RowsIn != a.Work.RowsIn || b.Work.RowsOut != a.Work.RowsOut || b.Work.TimeNs == 0 || b.Variant == a.Variant {
		t.Errorf("one flow %+v {%s}, three partitions %+v {%s}", a.Work, a.Variant, b.Work, b.Variant)
	}
	if x := of(many.Describe(), "Exchange"); x.Detail != "HashPartition by (a.k)" || len(x.Inputs) != 1 || x.Work.RowsOut != 160 {
		t.Errorf("exchange %+v, %+v", x, x.Work)
	}
	if got := many.Describe().String(); !strings.Contains(got, "3 partitions") {
		t.Errorf("described as\n%s", got)
	}
}
