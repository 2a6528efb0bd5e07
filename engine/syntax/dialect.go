package syntax

import "strings"

// Forms of other dialects are recognized where the grammar would only say that it expects something else: they are
// reported with how it is written here, and read past, so that the rest of the statement is still checked.

const codeDialect = "other-dialect"

// foreign is a clause of another dialect: its first word, what follows it, and what to write.
type foreign struct {
	word    string
	follows func(Token) bool
	name    string
	hint    string
}

func followedBy(words ...string) func(Token) bool {
	return func(t Token) bool { return wordIn(t, words) }
}

func anything(t Token) bool { return t.Kind != EOF }

func parenthesis(t Token) bool { return t.symbol("(") }

var foreignClauses = []foreign{
	{"MINUS", func(t Token) bool { return t.is("SELECT") || t.is("ALL") || t.symbol("(") }, "MINUS", "write EXCEPT"},
	{"FETCH", followedBy("FIRST", "NEXT"), "FETCH", "write LIMIT with a number"},
	{"WITH", followedBy("ROLLUP", "CUBE"), "WITH ROLLUP", "write GROUP BY ROLLUP (a, b)"},
	{"FOR", followedBy("UPDATE", "SHARE"), "FOR UPDATE", "remove it: a query locks nothing"},
	{"FOR", followedBy("SYSTEM_TIME"), "FOR SYSTEM_TIME AS OF", "write ASOF JOIN ... ON with the keys and left.time >= right.time"},
	{"PARTITION", followedBy("BY"), "PARTITION BY", "remove it: rows are partitioned by the keys of the query"},
	{"CLUSTER", followedBy("BY"), "CLUSTER BY", "remove it: the rows of a result have no order"},
	{"DISTRIBUTE", followedBy("BY"), "DISTRIBUTE BY", "remove it: rows are distributed by the keys of the query"},
	{"SORT", followedBy("BY"), "SORT BY", "write ORDER BY with LIMIT"},
	{"CONNECT", followedBy("BY"), "CONNECT BY", "write WITH RECURSIVE name AS (base UNION step)"},
	{"START", followedBy("WITH"), "START WITH", "write WITH RECURSIVE name AS (base UNION step)"},
	{"INTO", func(t Token) bool { return t.Kind == Word }, "SELECT INTO", "the definition names the result; write INSERT INTO sink SELECT ... for a sink"},
	{"QUALIFY", anything, "QUALIFY", "write SELECT DISTINCT ON (key) ..., or filter in a query around this one"},
	{"TABLESAMPLE", anything, "TABLESAMPLE", "filter with a hash of a key instead"},
	{"OUTER", followedBy("APPLY"), "OUTER APPLY", "write LEFT JOIN LATERAL (SELECT ...) alias ON TRUE"},
	{"CROSS", followedBy("APPLY"), "CROSS APPLY", "write CROSS JOIN LATERAL (SELECT ...) alias"},
	{"PIVOT", parenthesis, "PIVOT", "write one aggregate with FILTER (WHERE ...) for each column"},
	{"UNPIVOT", parenthesis, "UNPIVOT", "write one SELECT for each column, combined with UNION ALL"},
	{"MATCH_RECOGNIZE", parenthesis, "MATCH_RECOGNIZE", "join the relation with itself, or use a SESSION window"},
	{"SEMI", followedBy("JOIN"), "SEMI JOIN", "write WHERE EXISTS (SELECT ...)"},
	{"ANTI", followedBy("JOIN"), "ANTI JOIN", "write WHERE NOT EXISTS (SELECT ...)"},
	{"STRAIGHT_JOIN", func(t Token) bool { return t.Kind == Word }, "STRAIGHT_JOIN", "write JOIN"},
	{"OPTION", parenthesis, "OPTION", "remove it: there are no hints"},
	{"RETURNING", anything, "RETURNING", "remove it: a query gives out its select list"},
	{"SETTINGS", func(t Token) bool { return t.Kind == Word }, "SETTINGS", "remove it: settings belong to the definition"},
	{"PREWHERE", startsExpr, "PREWHERE", "write WHERE"},
	{"LOCK", followedBy("IN"), "LOCK IN SHARE MODE", "remove it: a query locks nothing"},
	{"WITH", followedBy("ORDINALITY"), "WITH ORDINALITY", "elements have no number here; number them at the source"},
	{"LATERAL", parenthesis, "LATERAL without JOIN", "write JOIN LATERAL (SELECT ...) name ON TRUE"},
	{"LATERAL", followedBy("VIEW"), "LATERAL VIEW", "write a comma and UNNEST(column) AS element"},
	{"LIKE_REGEX", anything, "LIKE_REGEX", "write REGEXP_LIKE(x, 'pattern')"},
}

