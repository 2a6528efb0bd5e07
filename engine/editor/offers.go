package editor

import (
	"sort"
	"strings"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/analyze"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// Groups order what matches equally well.
const (
	groupFirst = iota // what this very place asks for
	groupColumn
	groupOuter
	groupAlias
	groupAggregate
	groupFunction
	groupKeyword
	groupReserved
)

// offers collects what can stand at a cursor.
type offers struct {
	*cursor
	items  []Item
	stack  []frame
	inner  frame
	inside string // the word before the innermost parenthesis that opens no query, "" at the level of the query
}

// collect decides by the token before the cursor what is possible.
func (o *offers) collect() {
	o.stack = o.frames()
	o.inner = o.stack[0]
	if n := len(o.open); n > 0 && o.open[n-1] != o.inner.open {
		o.inside = "("
		if t := o.tok(o.open[n-1] - 1); t.Kind == syntax.Word {
			o.inside = upper(t)
		}
	}
	if o.inDefinition() {
		o.inside = "OVER"
	}
	p := o.prev
	switch {
	case o.tok(p).IsSymbol("."):
		o.members(p - 1)
	case o.inNamedWindow(p), o.inWindow(p), o.inDuration(p), o.inCall(p), o.afterWord(p):
	case p < o.inner.start:
		o.start()
	case o.operandDone(p):
		o.continuations(p)
	case o.wantsRelation(p):
		o.relations()
	default:
		o.operand(p)
	}
}

func (o *offers) add(it Item) { o.items = append(o.items, it) }

// keywords offers words with the line of help that the table has for them.
func (o *offers) keywords(group int, ws ...string) {
	for _, w := range ws {
		o.add(Item{Label: w, Kind: KindKeyword, Insert: w, Doc: keywordDoc(w), group: group})
	}
}

func (o *offers) snippet(group int, label, insert, doc string) {
	o.add(Item{Label: label, Kind: KindSnippet, Insert: insert, Snippet: true, Doc: doc, group: group})
}

// start offers what a query begins with.
func (o *offers) start() {
	o.keywords(groupFirst, "SELECT", "WITH")
	if o.inner.open < 0 && o.inner.start == 0 {
		o.keywords(groupKeyword, "INSERT INTO")
	}
}

// maxStrange bounds the columns of relations that the query does not read yet.
const maxStrange = 500

// anyColumn offers the columns of everything that can be read: the select list is written before FROM.
func (o *offers) anyColumn() {
	n := 0
	for _, s := range o.unread() {
		for _, c := range s.columns {
			if n++; n > maxStrange {
				return
			}
			o.add(Item{Label: c.Name, Kind: KindColumn, Insert: c.Name, Detail: c.describe() + ", " + s.name, Doc: "Column of " + s.name + ".", group: groupOuter})
		}
	}
}

// unread are the relations that the query could read, by name.
func (o *offers) unread() []source {
	var out []source
	for _, q := range o.queriesBefore(o.stack) {
		out = append(out, source{alias: q.name, name: q.name, columns: q.columns})
	}
	names := append([]string(nil), o.cat.Names()...)
	sort.Strings(names)
	for _, n := range names {
		for _, r := range o.cat.Relations(n) {
			s := source{alias: n, name: n, kind: r.Kind.String()}
			for _, f := range r.Schema {
				s.columns = append(s.columns, column{Field: f})
			}
			out = append(out, s)
		}
	}
	return out
}

// members offers the columns of the relation before a point.
func (o *offers) members(at int) {
	name := o.tok(at).Text
	in := o.inScope(o.stack)
	if len(in) == 0 {
		in = o.unread()
	}
	for _, s := range in {
		if s.alias == name && s.kind != "element" {
			o.columns(s, groupFirst, false)
			o.reserved(s.alias)
			if cl, _ := o.clause(o.inner, o.word); cl == "SELECT" && o.inside == "" {
				o.add(Item{Label: "*", Kind: KindKeyword, Insert: "*", Doc: "Every column of " + name + ".", group: groupKeyword})
			}
			return
		}
	}
}

// columns offers the columns of a relation; of a column that several relations have, both with their alias.
func (o *offers) columns(s source, group int, qualified bool) {
	for _, c := range s.columns {
		it := Item{Label: c.Name, Kind: KindColumn, Insert: c.Name, Detail: c.describe(), group: group}
		if qualified {
			it.Label = s.alias + "." + c.Name
			it.Insert = it.Label
		}
		it.Doc = "Column of " + s.alias + "."
		o.add(it)
	}
}

func (o *offers) reserved(of string) {
	o.add(Item{Label: types.TsColumn, Kind: KindColumn, Insert: types.TsColumn, Detail: "Long", Doc: "Event time of the row in milliseconds since the epoch.", group: groupReserved})
	o.add(Item{Label: types.SourceColumn, Kind: KindColumn, Insert: types.SourceColumn, Detail: "String", Doc: "Name of what made the row; of " + of + ".", group: groupReserved})
}

// following are the words that can follow a word, where those are all there is.
var following = map[string][]string{
	"GROUP": {"BY"}, "ORDER": {"BY"}, "LATEST": {"BY"}, "ALLOWED": {"LATENESS"}, "INSERT": {"INTO"}, "EMIT": {"FINAL", "CHANGES"},
	"NULLS": {"FIRST", "LAST"}, "MAX": {"RECURSION"}, "INNER": {"JOIN"}, "CROSS": {"JOIN"}, "OUTER": {"JOIN"},
	"ASOF": {"JOIN", "LEFT JOIN"}, "NATURAL": {"JOIN", "LEFT JOIN", "INNER JOIN", "RIGHT JOIN", "FULL JOIN"}, "GROUPING": {"SETS"},
}

// afterWord offers what a keyword asks for; false when an operand can follow it.
func (o *offers) afterWord(p int) bool {
	t := o.tok(p)
	if t.Kind != syntax.Word {
		return false
	}
	w := upper(t)
	isName := o.names[t.Pos.Offset] && !o.suspect(p)
	switch {
	case o.keyword(p, "IS"):
		o.keywords(groupFirst, "NULL", "NOT NULL", "TRUE", "NOT TRUE", "FALSE", "NOT FALSE", "DISTINCT FROM", "NOT DISTINCT FROM", "NOT")
	case o.keyword(p, "NOT") && o.keyword(p-1, "IS"):
		o.keywords(groupFirst, "NULL", "TRUE", "FALSE", "DISTINCT FROM")
	case o.keyword(p, "DISTINCT") && (o.keyword(p-1, "IS") || o.keyword(p-1, "NOT") && o.keyword(p-2, "IS")):
		o.keywords(groupFirst, "FROM")
	case o.keyword(p, "NOT") && o.operandDone(p-1):
		o.keywords(groupFirst, "IN", "BETWEEN", "LIKE", "ILIKE")
	case o.anyKeyword(p, "UNION", "INTERSECT", "EXCEPT"):
		o.keywords(groupFirst, "ALL", "SELECT", "DISTINCT")
	case o.anyKeyword(p, "ALL", "DISTINCT") && o.anyKeyword(p-1, "UNION", "INTERSECT", "EXCEPT"):
		o.keywords(groupFirst, "SELECT")
	case o.anyKeyword(p, "LEFT", "RIGHT", "FULL"):
		o.keywords(groupFirst, "JOIN", "OUTER JOIN", "OUTER")
	case o.keyword(p, "WITH"):
		o.keywords(groupKeyword, "RECURSIVE")
	case o.keyword(p, "AS"), o.keyword(p, "INTO"), o.keyword(p, "RECURSIVE"), o.anyKeyword(p, "LIMIT", "OFFSET", "RECURSION"):
		// A new name or a number is written.
	case o.keyword(p, "OVER"):
		o.windowNames()
	case isName:
		if w == "MAX" && o.tok(p-1).IsSymbol(")") {
			o.keywords(groupFirst, "RECURSION")
			return true
		}
		if w == "GROUPING" && !o.operandDone(p-1) {
			o.keywords(groupFirst, "SETS")
			return true
		}
		return o.cteHead(p)
	case o.misread(p):
		return false
	case following[w] != nil && !isName:
		o.keywords(groupFirst, following[w]...)
	default:
		return o.cteHead(p)
	}
	return true
}

// cteHead offers AS behind the name of a query of WITH.
func (o *offers) cteHead(p int) bool {
	if cl, at := o.clause(o.inner, o.word); cl != "WITH" || !(p-1 == at || o.tok(p-1).IsSymbol(",") || o.keyword(p-1, "RECURSIVE")) || o.inside != "" || o.keyword(p, "WITH") {
		return false
	}
	o.keywords(groupFirst, "AS")
	return true
}

// misread reports whether a clause word stands where only a column can: "SELECT window, group".
func (o *offers) misread(p int) bool {
	return following[upper(o.tok(p))] != nil && (o.tok(p-1).IsSymbol(",") || o.keyword(p-1, "SELECT")) && o.inside == "" && !o.keyword(p, "GROUPING")
}

// suspect reports whether the parser took a word for an alias although it starts something: "GROUP zz_".
func (o *offers) suspect(p int) bool {
	_, starts := following[upper(o.tok(p))]
	return starts && o.operandDone(p-1)
}

// operandDone reports whether the token ends an operand, a relation or a clause.
func (o *offers) operandDone(p int) bool {
	t := o.tok(p)
	switch t.Kind {
	case syntax.Number, syntax.Text:
		return true
	case syntax.Symbol:
		if t.Text == "*" {
			before := o.tok(p - 1)
			return before.IsSymbol("(") || before.IsSymbol(",") || before.IsSymbol(".") || o.anyKeyword(p-1, "SELECT", "DISTINCT", "ALL")
		}
		return t.Text == ")" && !o.opensBody(p)
	case syntax.Word:
		return o.misread(p) || o.names[t.Pos.Offset] || o.anyKeyword(p, "NULL", "TRUE", "FALSE", "END", "FINAL", "CHANGES", "ASC", "DESC", "FIRST", "LAST", "ALL") && !o.anyKeyword(p-1, "SELECT") ||
			o.unit(p) || !isKeyword(t.Text)
	}
	return false
}

// opensBody reports whether a parenthesis that closes here is no operand: DISTINCT ON (a), or OVER's.
func (o *offers) opensBody(p int) bool {
	depth := 0
	for i := p; i >= 0; i-- {
		switch {
		case o.tok(i).IsSymbol(")"):
			depth++
		case o.tok(i).IsSymbol("("):
			if depth--; depth == 0 {
				return o.keyword(i-1, "ON") && o.keyword(i-2, "DISTINCT")
			}
		}
	}
	return false
}

func (o *offers) unit(p int) bool {
	return o.tok(p-1).Kind == syntax.Number && o.anyKeyword(p, "SECONDS", "SECOND", "MINUTES", "MINUTE", "HOURS", "HOUR", "MILLISECONDS", "MILLISECOND")
}

// wantsRelation reports whether a relation can stand at the cursor.
func (o *offers) wantsRelation(p int) bool {
	if o.inside != "" {
		return o.tok(p).IsSymbol("(") && o.anyKeyword(p-1, "FROM", "JOIN")
	}
	if cl, _ := o.clause(o.inner, o.word); cl != "FROM" {
		return false
	}
	return o.anyKeyword(p, "FROM", "JOIN", "LATERAL") || o.tok(p).IsSymbol(",")
}

// relations offers what FROM can read.
func (o *offers) relations() {
	if o.tok(o.prev).IsSymbol("(") {
		o.keywords(groupFirst, "SELECT", "WITH")
		return
	}
	for _, q := range o.queriesBefore(o.stack) {
		o.add(Item{Label: q.name, Kind: KindQuery, Insert: q.name, Detail: "WITH", Doc: columnList(q.columns), group: groupFirst})
	}
	can := map[plan.InputKind]bool{}
	for _, kind := range []plan.InputKind{plan.Source, plan.Table, plan.Pipeline} {
		can[kind] = o.mode == analyze.Table || pipelineReads(kind, o.keyword(o.prev, "JOIN"))
	}
	names := append([]string(nil), o.cat.Names()...)
	sort.Strings(names)
	for _, n := range names {
		for _, r := range o.cat.Relations(n) {
			if !can[r.Kind] {
				continue
			}
			o.add(Item{Label: n, Kind: KindRelation, Insert: n, Detail: r.Kind.String(), Doc: r.Schema.String(), group: groupColumn})
			break
		}
	}
	o.snippet(groupKeyword, "UNNEST", "UNNEST(${1:array}) AS ${2:element}", keywordDoc("UNNEST"))
	o.keywords(groupKeyword, "LATERAL")
	o.snippet(groupKeyword, "(SELECT ...)", "(SELECT ${1:*} FROM ${2:relation}) AS ${3:alias}", "A query as a relation.")
}

func columnList(cols []column) string {
	var out []string
	for _, c := range cols {
		out = append(out, c.Name+" "+c.describe())
	}
	return strings.Join(out, ", ")
}

// operand offers what an expression can start with.
func (o *offers) operand(p int) {
	cl, at := o.clause(o.inner, o.word)
	in := o.inScope(o.stack)
	seen := map[string]int{}
	for _, s := range in {
		for _, c := range s.columns {
			seen[strings.ToLower(c.Name)]++
		}
	}
	if o.keyword(p, "ON") && o.inside == "" {
		o.joinConditions(in)
	}
	for _, s := range in {
		group := groupColumn
		if s.outer {
			group = groupOuter
		}
		for _, c := range s.columns {
			one := source{alias: s.alias, columns: []column{c}}
			o.columns(one, group, seen[strings.ToLower(c.Name)] > 1 && s.kind != "element")
			if seen[strings.ToLower(c.Name)] > 1 && !s.outer {
				o.columns(one, groupReserved, false)
			}
		}
		if s.alias != "" && s.kind != "element" {
			o.add(Item{Label: s.alias, Kind: KindAlias, Insert: s.alias, Detail: s.kind, Doc: columnList(s.columns), group: groupAlias})
		}
	}
	if len(in) > 0 {
		o.reserved("the relation")
	} else if cl != "" {
		o.anyColumn()
	}
	o.windowColumns(cl)
	if s := o.branch(o.inner, o.word); s != nil && (cl == "ORDER" || cl == "GROUP" || cl == "HAVING") {
		for _, it := range s.Items {
			if it.Alias != nil {
				o.add(Item{Label: it.Alias.Name, Kind: KindColumn, Insert: it.Alias.Name, Detail: "output column", group: groupColumn})
			}
		}
	}
	if (cl == "UNION" || cl == "INTERSECT" || cl == "EXCEPT") && o.inside == "" || o.tok(p).IsSymbol("(") && (o.inside == "" || o.inside == "(" || isKeyword(o.inside) && o.inside != "CAST" && o.inside != "BY") {
		o.keywords(groupKeyword, "SELECT", "WITH")
	}
	first := p == at || p == at+1 && (cl == "GROUP" || cl == "ORDER")
	if cl == "SELECT" && first || o.tok(p).IsSymbol("(") && o.inside != "" && o.aggregate(o.inside) {
		o.keywords(groupKeyword, "DISTINCT", "ALL", "DISTINCT ON")
	}
	if o.keyword(p, "DISTINCT") && o.keyword(p-1, "SELECT") {
		o.keywords(groupKeyword, "ON")
	}
	if cl == "SELECT" && (first || o.tok(p).IsSymbol(",") || o.keyword(p, "DISTINCT")) && o.inside == "" || o.tok(p).IsSymbol("(") && o.inside == "COUNT" {
		o.add(Item{Label: "*", Kind: KindKeyword, Insert: "*", Doc: "Every column.", group: groupKeyword})
	}
	if cl == "GROUP" && o.inside == "" {
		if first {
			o.keywords(groupKeyword, "ALL")
		}
		o.snippet(groupKeyword, "ROLLUP", "ROLLUP(${1})", keywordDoc("ROLLUP"))
		o.snippet(groupKeyword, "CUBE", "CUBE(${1})", keywordDoc("CUBE"))
		o.snippet(groupKeyword, "GROUPING SETS", "GROUPING SETS (${1})", keywordDoc("GROUPING SETS"))
	}
	if cl == "" {
		o.start()
		return
	}
	if cl != "WHERE" && cl != "ON" && cl != "GROUP" && cl != "LATEST" && cl != "FROM" || o.inside == "OVER" {
		for _, a := range agg.Aggregates() {
			o.function(a.Name, KindAggregate, a.Signature, a.Result, a.Doc+" Over no rows it is "+a.Empty+".", groupAggregate)
			for _, other := range a.Aliases {
				o.function(other, KindAggregate, strings.Replace(a.Signature, a.Name, other, 1), a.Result, "The same as "+a.Name+". "+a.Doc, groupReserved)
			}
		}
	}
	o.windowFunctions(cl)
	if cl != "WHERE" && cl != "ON" {
		o.function("GROUPING", KindFunction, "GROUPING(key, ...)", "Long", "Which of the keys the row's grouping set leaves out, as bits.", groupReserved)
	}
	for _, f := range expr.Functions() {
		if f.Operator {
			continue
		}
		o.function(f.Name, KindFunction, f.Signature, f.Result, f.Doc, groupFunction)
		for _, other := range f.Aliases {
			o.function(other, KindFunction, strings.Replace(f.Signature, f.Name, other, 1), f.Result, "The same as "+f.Name+". "+f.Doc, groupReserved)
		}
	}
	o.keywords(groupKeyword, "NOT", "NULL", "TRUE", "FALSE")
	o.snippet(groupKeyword, "CASE", "CASE WHEN ${1:condition} THEN ${2:value} ELSE ${3:value} END", keywordDoc("CASE"))
	if o.keyword(p, "CASE") {
		o.keywords(groupFirst, "WHEN")
	}
	o.snippet(groupKeyword, "CAST", "CAST(${1:x} AS ${2:TEXT})", keywordDoc("CAST"))
	o.snippet(groupKeyword, "EXISTS", "EXISTS (SELECT 1 FROM ${1:relation} WHERE ${2:condition})", keywordDoc("EXISTS"))
	o.snippet(groupKeyword, "INTERVAL", "INTERVAL '${1:1 day}'", keywordDoc("INTERVAL"))
}

// joinConditions offers equalities between the joined relation and those before it, over columns of one name.
func (o *offers) joinConditions(in []source) {
	right := -1
	for i, s := range in {
		if !s.outer && s.at > 0 && s.at < o.from {
			right = i // the last relation before the cursor
		}
	}
	for i := 0; i < right; i++ {
		for _, l := range in[i].columns {
			for _, r := range in[right].columns {
				if in[i].kind != "element" && strings.EqualFold(l.Name, r.Name) && l.Stored() == r.Stored() {
					text := in[i].alias + "." + l.Name + " = " + in[right].alias + "." + r.Name
					o.add(Item{Label: text, Kind: KindSnippet, Insert: text, Detail: l.describe(), group: groupFirst})
				}
			}
		}
	}
}

// windowColumns offers what a window adds to its rows.
func (o *offers) windowColumns(cl string) {
	s := o.branch(o.inner, o.word)
	if s == nil || s.Window == nil || cl == "WHERE" || cl == "ON" || cl == "FROM" {
		return
	}
	for _, c := range windowColumns {
		if c.name != plan.Final || s.Emit != nil && s.Emit.Changes {
			o.add(Item{Label: c.name, Kind: KindColumn, Insert: c.name, Detail: c.kind.String(), Doc: c.doc, group: groupOuter})
		}
	}
}

// windowColumns are the columns of a windowed query beside those of its relations.
var windowColumns = []struct {
	name string
	kind types.Kind
	doc  string
}{
	{plan.WindowStart, types.Long, "Start of the window in milliseconds since the epoch."},
	{plan.WindowEnd, types.Long, "End of the window, which is no part of it, in milliseconds since the epoch."},
	{plan.Revision, types.Long, "How often the window had been given out before, under ALLOWED LATENESS."},
	{plan.Final, types.Bool, "TRUE for the row that closes its window under EMIT CHANGES."},
}

func (o *offers) aggregate(name string) bool {
	_, ok := agg.Lookup(name)
	return ok
}

// function offers a call.
func (o *offers) function(name string, kind Kind, signature, result, doc string, group int) {
	it := Item{Label: name, Kind: kind, Insert: name + "(${1})", Snippet: true, Detail: signature + " → " + result, Doc: doc, group: group}
	if strings.HasPrefix(signature, name+"()") {
		it.Insert, it.Snippet = name+"()", false
	}
	if o.tok(o.word + 1).IsSymbol("(") { // the parenthesis stands there
		it.Insert, it.Snippet = name, false
	}
	o.add(it)
}
