package plan_test

import (
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/over"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/types"
)

var trades = types.Schema{
	{Name: "symbol", Kind: types.String}, {Name: "qty", Kind: types.Long}, {Name: "price", Kind: types.Double},
	{Name: "at", Kind: types.Timestamp}, {Name: "legs", Kind: types.Json},
}

func scan() plan.Node {
	return plan.NewScan(0, "trades", "t", trades, []int{0, 1, 2, 3, 4}, true, nil)
}

func col(i int) expr.Expr {
	return &expr.Column{Index: i, Name: "t." + trades[i].Name, K: trades[i].Kind}
}

// at reads column i of a wider row.
func at(i int, k types.Kind, name string) expr.Expr { return &expr.Column{Index: i, Name: name, K: k} }

func long(v int64) expr.Expr { return &expr.Literal{V: types.LongOf(v)} }

func apply(name string, args ...expr.Expr) expr.Expr {
	f, ok := expr.Lookup(name)
	if !ok {
		panic("no function " + name)
	}
	e, err := f.Bind(args)
	if err != nil {
		panic(err)
	}
	return e
}

// nullUnless is CASE WHEN x IS NULL THEN NULL ELSE cond END.
func nullUnless(x, cond expr.Expr) expr.Expr {
	e, err := expr.BindCase([]expr.When{{Cond: apply("IS NULL", x), Then: &expr.Literal{V: types.Null(types.Bool)}}}, cond)
	if err != nil {
		panic(err)
	}
	return e
}

func count() agg.Call {
	a, _ := agg.Lookup("COUNT")
	c, _ := a.Bind(nil, true, false)
	return c
}

// numbered is the trades of each symbol with a window function called rn.
func numbered(function string) plan.Node {
	f, ok := over.Lookup(function)
	if !ok {
		panic("no window function " + function)
	}
	c, err := f.Bind(nil)
	if err != nil {
		panic(err)
	}
	return plan.NewOver(scan(), []expr.Expr{col(0)}, []agg.OrderKey{{X: col(1), Desc: true, NullsFirst: true}}, []over.Call{c}, []string{"rn"})
}

func query(root plan.Node) *plan.Query {
	return &plan.Query{Inputs: []plan.Input{{Name: "trades", Columns: trades, Ts: -1}}, Root: root}
}

