package pricing_test

import (
	"testing"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
)

func text(s string) expr.Expr { return &expr.Literal{V: types.StringOf(s)} }

func long(n int64) expr.Expr { return &expr.Literal{V: types.LongOf(n)} }

// TestPlugin: SQL-073: a registered function is one of the table; what it does wrong is NULL and counted.
func TestPlugin(t *testing.T) {
	p := expr.Plugin{Name: "TEST_SHOUT", Signature: "TEST_SHOUT(s [, n])", Doc: "For this test.", Params: []types.Kind{types.String, types.Long}, Min: 1, Result: types.String,
		Row: func(args []types.Value) types.Value {
			switch {
			case len(args) > 1 && args[1].Int() == 0:
				panic("by zero")
			case len(args) > 1 && args[1].Int() < 0:
				return types.LongOf(1)
			}
			return types.StringOf(args[0].Text() + "!")
		}}
	expr.Register(p)
	value := func(args ...expr.Expr) string {
		f, ok := expr.Lookup("test_shout")
		if !ok || !f.Plugin {
			t.Fatal("the function is not in the table")
		}
		e, err := f.Bind(args)
		if err != nil {
			t.Fatal(err)
		}
		return expr.Fold(e).String()
	}
	var faults []string
	expr.OnPluginFault(func(name string) { faults = append(faults, name) })
	t.Cleanup(func() { expr.OnPluginFault(func(string) {}) })
	for _, c := range []struct {
		args []expr.Expr
		want string
	}{
		{[]expr.Expr{text("a")}, "'a!'"}, {[]expr.Expr{text("a"), long(2)}, "'a!'"}, {[]expr.Expr{text("a"), long(0)}, "NULL"}, {[]expr.Expr{text("a"), long(-1)}, "NULL"},
		{[]expr.Expr{&expr.Literal{V: types.Null(types.Unknown)}}, "NULL"},
	} {
		if got := value(c.args...); got != c.want {
			t.Errorf("%v: %s, want %s", c.args, got, c.want)
		}
	}
	if len(faults) == 0 || faults[0] != "TEST_SHOUT" {
		t.Errorf("told of %v", faults)
	}
	for name, bad := range map[string]func(*expr.Plugin){
		"twice":       func(*expr.Plugin) {},
		"lower case":  func(p *expr.Plugin) { p.Name = "shout" },
		"built in":    func(p *expr.Plugin) { p.Name = "ABS" },
		"without row": func(p *expr.Plugin) { p.Name, p.Row = "TEST_OTHER", nil },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("it was registered")
				}
			}()
			q := p
			bad(&q)
			expr.Register(q)
		})
	}
}
