package editor

import (
	"sort"
	"strings"

	"github.com/streamsforge/streamsforge/engine/analyze"
)

// Kind says what an item is.
type Kind string

// The kinds of items.
const (
	KindColumn    Kind = "column"
	KindAlias     Kind = "alias"
	KindRelation  Kind = "relation"
	KindQuery     Kind = "query"
	KindAggregate Kind = "aggregate"
	KindFunction  Kind = "function"
	KindKeyword   Kind = "keyword"
	KindSnippet   Kind = "snippet"
	KindType      Kind = "type"
	KindUnit      Kind = "unit"
)

// Item is one thing that can stand at the cursor.
type Item struct {
	Label string
	Kind  Kind
	// Insert replaces the list's range. With Snippet it holds places to fill in, written ${1:text}.
	Insert  string
	Snippet bool
	// Detail is a short note beside the label, Doc a longer one; both may be empty.
	Detail, Doc string

	group int // what comes first among equal matches
}

// List is what can stand at a cursor, best first. It replaces the bytes From to To.
type List struct {
	From, To int
	Items    []Item
}

// maxItems bounds an answer.
const maxItems = 200

// Complete lists what can be written at an offset of a statement, which may be unfinished: relations, columns in
// scope, functions, keywords and snippets that are possible there, filtered and ranked by the letters before the
// offset. Inside strings, comments and numbers there is nothing to offer.
func Complete(sql string, offset int, cat analyze.Catalog, mode analyze.Mode) List {
	offset = clamp(sql, offset)
	c, ok := place(sql, offset, cat, mode)
	if !ok {
		return List{From: offset, To: offset}
	}
	o := &offers{cursor: c}
	o.collect()
	return List{From: c.from, To: c.to, Items: rank(o.legal(), c.prefix)}
}

// rank keeps the items that match the prefix and orders them: names that start with it, then names with a part that
// starts with it, then names that have its letters in order.
func rank(items []Item, prefix string) []Item {
	type scored struct {
		Item
		score int
	}
	var list []scored
	seen := map[string]bool{}
	for _, it := range items {
		score := match(it.Label, prefix)
		id := string(it.Kind) + " " + it.Insert
		if score < 0 || seen[id] {
			continue
		}
		seen[id] = true
		list = append(list, scored{it, score})
	}
	sort.SliceStable(list, func(i, j int) bool {
		a, b := list[i], list[j]
		if a.score != b.score {
			return a.score < b.score
		}
		return a.group < b.group
	})
	out := make([]Item, 0, min(len(list), maxItems))
	for _, s := range list[:min(len(list), maxItems)] {
		out = append(out, s.Item)
	}
	return out
}

// match says how well a label fits what was typed: 0 exactly, 1 as its start, 2 as the start of a part, 3 as letters in
// order, -1 not.
func match(label, typed string) int {
	l, p := strings.ToLower(label), strings.ToLower(typed)
	switch {
	case p == "":
		return 1
	case l == p:
		return 0
	case strings.HasPrefix(l, p):
		return 1
	}
	for i := range len(l) - 1 {
		if (l[i] == '_' || l[i] == ' ' || l[i] == '.') && strings.HasPrefix(l[i+1:], p) {
			return 2
		}
	}
	at := 0
	for _, r := range l {
		if at < len(p) && strings.HasPrefix(p[at:], string(r)) {
			at += len(string(r))
		}
	}
	if at == len(p) && l[0] == p[0] {
		return 3
	}
	return -1
}