func TestEachRule(t *testing.T) {
	big := apply(">", col(1), long(5))
	cases := map[string]struct {
		in   plan.Node
		want string
	}{
		"FoldConstants": {plan.NewProject(scan(), []expr.Expr{apply("+", long(1), long(2))}, []string{"three"}), `
Project 3 AS three -> Append
  Scan trades AS t [] -> Append`},
		"DropTrueFilter": {&plan.Filter{In: scan(), Pred: apply("=", long(1), long(1))}, `
Scan trades AS t [symbol, qty, price, at, legs] -> Append`},
		"MergeFilters": {&plan.Filter{In: &plan.Filter{In: scan(), Pred: big}, Pred: apply("=", col(0), col(0))}, `
Filter t.qty > 5 AND t.symbol = t.symbol -> Append
  Scan trades AS t [symbol, qty, price, at, legs] -> Append`},
		"PushFilterThroughProject": {&plan.Filter{
			In:   plan.NewProject(scan(), []expr.Expr{apply("*", col(1), col(2))}, []string{"v"}),
			Pred: apply(">", at(0, types.Double, "v"), long(5)),
		}, `
Project t.qty * t.price AS v -> Append
  Filter t.qty * t.price > 5 -> Append
    Scan trades AS t [qty, price] -> Append`},
		"PushFilterThroughUnion": {&plan.Filter{In: &plan.Union{Ins: []plan.Node{scan(), scan()}}, Pred: big}, `
Union ALL -> Append
  Filter t.qty > 5 -> Append
    Scan trades AS t [symbol, qty, price, at, legs] -> Append
  Filter t.qty > 5 -> Append
    Scan trades AS t [symbol, qty, price, at, legs] -> Append`},
		"PushFilterThroughSetOp": {&plan.Filter{In: &plan.SetOp{Left: scan(), Right: scan(), Except: true}, Pred: big}, `
Except DISTINCT -> Upsert(symbol, qty, price, at, legs)
  Filter t.qty > 5 -> Append
    Scan trades AS t [symbol, qty, price, at, legs] -> Append
  Filter t.qty > 5 -> Append
    Scan trades AS t [symbol, qty, price, at, legs] -> Append`},
		"PushFilterThroughUnnest": {&plan.Filter{
			In:   plan.NewUnnest(scan(), col(4), "l"),
			Pred: plan.And(big, apply("=", apply("->>", at(5, types.Json, "l"), &expr.Literal{V: types.StringOf("c")}), col(0))),
		}, `
Filter l ->> 'c' = t.symbol -> Append
  Unnest t.legs AS l -> Append
    Filter t.qty > 5 -> Append
      Scan trades AS t [symbol, qty, price, at, legs] -> Append`},
		"PushFilterThroughReduce": {&plan.Filter{
			In:   plan.NewReduce(scan(), []expr.Expr{col(0)}, []agg.Call{count()}),
			Pred: plan.And(apply("=", at(0, types.String, "t.symbol"), at(0, types.String, "t.symbol")), apply(">", at(1, types.Long, "COUNT(*)"), long(1))),
		}, `
Filter COUNT(*) > 1 -> Upsert(t.symbol)
  Reduce keys=[t.symbol] aggs=[COUNT(*)] -> Upsert(t.symbol)
    Filter t.symbol = t.symbol -> Append
      Scan trades AS t [symbol] -> Append`},
		"PushFilterThroughOver": {&plan.Filter{
			In:   numbered("RANK"),
			Pred: plan.And(apply("=", col(0), &expr.Literal{V: types.StringOf("A")}), apply("<", at(5, types.Long, "rn"), long(3))),
		}, `
Filter rn < 3 -> Retract
  Over RANK() PARTITION BY t.symbol ORDER BY t.qty DESC -> Retract
    Filter t.symbol = 'A' -> Append
      Scan trades AS t [symbol, qty, price, at, legs] -> Append`},
		"RowNumberToTopN": {&plan.Filter{
			In:   numbered("ROW_NUMBER"),
			Pred: plan.And(apply(">", long(3), at(5, types.Long, "rn")), apply("<>", at(5, types.Long, "rn"), long(1))),
		}, `
Filter rn <> 1 -> Upsert(symbol, rn)
  Over ROW_NUMBER() PARTITION BY t.symbol ORDER BY t.qty DESC -> Upsert(symbol, rn)
    TopN PARTITION BY t.symbol ORDER BY t.qty DESC LIMIT 2 -> Retract
      Scan trades AS t [symbol, qty, price, at, legs] -> Append`},
		"PushFilterIntoJoin": {&plan.Filter{
			In:   plan.NewJoin(scan(), scan(), []expr.Expr{col(0)}, []expr.Expr{col(0)}, nil, plan.Inner),
			Pred: plan.And(plan.And(big, apply(">", at(6, types.Long, "r.qty"), long(7))), apply("<", col(1), at(6, types.Long, "r.qty"))),
		}, `
Filter t.qty < r.qty -> Append
  Join INNER on t.symbol = t.symbol -> Append
    Filter t.qty > 5 -> Append
      Scan trades AS t [symbol, qty, price, at, legs] -> Append
    Filter r.qty > 7 -> Append
      Scan trades AS t [symbol, qty, price, at, legs] -> Append`},
		"PushFilterIntoAsofJoin": {&plan.Filter{
			In:   plan.NewAsofJoin(scan(), scan(), []expr.Expr{col(0)}, []expr.Expr{col(0)}, 3, 3, false, true),
			Pred: plan.And(big, apply(">", at(6, types.Long, "r.qty"), long(7))),
		}, `
Filter r.qty > 7 -> Retract
  AsofJoin LEFT on t.symbol = t.symbol AND at >= at -> Retract
    Filter t.qty > 5 -> Append
      Scan trades AS t [symbol, qty, price, at, legs] -> Append
    Scan trades AS t [symbol, qty, price, at, legs] -> Append`},
		"KeysFromFilter": {&plan.Filter{
			In:   plan.NewJoin(scan(), scan(), nil, nil, nil, plan.Inner),
			Pred: plan.And(apply("=", at(5, types.String, "r.symbol"), col(0)), apply("=", col(1), at(7, types.Double, "r.price"))),
		}, `
Filter t.qty = r.price -> Append
  Join INNER on t.symbol = r.symbol -> Append
    Scan trades AS t [symbol, qty, price, at, legs] -> Append
    Scan trades AS t [symbol, qty, price, at, legs] -> Append`},
		"PushResidual": {plan.NewJoin(scan(), scan(), []expr.Expr{col(0)}, []expr.Expr{col(0)},
			plan.And(big, apply(">", at(6, types.Long, "r.qty"), long(7))), plan.Left), `
Join LEFT on t.symbol = t.symbol if t.qty > 5 -> Retract
  Scan trades AS t [symbol, qty, price, at, legs] -> Append
  Filter r.qty > 7 -> Append
    Scan trades AS t [symbol, qty, price, at, legs] -> Append`},
		"DropDomain": {plan.NewJoin(
			plan.NewDomain(plan.NewProject(scan(), []expr.Expr{col(0)}, []string{"outer.t.symbol"})), scan(),
			[]expr.Expr{at(0, types.String, "outer.t.symbol")}, []expr.Expr{col(0)}, nil, plan.Inner), `
Project t.symbol AS outer.t.symbol, symbol, qty, price, at, legs -> Append
  Filter t.symbol IS NOT NULL -> Append
    Scan trades AS t [symbol, qty, price, at, legs] -> Append`},
		"FilterOutNull": {&plan.Filter{In: scan(), Pred: apply("NOT", nullUnless(col(1), big))}, `
Filter NOT t.qty IS NULL AND NOT t.qty > 5 -> Append
  Scan trades AS t [symbol, qty, price, at, legs] -> Append`},
		"MarkToSemiJoin": {&plan.Filter{
			In:   plan.NewJoin(scan(), scan(), []expr.Expr{col(0)}, []expr.Expr{col(0)}, nil, plan.Mark),
			Pred: apply("NOT", at(5, types.Bool, plan.MarkColumn)),
		}, `
Project symbol, qty, price, at, legs, FALSE AS matched -> Retract
  Join ANTI on t.symbol = t.symbol -> Retract
    Scan trades AS t [symbol, qty, price, at, legs] -> Append
    Scan trades AS t [symbol] -> Append`},
		"MergeProjects": {plan.NewProject(
			plan.NewProject(scan(), []expr.Expr{apply("*", col(1), long(2)), col(0)}, []string{"d", "s"}),
			[]expr.Expr{apply("+", at(0, types.Long, "d"), long(1))}, []string{"e"}), `
Project t.qty * 2 + 1 AS e -> Append
  Scan trades AS t [qty] -> Append`},
		"PushFilterThroughKeyed": {&plan.Filter{
			In: &plan.Keyed{In: scan(), Keys: []int{0}, Retract: -1}, Pred: apply("AND", apply("=", col(0), &expr.Literal{V: types.StringOf("A")}), apply(">", col(1), long(5))),
		}, `
Filter t.qty > 5 -> Upsert(symbol)
  Keyed key=[symbol] -> Upsert(symbol)
    Filter t.symbol = 'A' -> Append
      Scan trades AS t [symbol, qty, price, at, legs] -> Append`},
		"DropIdentityProject": {plan.NewProject(scan(), []expr.Expr{col(0)}, []string{"symbol"}), `
Scan trades AS t [symbol] -> Append`},
	}
	for _, r := range plan.Rules() {
		c, ok := cases[r.Name]
		if !ok {
			t.Errorf("rule %s has no case", r.Name)
			continue
		}
		if r.Why == "" {
			t.Errorf("rule %s does not say why it is legal", r.Name)
		}
		out, fired := plan.OptimizeTrace(query(c.in))
		if fired[r.Name] == 0 {
			t.Errorf("rule %s did not fire: %v", r.Name, fired)
		}
		if got := "\n" + strings.TrimRight(plan.Explain(out.Root), "\n"); got != c.want {
			t.Errorf("%s:%s\nwant:%s", r.Name, got, c.want)
		}
		if again := plan.Optimize(out); plan.Explain(again.Root) != plan.Explain(out.Root) {
			t.Errorf("%s: optimizing again changes\n%sto\n%s", r.Name, plan.Explain(out.Root), plan.Explain(again.Root))
		}
	}
}