func (p *parser) foreign() *foreign {
	t := p.peek()
	if t.Kind != Word {
		return nil
	}
	next := p.peekAt(1)
	for i := range foreignClauses {
		if f := &foreignClauses[i]; t.is(f.word) && f.follows(next) {
			return f
		}
	}
	return nil
}

// foreignClause reports a clause of another dialect and goes on behind it, or with its counterpart.
func (p *parser) foreignClause() bool {
	f := p.foreign()
	if f == nil {
		return false
	}
	t := p.peek()
	message := f.name + " is not in the language"
	counterpart := map[string]string{"MINUS": "EXCEPT", "STRAIGHT_JOIN": "JOIN", "PREWHERE": "WHERE"}[f.word]
	if counterpart != "" {
		p.reportFix(t.Pos, codeDialect, message, f.hint, Replace(t.Pos, t.Text, counterpart))
		p.tokens[p.at].Text = counterpart
		return true
	}
	if n := p.peekAt(2); f.word == "FETCH" && n.Kind == Number {
		start := t.Pos
		p.take()
		p.take()
		p.take()
		for p.peek().is("ROW") || p.peek().is("ROWS") || p.peek().is("ONLY") {
			p.take()
		}
		p.reportFix(start, codeDialect, message, "write LIMIT "+n.Text, &Fix{Title: "write LIMIT " + n.Text, Edits: []Edit{{p.span(start), "LIMIT " + n.Text}}})
		return true
	}
	p.report(t.Pos, codeDialect, message, f.hint)
	p.take()
	if p.peek().symbol("(") {
		p.skipParentheses()
	} else {
		p.take()
	}
	p.skipping = true
	p.recover(p.atClause)
	return true
}

// starExcept reads what other dialects write behind a star.
func (p *parser) starExcept() {
	t, next := p.peek(), p.peekAt(1)
	if !wordIn(t, []string{"EXCEPT", "EXCLUDE", "REPLACE", "RENAME", "ILIKE"}) || !next.symbol("(") && (next.Kind != Word || next.is("SELECT") || next.is("FROM")) {
		return
	}
	p.report(t.Pos, codeDialect, "* "+strings.ToUpper(t.Text)+" is not in the language", "list the columns")
	p.take()
	if p.peek().symbol("(") {
		p.skipParentheses()
	} else {
		p.take()
	}
}

// foreignSide reports LEFT SEMI JOIN and LEFT ANTI JOIN at the word before JOIN, and reads past that word.
func (p *parser) foreignSide(side Token) {
	if f := p.foreign(); f != nil {
		p.report(p.peek().Pos, codeDialect, strings.ToUpper(side.Text)+" "+f.name+" is not in the language", f.hint)
		p.take()
	}
}

// statements are the words that other statements start with.
var statements = wordSet("CREATE", "UPDATE", "DELETE", "DROP", "ALTER", "MERGE", "TRUNCATE", "EXPLAIN", "DESCRIBE", "DESC",
	"SHOW", "VALUES", "SET", "USE", "BEGIN", "COMMIT", "GRANT", "REPLACE", "UPSERT", "ANALYZE", "DECLARE", "EXEC", "CALL", "TABLE", "COPY")

