package analyze

import (
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// binary binds an operator. A Timestamp plus or minus an INTERVAL goes by the calendar and stays a Timestamp.
func (b *binder) binary(e *syntax.Binary) (expr.Expr, bool) {
	if e.Op != "+" && e.Op != "-" {
		return b.apply(e, e.Op, e.L, e.R)
	}
	args, ok := b.bindAll([]syntax.Expr{e.L, e.R})
	if !ok {
		return nil, false
	}
	l, r := args[0], args[1]
	if text, is := expr.IsInterval(r); is && l.Kind() == types.Timestamp {
		name := map[string]string{"+": "DATE_ADD", "-": "DATE_SUB"}[e.Op]
		return b.make(e, name, nil, []expr.Expr{l, text})
	}
	if text, is := expr.IsInterval(l); is && r.Kind() == types.Timestamp && e.Op == "+" {
		return b.make(e, "DATE_ADD", nil, []expr.Expr{r, text})
	}
	return b.make(e, e.Op, []syntax.Expr{e.L, e.R}, args)
}