// TestRulesKeepOff holds the cases in which a rewrite would change the result.
func TestRulesKeepOff(t *testing.T) {
	twice := plan.NewProject(
		plan.NewProject(scan(), []expr.Expr{apply("*", col(1), col(2))}, []string{"v"}),
		[]expr.Expr{apply("+", at(0, types.Double, "v"), at(0, types.Double, "v"))}, []string{"w"})
	iso := plan.NewProject(
		plan.NewProject(scan(), []expr.Expr{apply("TO_TIMESTAMP", col(1))}, []string{"ts"}),
		[]expr.Expr{apply("TO_STRING", at(0, types.Timestamp, "ts"))}, []string{"text"})
	global := &plan.Filter{In: plan.NewReduce(scan(), nil, []agg.Call{count()}), Pred: apply(">", at(0, types.Long, "COUNT(*)"), long(1))}
	latest := &plan.Filter{In: &plan.LatestBy{In: scan(), Keys: []int{0}, Ts: 3, Retract: -1}, Pred: apply(">", col(1), long(5))}
	for name, c := range map[string]struct {
		in   plan.Node
		rule string
	}{
		"an expression that is used twice is computed once": {twice, "MergeProjects"},
		"the text of a Timestamp column is its number":      {iso, "MergeProjects"},
		"a condition on aggregates drops no input row":      {global, "PushFilterThroughReduce"},
		"a row that LATEST BY hides stays hidden":           {latest, "PushFilterThroughProject"},
	} {
		out, fired := plan.OptimizeTrace(query(c.in))
		if fired[c.rule] > 0 {
			t.Errorf("%s: %s fired:\n%s", name, c.rule, plan.Explain(out.Root))
		}
	}
	if out := plan.Optimize(query(latest)); out.Root.Name() != "Filter" {
		t.Errorf("the filter over LATEST BY moved:\n%s", plan.Explain(out.Root))
	}
}