// statement reports that the text is another kind of statement. It goes on with the SELECT that it has.
func (p *parser) statement() {
	start := p.peek()
	if start.Kind != Word || !statements[strings.ToUpper(start.Text)] {
		return
	}
	word := strings.ToUpper(start.Text)
	hint := "a definition is one SELECT; rows change at their source"
	switch word {
	case "CREATE", "DECLARE", "REPLACE":
		hint = "a definition is the SELECT alone; its name and settings stand beside it"
	case "EXPLAIN", "DESCRIBE", "DESC", "SHOW", "ANALYZE":
		hint = "a definition is the SELECT alone; the plan is shown beside it"
	case "DROP", "ALTER", "TRUNCATE":
		hint = "definitions are changed and deleted by the API, not in SQL"
	case "VALUES", "TABLE":
		hint = "write SELECT ... FROM a source or table"
	}
	for i := p.at; i < len(p.tokens); i++ {
		if t := p.tokens[i]; t.is("SELECT") || t.is("WITH") && p.tokens[min(i+2, len(p.tokens)-1)].is("AS") {
			p.reportFix(start.Pos, codeDialect, word+" is no statement of the language", hint, Remove("what stands before "+strings.ToUpper(t.Text), start.Pos.until(t.Pos)))
			p.at = i
			return
		}
	}
	p.report(start.Pos, codeDialect, word+" is no statement of the language", hint)
	p.skipping, p.lost = true, true
	p.recover(func() bool { return false })
	p.skipping = true
}

// top reads TOP n behind SELECT.
func (p *parser) top() {
	t := p.peek()
	if !t.is("TOP") {
		return
	}
	n, count := p.peekAt(1), 2
	if n.symbol("(") && p.peekAt(3).symbol(")") {
		n, count = p.peekAt(2), 4
	}
	if after := p.peekAt(count); n.Kind != Number || after.symbol(",") || after.is("FROM") || after.is("AS") {
		return
	}
	for range count {
		p.take()
	}
	p.report(p.span(t.Pos), codeDialect, "TOP is not in the language", "write LIMIT "+n.Text+" behind the query")
}

// limitPair reads the second number of LIMIT a, b: b rows behind the first a.
func (p *parser) limitPair(limit Token, offset Expr) {
	first, ok := offset.(*Literal)
	if n := p.peekAt(1); ok && p.peek().symbol(",") && n.Kind == Number {
		p.take()
		p.take()
		text := "LIMIT " + n.Text + " OFFSET " + first.Text
		p.reportFix(p.span(limit.Pos), codeDialect, "LIMIT takes one number", "write "+text, &Fix{Title: "write " + text, Edits: []Edit{{p.span(limit.Pos), text}}})
	}
	if t := p.peek(); (t.is("ROW") || t.is("ROWS")) && !p.skipping {
		p.take()
		p.reportFix(t.Pos, codeDialect, strings.ToUpper(t.Text)+" is not written behind the number", "remove it", Remove(t.Text, t.Pos))
	}
}

// relationName reads past what other dialects put around the name of a relation, and returns the name.
func (p *parser) relationName() Ident {
	name := p.ident("a name")
	first := name.Pos
	for p.peek().symbol(".") && p.peekAt(1).Kind == Word {
		p.take()
		name = p.ident("a name")
	}
	if name.Pos.Offset != first.Offset {
		p.reportFix(first, codeDialect, "relations have no schema or database before their name", "write "+name.Name, Remove("the prefix", first.until(name.Pos)))
	}
	if open := p.peek(); open.symbol("(") {
		hint := "name a source, table or pipeline, or write UNNEST(...) behind a comma"
		if tableFunctions[strings.ToUpper(name.Name)] {
			hint = "name the source, and write WINDOW TUMBLING(SIZE 5 SECONDS) behind GROUP BY"
		}
		p.skipParentheses()
		p.fail(name.Pos, codeDialect, "a function cannot stand in FROM", hint)
	}
	return name
}

