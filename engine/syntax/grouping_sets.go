package syntax

import "fmt"

// maxGroupingSets bounds what ROLLUP, CUBE and their combinations make.
const maxGroupingSets = 64

// groupItems reads the elements of GROUP BY. ROLLUP, CUBE and GROUPING SETS make several sets of keys; elements beside
// each other combine every set of one with every set of the other.
func (p *parser) groupItems(g *GroupBy) {
	sets := [][]int{nil}
	plain := true
	for {
		start := p.peek().Pos
		element, several := p.groupElement(g)
		plain = plain && !several
		if len(sets)*len(element) > maxGroupingSets {
			p.fail(start, "too-large", fmt.Sprintf("more than %d grouping sets", maxGroupingSets), "list the ones that are read with GROUPING SETS")
			return
		}
		var next [][]int
		for _, a := range sets {
			for _, b := range element {
				next = append(next, append(append([]int(nil), a...), b...))
			}
		}
		sets = next
		if !p.symbol(",") {
			break
		}
	}
	if !plain {
		g.Sets = sets
	}
}

// groupElement reads one element and returns its sets as positions of Items.
func (p *parser) groupElement(g *GroupBy) (sets [][]int, several bool) {
	t := p.peek()
	open := p.peekAt(1).symbol("(")
	switch {
	case t.is("GROUPING") && p.peekAt(1).is("SETS") && p.peekAt(2).symbol("("):
		p.take()
		p.take()
		p.parenthesized(func() { sets = p.keyLists(g) })
	case t.is("ROLLUP") && open:
		p.take()
		var lists [][]int
		p.parenthesized(func() { lists = p.keyLists(g) })
		for n := len(lists); n >= 0; n-- {
			sets = append(sets, joined(lists[:n]))
		}
	case t.is("CUBE") && open:
		p.take()
		var lists [][]int
		p.parenthesized(func() { lists = p.keyLists(g) })
		if len(lists) > 6 {
			p.fail(t.Pos, "too-large", fmt.Sprintf("CUBE of %d keys makes more than %d grouping sets", len(lists), maxGroupingSets), "list the ones that are read with GROUPING SETS")
			return [][]int{nil}, true
		}
		for mask := 1<<len(lists) - 1; mask >= 0; mask-- {
			var set [][]int
			for i, l := range lists {
				if mask>>(len(lists)-1-i)&1 == 1 {
					set = append(set, l)
				}
			}
			sets = append(sets, joined(set))
		}
	default:
		return [][]int{{p.groupKey(g)}}, false
	}
	if len(sets) == 0 {
		sets = [][]int{nil}
	}
	return sets, true
}

func (p *parser) groupKey(g *GroupBy) int {
	g.Items = append(g.Items, p.expr())
	return len(g.Items) - 1
}

// keyLists reads keys, or lists of keys in parentheses, separated by commas.
func (p *parser) keyLists(g *GroupBy) [][]int {
	var out [][]int
	for {
		var list []int
		if p.peek().symbol("(") {
			p.parenthesized(func() {
				for !p.peek().symbol(")") && p.peek().Kind != EOF {
					list = append(list, p.groupKey(g))
					if !p.symbol(",") {
						break
					}
				}
			})
		} else {
			list = []int{p.groupKey(g)}
		}
		out = append(out, list)
		if !p.symbol(",") {
			return out
		}
	}
}

func joined(lists [][]int) []int {
	var out []int
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

// groupSets writes the sets of keys.
func (p *printer) groupSets(g *GroupBy) {
	p.add("GROUPING SETS (")
	p.list(len(g.Sets), func(i int) {
		p.add("(")
		p.list(len(g.Sets[i]), func(k int) { p.expr(g.Items[g.Sets[i][k]], 0) })
		p.add(")")
	})
	p.add(")")
}
