package enginetest

import (
	"math"
	"strings"

	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// noTime is the event time of a relation's part of a row in which an outer join put NULLs.
const noTime = math.MinInt64

// mergedColumn is a column of USING or NATURAL: one name for the columns of both sides.
type mergedColumn struct {
	name        string
	kind        syntax.JoinKind
	left, right place
	hidden      map[int]bool // sources whose column of that name is part of it
}

func (e *env) mergedAs(name string) *mergedColumn {
	for i := range e.merged {
		if strings.EqualFold(e.merged[i].name, name) {
			return &e.merged[i]
		}
	}
	return nil
}

func (e *env) mergedValue(m *mergedColumn) types.Value {
	left, right := e.columnValue(m.left), e.columnValue(m.right)
	if m.kind == syntax.JoinRight || m.kind == syntax.JoinFull && left.IsNull() {
		return right
	}
	return left
}

// starColumn is one column that a star stands for.
type starColumn struct {
	name string
	place
}

// starred lists the columns of a star: merged ones first, then those of every relation.
func (e *env) starred(it *syntax.SelectItem) []starColumn {
	var out []starColumn
	if it.Qualifier == nil {
		for i := range e.merged {
			m := &e.merged[i]
			out = append(out, starColumn{m.name, place{merged: m, kind: m.left.kind}})
		}
	}
	for i, src := range e.sources {
		if it.Qualifier != nil && it.Qualifier.Name != src.alias {
			continue
		}
		for j, f := range src.fields {
			if m := e.mergedAs(f.Name); it.Qualifier == nil && m != nil && m.hidden[i] {
				continue
			}
			name := f.Name
			if len(e.sources) > 1 && !src.unnest {
				name = src.alias + "_" + name
			}
			out = append(out, starColumn{name, place{source: i, column: src.from + j, kind: f.Stored()}})
		}
	}
	return out
}

// usingOf finds the columns of USING or NATURAL on the left side, before the right one is added.
func (e *env) usingOf(j *syntax.Join, right *table) []mergedColumn {
	var names []string
	for _, u := range j.Using {
		names = append(names, u.Name)
	}
	if j.Natural {
		seen := map[string]bool{}
		for _, src := range e.sources {
			for _, f := range src.fields {
				if _, both := right.fields.Find(f.Name); both && !seen[strings.ToLower(f.Name)] {
					seen[strings.ToLower(f.Name)] = true
					names = append(names, f.Name)
				}
			}
		}
	}
	next := len(e.sources)
	from := 0
	for _, src := range e.sources {
		from = src.from + len(src.fields)
	}
	var out []mergedColumn
	for _, name := range names {
		l := e.find(&syntax.ColumnRef{Name: syntax.Ident{Name: name}})
		c, _ := right.fields.Find(name)
		m := mergedColumn{name: e.nameOf(l), kind: j.Kind, left: l, hidden: map[int]bool{next: true},
			right: place{source: next, column: from + c, kind: right.fields[c].Stored()}}
		if l.merged != nil {
			old := *l.merged
			m.left.merged = &old
			for s := range old.hidden {
				m.hidden[s] = true
			}
		} else {
			m.hidden[l.source] = true
		}
		out = append(out, m)
	}
	return out
}

func (e *env) nameOf(p place) string {
	if p.merged != nil {
		return p.merged.name
	}
	src := e.sources[p.source]
	return src.fields[p.column-src.from].Name
}

// mergeNames makes the columns of USING visible behind the join.
func (e *env) mergeNames(using []mergedColumn) {
	for _, m := range using {
		replaced := false
		for i := range e.merged {
			if strings.EqualFold(e.merged[i].name, m.name) {
				e.merged[i] = m
				replaced = true
			}
		}
		if !replaced {
			e.merged = append(e.merged, m)
		}
	}
}

// join pairs rows for which ON is TRUE, and adds what an outer join adds. Equalities between both sides are keys:
// typed, NULL never matches. The right side's columns are the newest in e.
func (e *env) join(left []jrow, right []rrow, j *syntax.Join, using []mergedColumn) []jrow {
	src := e.sources[len(e.sources)-1]
	pad := make([]types.Value, len(src.fields))
	for i, f := range src.fields {
		pad[i] = types.Null(f.Stored())
	}
	outer := j.Kind == syntax.JoinLeft || j.Kind == syntax.JoinRight || j.Kind == syntax.JoinFull
	if outer {
		// Whether a row has a match depends on what is there, not on what once was.
		left, right = netJoined(left), net(right, true)
	}
	matches := e.matcher(j.On, using)
	var out []jrow
	matched := make([]bool, len(right))
	for _, l := range left {
		found := false
		for i, r := range right {
			pair := jrow{rrow: l.rrow}
			pair.vals = append(append([]types.Value(nil), l.vals...), r.vals...)
			pair.parts = append(append([]int64(nil), l.parts...), r.ts)
			pair.w, pair.at = l.w*r.w, max(l.at, r.at)
			if !matches(pair) {
				continue
			}
			found = found || r.w > 0
			matched[i] = matched[i] || l.w > 0
			out = append(out, pair)
		}
		if !found && (j.Kind == syntax.JoinLeft || j.Kind == syntax.JoinFull) {
			row := jrow{rrow: l.rrow}
			row.vals = append(append([]types.Value(nil), l.vals...), pad...)
			row.parts = append(append([]int64(nil), l.parts...), noTime)
			out = append(out, row)
		}
	}
	if j.Kind == syntax.JoinRight || j.Kind == syntax.JoinFull {
		for i, r := range right {
			if matched[i] {
				continue
			}
			row := jrow{rrow: r}
			row.vals = nil
			for _, s := range e.sources[:len(e.sources)-1] {
				for _, f := range s.fields {
					row.vals = append(row.vals, types.Null(f.Stored()))
				}
				row.parts = append(row.parts, noTime)
			}
			row.vals = append(row.vals, r.vals...)
			row.parts = append(row.parts, r.ts)
			out = append(out, row)
		}
	}
	e.mergeNames(using)
	return out
}

// matcher tests pairs.
func (e *env) matcher(on syntax.Expr, using []mergedColumn) func(pair jrow) bool {
	var keys [][2]syntax.Expr
	var rest []syntax.Expr
	if on != nil {
		for _, c := range conjuncts(on) {
			if b, ok := c.(*syntax.Binary); ok && b.Op == "=" && e.side(b.L)+e.side(b.R) == 3 && e.side(b.L)*e.side(b.R) == 2 {
				keys = append(keys, [2]syntax.Expr{b.L, b.R})
				continue
			}
			rest = append(rest, c)
		}
	}
	same := func(a, b types.Value) bool {
		return !a.IsNull() && !b.IsNull() && keyOf([]types.Value{a}) == keyOf([]types.Value{b})
	}
	return func(pair jrow) bool {
		e.on(pair)
		for _, k := range keys {
			if !same(e.value(k[0]), e.value(k[1])) {
				return false
			}
		}
		for _, u := range using {
			if !same(e.columnValue(u.left), e.columnValue(u.right)) {
				return false
			}
		}
		for _, c := range rest {
			if !e.truth(c) {
				return false
			}
		}
		return true
	}
}

// netJoined adds the weights of equal rows.
func netJoined(rows []jrow) []jrow {
	at := map[string]int{}
	var out []jrow
	for _, row := range rows {
		k := keyOf(row.vals)
		for _, ts := range row.parts {
			k += keyOf([]types.Value{types.LongOf(ts)})
		}
		if i, ok := at[k]; ok {
			out[i].w += row.w
			continue
		}
		at[k] = len(out)
		out = append(out, row)
	}
	kept := out[:0]
	for _, row := range out {
		if row.w != 0 {
			kept = append(kept, row)
		}
	}
	return kept
}