var tableFunctions = wordSet("TUMBLE", "TUMBLING", "HOP", "HOPPING", "SESSION", "CUMULATE", "TABLE")

// behindRelation reads past hints and column lists behind a relation.
func (p *parser) behindRelation() {
	switch t := p.peek(); {
	case t.is("WITH") && p.peekAt(1).symbol("("):
		p.take()
		p.skipParentheses()
		p.reportFix(t.Pos, codeDialect, "there are no hints", "remove it", Remove("the hint", p.span(t.Pos)))
	case t.symbol("("):
		p.skipParentheses()
		p.report(t.Pos, codeDialect, "an alias has no list of columns", "name the columns in the SELECT with AS")
	}
}

// typeLength reads past the length behind the name of a type.
func (p *parser) typeLength() {
	if t := p.peek(); t.symbol("(") && p.peekAt(1).Kind == Number {
		p.skipParentheses()
		p.reportFix(p.span(t.Pos), codeDialect, "types have no length or precision", "remove it", Remove("the length", p.span(t.Pos)))
	}
}

// emitOnClose reads EMIT ON WINDOW CLOSE behind EMIT: the current word is then FINAL.
func (p *parser) emitOnClose() {
	if t := p.peek(); t.is("ON") && p.peekAt(1).is("WINDOW") && p.peekAt(2).is("CLOSE") {
		p.take()
		p.take()
		pos := join(t.Pos, p.peek().Pos)
		p.reportFix(pos, codeDialect, "ON WINDOW CLOSE is not in the language", "write EMIT FINAL", &Fix{Title: "write EMIT FINAL", Edits: []Edit{{pos, "FINAL"}}})
		p.tokens[p.at].Text = "FINAL"
	}
}

// windowHint adds how a window is written to what was reported of it since there were n diagnostics.
func (p *parser) windowHint(n int, kind Token) {
	hint := "write WINDOW TUMBLING(SIZE 5 SECONDS)"
	switch {
	case kind.is("HOPPING"):
		hint = "write WINDOW HOPPING(SIZE 10 SECONDS, ADVANCE BY 5 SECONDS)"
	case kind.is("SESSION"):
		hint = "write WINDOW SESSION(GAP 5 SECONDS)"
	}
	for i := n; i < len(p.diagnostics); i++ {
		if d := &p.diagnostics[i]; d.Hint == "" {
			d.Hint = hint
			if strings.Contains(d.Message, `"GRACE"`) {
				d.Hint = "write ALLOWED LATENESS 5 SECONDS behind WINDOW"
			}
		}
	}
}

// textAlias reads AS 'name'.
func (p *parser) textAlias() *Ident {
	t := p.peek()
	if t.Kind != Text {
		return nil
	}
	p.take()
	d := "an alias is a name, not a string"
	if strings.IndexFunc(t.Text, func(r rune) bool { return !isWordPart(r) }) >= 0 || t.Text == "" {
		p.report(t.Pos, codeDialect, d, "write letters, digits and _ without quotes")
	} else {
		p.reportFix(t.Pos, codeDialect, d, "write it without quotes", &Fix{Title: "remove the quotes", Edits: []Edit{{t.Pos, t.Text}}})
	}
	return &Ident{Pos: t.Pos, Name: t.Text}
}

// onlySemicolons reads semicolons up to the end of the text.
func (p *parser) onlySemicolons() bool {
	start := p.at
	for p.peek().symbol(";") {
		p.take()
	}
	if p.peek().Kind != EOF {
		p.at = start
		return false
	}
	pos := join(p.tokens[start].Pos, p.tokens[p.at-1].Pos)
	p.reportFix(pos, "syntax", "a statement ends with one semicolon at most", "keep one", &Fix{Title: "keep one semicolon", Edits: []Edit{{pos, ";"}}})
	return true
}
