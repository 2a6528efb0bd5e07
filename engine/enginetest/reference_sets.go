package enginetest

import (
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// rollUp sets the keys that are NULL in a grouping set and returns the others.
func (e *env) rollUp(keys []syntax.Expr, set []int) (own []syntax.Expr) {
	in := map[string]bool{}
	for _, i := range set {
		in[syntax.Format(keys[i])] = true
		own = append(own, keys[i])
	}
	e.rolled = map[string]bool{}
	for _, k := range keys {
		if text := syntax.Format(k); !in[text] {
			e.rolled[text] = true
		}
	}
	return own
}

// grouping has a bit for every key, 1 when it is outside of the set at hand.
func (e *env) grouping(c *syntax.Call) types.Value {
	n := int64(0)
	for _, a := range c.Args {
		n *= 2
		if e.rolled[syntax.Format(a)] {
			n++
		}
	}
	return types.LongOf(n)
}
