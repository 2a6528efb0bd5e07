package editor

import (
	"strings"

	"github.com/streamsforge/streamsforge/engine/analyze"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// column is a column that an expression can name. Its kind is Unknown when the query that makes it does not compile.
type column struct {
	types.Field
	// padded says that an outer join can make it NULL.
	padded bool
}

// source is a relation of FROM as an expression sees it.
type source struct {
	alias string
	// name and kind say what it is: "trades", "source"; "legs", "unnest"; "", "subquery".
	name, kind string
	columns    []column
	// relation is what the catalog knows of it, nil for others.
	relation *analyze.Relation
	// outer marks a relation of the query around the subquery at hand.
	outer bool
	at    int // offset of its name
}

// named is a query of WITH.
type named struct {
	name    string
	columns []column
	at      int
}

// overlay is a catalog in which the queries of WITH are relations.
type overlay struct {
	analyze.Catalog
	queries []named
}

func (o overlay) Relations(name string) []analyze.Relation {
	for i := len(o.queries) - 1; i >= 0; i-- {
		if q := o.queries[i]; q.name == name {
			return []analyze.Relation{{Name: name, Kind: plan.Source, Schema: schemaOf(q.columns), AppendOnly: true}}
		}
	}
	return o.Catalog.Relations(name)
}

func schemaOf(cols []column) types.Schema {
	out := make(types.Schema, len(cols))
	for i, c := range cols {
		out[i] = c.Field
		if out[i].Kind == types.Unknown {
			out[i].Kind = types.Json
		}
	}
	return out
}

// queriesBefore are the queries of WITH that a frame of the cursor can read, outer ones first.
func (c *cursor) queriesBefore(frames []frame) []named {
	var out []named
	for n := len(frames) - 1; n >= 0; n-- {
		q := c.queries[c.tok(frames[n].start).Pos.Offset]
		if q == nil {
			continue
		}
		for _, cte := range q.With {
			if cte.Pos.Offset > c.from {
				break
			}
			// The query that the cursor is in reads itself only in WITH RECURSIVE.
			if n > 0 && c.tok(frames[n-1].open).Pos.Offset > cte.Pos.Offset && c.tok(frames[n-1].start).Pos.Offset == cte.Query.Pos.Offset && !q.Recursive {
				continue
			}
			out = append(out, named{name: cte.Name.Name, columns: c.output(cte.Query, out), at: cte.Name.Offset})
		}
	}
	return out
}

// output are the columns that a query gives out.
func (c *cursor) output(q *syntax.Query, ctes []named) []column {
	if cols, done := c.memo[q]; done {
		return cols
	}
	c.memo[q] = nil // a query that reads itself has no columns of its own
	var cols []column
	r, _ := analyze.Analyze(q, overlay{c.cat, ctes}, c.mode, analyze.Options{})
	if r.Query == nil && c.mode == analyze.Pipeline {
		r, _ = analyze.Analyze(q, overlay{c.cat, ctes}, analyze.Table, analyze.Options{})
	}
	if r.Query != nil {
		for _, f := range r.Query.Output {
			cols = append(cols, column{Field: f})
		}
	} else {
		cols = c.guess(q, ctes)
	}
	c.memo[q] = cols
	return cols
}

// maxGuessed bounds the columns of a query that does not compile: stars of stars multiply.
const maxGuessed = 2000

// guess reads the columns of a query that does not compile off its select list.
func (c *cursor) guess(q *syntax.Query, ctes []named) []column {
	for _, cte := range q.With {
		ctes = append(ctes[:len(ctes):len(ctes)], named{name: cte.Name.Name, columns: c.output(cte.Query, ctes)})
	}
	body := q.Body
	for {
		op, is := body.(*syntax.SetOp)
		if !is {
			break
		}
		body = op.Left
	}
	s, _ := body.(*syntax.Select)
	if s == nil {
		return nil
	}
	var out []column
	in := c.sources(s, ctes)
	for _, item := range s.Items {
		if len(out) > maxGuessed {
			break
		}
		switch ref, isRef := item.Expr.(*syntax.ColumnRef); {
		case item.Star:
			for _, src := range in {
				if item.Qualifier == nil || src.alias == item.Qualifier.Name {
					out = append(out, src.columns...)
				}
			}
		case isRef:
			col := column{Field: types.Field{Name: ref.Name.Name, Kind: types.Unknown}}
			if found := resolve(in, ref); len(found) > 0 {
				col = found[0].column
			}
			if item.Alias != nil {
				col.Name = item.Alias.Name
			}
			out = append(out, col)
		case item.Alias != nil:
			out = append(out, column{Field: types.Field{Name: item.Alias.Name, Kind: types.Unknown}})
		}
	}
	return out
}

// sources are the relations of a SELECT.
func (c *cursor) sources(s *syntax.Select, ctes []named) []source {
	var out []source
	if s.From != nil {
		out = append(out, c.source(s.From, ctes))
	}
	for _, j := range s.Joins {
		if j.Kind == syntax.JoinRight || j.Kind == syntax.JoinFull {
			for i := range out {
				out[i].pad()
			}
		}
		next := c.source(j.Item, ctes)
		if j.Kind == syntax.JoinLeft || j.Kind == syntax.JoinFull {
			next.pad()
		}
		out = append(out, next)
	}
	return out
}

func (s *source) pad() {
	cols := make([]column, len(s.columns))
	for i, col := range s.columns {
		col.padded = true
		cols[i] = col
	}
	s.columns = cols
}

// source describes one relation of FROM.
func (c *cursor) source(item syntax.TableItem, ctes []named) source {
	alias := func(a *syntax.Ident, otherwise string) string {
		if a != nil {
			return a.Name
		}
		return otherwise
	}
	switch t := item.(type) {
	case *syntax.TableName:
		out := source{alias: alias(t.Alias, t.Name.Name), name: t.Name.Name, kind: "unknown", at: t.Name.Offset}
		for i := len(ctes) - 1; i >= 0; i-- {
			if ctes[i].name == t.Name.Name {
				out.kind, out.columns = "WITH", ctes[i].columns
				return out
			}
		}
		if found := c.cat.Relations(t.Name.Name); len(found) > 0 {
			out.relation, out.kind = &found[0], found[0].Kind.String()
			for _, f := range found[0].Schema {
				out.columns = append(out.columns, column{Field: f})
			}
		}
		return out
	case *syntax.Derived:
		return source{alias: alias(t.Alias, ""), kind: "subquery", columns: c.output(t.Query, ctes), at: t.Offset}
	case *syntax.Unnest:
		name := alias(t.Alias, "")
		return source{alias: name, kind: "element", columns: []column{{Field: types.Field{Name: name, Kind: types.Json}}}, at: t.Offset}
	}
	return source{kind: "unknown"}
}

// inScope are the relations whose columns an expression at the cursor can name, those of the query around it last.
func (c *cursor) inScope(frames []frame) []source {
	var out []source
	at, hidden := c.word, false
	for n, f := range frames {
		if s := c.branch(f, at); s != nil && !hidden {
			for _, src := range c.sources(s, c.queriesBefore(frames[n:])) {
				src.outer = n > 0
				out = append(out, src)
			}
		}
		if f.open < 0 || c.keyword(f.open-1, "AS") { // a named query reads nothing around it
			break
		}
		at, hidden = f.open, !c.correlates(f)
	}
	return out
}

// correlates reports whether the query in parentheses can read the relations beside it: one in FROM does only behind
// LATERAL.
func (c *cursor) correlates(f frame) bool {
	before := f.open - 1
	if c.anyKeyword(before, "FROM", "JOIN") {
		return false
	}
	if c.tok(before).IsSymbol(",") {
		outer := frame{open: -1, start: 0, end: f.open}
		for i := f.open - 1; i >= 0; i-- {
			if c.tok(i).IsSymbol("(") && c.closing(i) > f.open && c.opensQuery(i) {
				outer.start = i + 1
				break
			}
		}
		name, _ := c.clause(outer, f.open)
		return name != "FROM" && name != "WITH"
	}
	return true
}

// hit is a column with its relation.
type hit struct {
	column
	source source
}

// resolve finds the columns that a written name can mean; an inner query hides the ones around it.
func resolve(in []source, ref *syntax.ColumnRef) []hit {
	var out []hit
	for _, outer := range []bool{false, true} {
		for _, s := range in {
			if s.outer != outer || ref.Qualifier != nil && s.alias != ref.Qualifier.Name {
				continue
			}
			for _, col := range s.columns {
				if strings.EqualFold(col.Name, ref.Name.Name) {
					out = append(out, hit{col, s})
				}
			}
			if len(out) == 0 || out[len(out)-1].source.alias != s.alias {
				if k, reserved := reservedKinds[strings.ToLower(ref.Name.Name)]; reserved && s.kind != "element" {
					out = append(out, hit{column{Field: types.Field{Name: strings.ToLower(ref.Name.Name), Kind: k}}, s})
				}
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// reservedKinds are the columns that every relation has without declaring them.
var reservedKinds = map[string]types.Kind{types.TsColumn: types.Long, types.SourceColumn: types.String}

// describe prints a column's kind: "Long", "String[]", "Json".
func (c column) describe() string {
	k := c.Kind.String()
	if c.Kind == types.Unknown {
		k = "kind not known"
	}
	if c.IsArray {
		k += "[]"
	}
	return k
}

func upper(t syntax.Token) string { return strings.ToUpper(t.Text) }