// TestPruneKeepsWholeRowsUnderLatestBy holds that a retraction is compared with the whole retained row.
func TestPruneKeepsWholeRowsUnderLatestBy(t *testing.T) {
	for _, appendOnly := range []bool{true, false} {
		in := plan.NewScan(0, "trades", "t", trades, []int{0, 1, 2, 3, 4}, appendOnly, nil)
		root := plan.NewProject(&plan.LatestBy{In: in, Keys: []int{0}, Ts: 3, Retract: -1}, []expr.Expr{col(1)}, []string{"qty"})
		out := plan.Optimize(query(root))
		want := "symbol, qty, at"
		if !appendOnly {
			want = "symbol, qty, price, at, legs"
		}
		if got := strings.Join(out.Inputs[0].Columns.Names(), ", "); got != want {
			t.Errorf("append-only %v reads %s, want %s", appendOnly, got, want)
		}
	}
}

// TestPruneKeepsTheEventTimeOfPipelines holds that the watermark has something to follow.
func TestPruneKeepsTheEventTimeOfPipelines(t *testing.T) {
	q := query(plan.NewProject(scan(), []expr.Expr{col(1)}, []string{"qty"}))
	q.Inputs[0].Ts = 3
	if in := plan.Optimize(q).Inputs[0]; in.Ts != -1 || len(in.Columns) != 1 {
		t.Errorf("a table reads %v with the time at %d", in.Columns, in.Ts)
	}
	q.Pipeline = true
	if in := plan.Optimize(q).Inputs[0]; in.Ts < 0 || in.Columns[in.Ts].Name != "at" {
		t.Errorf("a pipeline reads %v with the time at %d", in.Columns, in.Ts)
	}
}

func TestFormatMillis(t *testing.T) {
	for ms, want := range map[int64]string{0: "0s", 1: "1ms", 1500: "1500ms", 5000: "5s", 60_000: "1m", 90_000: "90s", 7_200_000: "2h", -500: "-500ms", -2000: "-2s"} {
		if got := plan.FormatMillis(ms); got != want {
			t.Errorf("%d: %s, want %s", ms, got, want)
		}
	}
}
