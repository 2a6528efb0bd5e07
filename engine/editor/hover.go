package editor

import (
	"strings"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/analyze"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// Tip says what a word of a statement is. From and To are its bytes.
type Tip struct {
	From, To int
	Kind     Kind
	// Title is one line, Lines are further ones.
	Title string
	Lines []string
}

// Hover says what the word at an offset is: a column with its kind and where it comes from, a relation with its
// columns, a function with its signature, a keyword with a line of help. nil when there is nothing to say.
func Hover(sql string, offset int, cat analyze.Catalog, mode analyze.Mode) *Tip {
	if len(sql) > syntax.MaxText {
		return nil
	}
	offset = clamp(sql, offset)
	t := read(sql)
	i := t.at(offset)
	if i < 0 || t.inComment(offset) || t.tokens[i].Kind == syntax.Text || t.tokens[i].Kind == syntax.Number {
		return nil
	}
	tok := t.tokens[i]
	c := &cursor{text: t, cat: cat, mode: mode, from: tok.Pos.Offset, to: tok.Pos.End, word: i, prev: i - 1}
	if !c.index() {
		return nil
	}
	tip := c.about(i)
	if tip != nil {
		tip.From, tip.To = tok.Pos.Offset, tok.Pos.End
	}
	return tip
}

// about says what the i-th token is.
func (c *cursor) about(i int) *Tip {
	tok := c.tok(i)
	if tok.Kind == syntax.Symbol {
		return operatorTip(tok.Text)
	}
	at := tok.Pos.Offset
	if !c.names[at] {
		if isKeyword(tok.Text) && !(c.tok(i+1).IsSymbol("(") && known(tok.Text)) {
			return c.keywordTip(i)
		}
		return functionTip(tok.Text)
	}
	if c.calls[at] {
		return functionTip(tok.Text)
	}
	if c.kinds[at] {
		for _, k := range castKinds {
			if k.name == upper(tok) || strings.HasPrefix(k.name, upper(tok)+" ") {
				return &Tip{Kind: KindType, Title: k.name, Lines: []string{"The kind " + k.doc + "."}}
			}
		}
		return nil
	}
	frames := c.frames()
	in := c.inScope(frames)
	if tip := c.relationTip(tok, in, frames); tip != nil {
		return tip
	}
	return c.columnTip(i, in)
}

// relationTip is about a name that FROM or WITH gives or uses.
func (c *cursor) relationTip(tok syntax.Token, in []source, frames []frame) *Tip {
	at := tok.Pos.Offset
	next := c.word + 1
	for _, s := range in {
		qualifier := s.alias == tok.Text && c.tok(next).IsSymbol(".")
		if s.at == at || qualifier || s.alias == tok.Text && s.kind != "element" && c.aliasOf(s, at) {
			return s.tip()
		}
	}
	for _, q := range c.queries {
		for _, cte := range q.With {
			if cte.Name.Offset == at {
				cols := c.output(cte.Query, c.queriesBefore(frames))
				return &Tip{Kind: KindQuery, Title: cte.Name.Name + ": query of WITH", Lines: columnLines(cols)}
			}
		}
	}
	return nil
}

// aliasOf reports whether the name at an offset is the alias that FROM gives to the relation: it stands behind the
// relation and no column does.
func (c *cursor) aliasOf(s source, at int) bool {
	clause, _ := c.clause(c.frames()[0], c.word)
	return at > s.at && clause == "FROM" && c.tok(c.prev).Kind != syntax.Symbol || at > s.at && c.tok(c.prev).IsSymbol(")") && clause == "FROM"
}

func (s source) tip() *Tip {
	tip := &Tip{Kind: KindRelation}
	switch {
	case s.relation != nil:
		tip.Title = s.name + ": " + s.kind
		if s.alias != s.name {
			tip.Title = s.alias + " is " + tip.Title
		}
		tip.Lines = append(tip.Lines, relationLines(*s.relation)...)
	case s.kind == "element":
		return &Tip{Kind: KindAlias, Title: s.alias + ": element of an array, Json", Lines: []string{"One row for each element; read members with -> and ->>."}}
	case s.kind == "unknown":
		return nil
	case s.kind == "WITH":
		tip.Kind, tip.Title = KindQuery, s.alias+": query of WITH"
		if s.alias != s.name {
			tip.Title = s.alias + " is " + s.name + ": query of WITH"
		}
	default:
		tip.Kind, tip.Title = KindAlias, s.alias+": "+s.kind
	}
	tip.Lines = append(tip.Lines, columnLines(s.columns)...)
	return tip
}

// relationLines say how a relation changes and what identifies its rows.
func relationLines(r analyze.Relation) []string {
	var out []string
	switch {
	case r.Kind == plan.Source && r.AppendOnly, r.Kind == plan.Source && r.Key == nil, r.AppendOnly:
		out = append(out, "Append: no row is taken back.")
	case len(r.Key) > 0:
		out = append(out, "Upsert: a row replaces the one with the same key ("+strings.Join(r.Key, ", ")+").")
	case r.Key != nil:
		out = append(out, "Upsert: there is one row.")
	default:
		out = append(out, "Retract: rows are taken back one by one.")
	}
	return out
}

// maxColumnLines bounds the columns that a tip lists.
const maxColumnLines = 40

func columnLines(cols []column) []string {
	var out []string
	for i, col := range cols {
		if i == maxColumnLines {
			return append(out, "...")
		}
		out = append(out, col.Name+" "+col.describe())
	}
	return out
}

// columnTip is about a column.
func (c *cursor) columnTip(i int, in []source) *Tip {
	ref := &syntax.ColumnRef{Name: syntax.Ident{Name: c.tok(i).Text}}
	if c.tok(i - 1).IsSymbol(".") {
		ref.Qualifier = &syntax.Ident{Name: c.tok(i - 2).Text}
	}
	found := resolve(in, ref)
	if len(found) == 0 {
		for _, w := range windowColumns {
			if strings.EqualFold(w.name, ref.Name.Name) && ref.Qualifier == nil {
				return &Tip{Kind: KindColumn, Title: w.name + " " + w.kind.String(), Lines: []string{w.doc}}
			}
		}
		return c.outputTip(i)
	}
	if tip := c.outputTip(i); tip != nil && c.keyword(i-1, "AS") {
		return tip
	}
	h := found[0]
	tip := &Tip{Kind: KindColumn, Title: h.Name + " " + h.describe()}
	switch {
	case len(found) > 1:
		var of []string
		for _, f := range found {
			of = append(of, f.source.alias+" ("+f.describe()+")")
		}
		return &Tip{Kind: KindColumn, Title: h.Name + ": in several relations", Lines: []string{"It is a column of " + strings.Join(of, " and ") + "."}}
	case h.source.kind == "element":
		return h.source.tip()
	case strings.EqualFold(h.Name, types.TsColumn):
		tip.Lines = append(tip.Lines, "Event time of the row in milliseconds since the epoch.")
	case strings.EqualFold(h.Name, types.SourceColumn):
		tip.Lines = append(tip.Lines, "Name of what made the row.")
	}
	origin := "Column of " + h.source.alias
	if h.source.name != "" && h.source.name != h.source.alias {
		origin += " (" + h.source.kind + " " + h.source.name + ")"
	} else if h.source.kind != "" {
		origin += " (" + h.source.kind + ")"
	}
	if h.source.outer {
		origin += ", of the query around this one"
	}
	tip.Lines = append(tip.Lines, origin+".")
	if h.source.relation != nil {
		for _, k := range h.source.relation.Key {
			if strings.EqualFold(k, h.Name) {
				tip.Lines = append(tip.Lines, "Part of its key.")
			}
		}
	}
	if h.padded {
		tip.Lines = append(tip.Lines, "NULL for rows without a partner: the join is an outer one.")
	}
	for _, child := range h.Children {
		tip.Lines = append(tip.Lines, "-> '"+child.Name+"' "+column{Field: child}.describe())
	}
	return tip
}

// outputTip is about the name of an output column.
func (c *cursor) outputTip(i int) *Tip {
	frames := c.frames()
	s := c.branch(frames[0], i)
	if s == nil {
		return nil
	}
	name := c.tok(i).Text
	for _, item := range s.Items {
		if item.Alias == nil || item.Alias.Name != name {
			continue
		}
		title := name
		if q := c.queries[c.tok(frames[0].start).Pos.Offset]; q != nil {
			for _, col := range c.output(q, c.queriesBefore(frames)) {
				if col.Name == name {
					title = name + " " + col.describe()
				}
			}
		}
		return &Tip{Kind: KindColumn, Title: title, Lines: []string{"Output column: " + syntax.Format(item.Expr)}}
	}
	return nil
}

// functionTip is about a function or an aggregate.
func functionTip(name string) *Tip {
	if a, ok := agg.Lookup(name); ok {
		return &Tip{Kind: KindAggregate, Title: a.Signature + " → " + a.Result,
			Lines: append(sameAs(name, a.Name), a.Doc, "Over no rows it is "+a.Empty+".")}
	}
	if label, result, doc, ok := windowSignature(name); ok {
		return &Tip{Kind: KindFunction, Title: label + " → " + result, Lines: []string{doc, "It needs OVER."}}
	}
	f, ok := expr.Lookup(name)
	if !ok || f.Operator {
		return nil
	}
	tip := &Tip{Kind: KindFunction, Title: f.Signature + " → " + f.Result, Lines: append(sameAs(name, f.Name), f.Doc)}
	if f.Example != "" {
		tip.Lines = append(tip.Lines, "Example: "+f.Example)
	}
	return tip
}

func sameAs(written, name string) []string {
	if strings.EqualFold(written, name) {
		return nil
	}
	return []string{"The same as " + name + "."}
}

// operatorTip is about a symbol of the table of functions.
func operatorTip(symbol string) *Tip {
	f, ok := expr.Lookup(symbol)
	if !ok || !f.Operator {
		return nil
	}
	return &Tip{Kind: KindFunction, Title: f.Signature + " → " + f.Result, Lines: []string{f.Doc}}
}

// keywordTip is about a keyword, with the words beside it that belong to it.
func (c *cursor) keywordTip(i int) *Tip {
	w := upper(c.tok(i))
	best := ""
	for _, k := range keywordTable {
		parts := strings.Fields(k.words)
		for n, part := range parts {
			if part != w && part != w+"S" {
				continue
			}
			fits := true
			for m, other := range parts {
				fits = fits && (m == n || c.tok(i+m-n).Is(other))
			}
			if fits && len(k.words) > len(best) {
				best = k.words
			}
		}
	}
	if best == "" {
		return nil
	}
	return &Tip{Kind: KindKeyword, Title: best, Lines: []string{keywordDoc(best)}}
}
