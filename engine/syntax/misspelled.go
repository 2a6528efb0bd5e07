package syntax

import "strings"

// Keywords are recognized by their place. Where a keyword has to stand and a word stands that is nearly one, it is
// reported and then taken for it, so that the rest of the statement is still checked. All of this looks at statements
// only that are wrong in any case: a word that can be an alias or a column there stays one.

// nearKeyword is the one of the keywords that a word is nearly, "" when it is none or is written right.
func nearKeyword(word string, keywords []string) string {
	if len(word) < 2 || len(word) > 14 {
		return ""
	}
	w, best, bestDistance := strings.ToUpper(word), "", 3
	for _, k := range keywords {
		if w == k {
			return ""
		}
		limit := 2
		if len(k) <= 5 {
			limit = 1
		}
		if d := distance(w, k, limit+1); d <= limit && d < bestDistance {
			best, bestDistance = k, d
		}
	}
	return best
}

// meant takes the current word for the keyword that it is nearly. The token is then that keyword.
func (p *parser) meant(keywords ...string) bool {
	if t := p.peek(); t.Kind != Word || aliasEnds[strings.ToUpper(t.Text)] {
		return false
	}
	w := nearKeyword(p.peek().Text, keywords)
	if w == "" {
		return false
	}
	p.spell(0, w)
	return true
}

// spell reports that the word n places ahead is misspelled, and corrects it.
func (p *parser) spell(n int, keyword string) {
	t := &p.tokens[p.at+n]
	p.reportFix(t.Pos, "misspelled-keyword", quote(t.Text)+" is no keyword", "did you mean "+quote(keyword)+"?", Replace(t.Pos, t.Text, keyword))
	t.Text = keyword
}

// reportFix adds a problem with a change of the text that makes it go away.
func (p *parser) reportFix(pos Pos, code, message, hint string, fix *Fix) {
	if len(p.diagnostics) < maxProblems {
		p.diagnostics = append(p.diagnostics, Diagnostic{Pos: pos, Code: code, Message: message, Hint: hint, Fix: fix})
	}
}

// startsExpr reports whether an expression can start with a token.
func startsExpr(t Token) bool {
	switch t.Kind {
	case Number, Text:
		return true
	case Word:
		return !aliasEnds[strings.ToUpper(t.Text)] || t.is("NOT") || t.is("EXISTS")
	case Symbol:
		return t.Text == "(" || t.Text == "-"
	}
	return false
}

// operatorMeant corrects a word operator between two expressions.
func (p *parser) operatorMeant(keywords ...string) bool {
	t := p.peek()
	if t.Kind != Word || len(t.Text) > 8 || aliasEnds[strings.ToUpper(t.Text)] || t.is("FOR") || !startsExpr(p.peekAt(1)) {
		return false
	}
	return p.meant(keywords...)
}

// predicateMeant corrects a word that starts a predicate behind an operand.
func (p *parser) predicateMeant() {
	t, next := p.peek(), p.peekAt(1)
	if t.Kind != Word || len(t.Text) > 9 || aliasEnds[strings.ToUpper(t.Text)] || regexOperators[strings.ToUpper(t.Text)] {
		return
	}
	switch {
	case next.is("IN") || next.is("LIKE") || next.is("ILIKE") || next.is("BETWEEN"):
		p.meant("NOT")
	case next.is("NULL") || next.is("NOT") || next.is("TRUE") || next.is("FALSE"):
		p.meant("IS")
	case next.symbol("("):
		p.meant("IN")
	default:
		p.operatorMeant("LIKE", "ILIKE", "BETWEEN")
	}
}

// clauseFollows says for each word that starts a clause or the condition of a join what the token behind it looks like.
var clauseFollows = []struct {
	words   []string
	follows func(Token) bool
}{
	{[]string{"FROM", "JOIN"}, func(t Token) bool {
		return t.Kind == Word && !aliasEnds[strings.ToUpper(t.Text)] || t.symbol("(")
	}},
	{[]string{"WHERE", "HAVING", "LIMIT", "OFFSET", "ON"}, startsExpr},
	{[]string{"GROUP", "ORDER", "LATEST"}, nearly("BY")},
	{[]string{"WINDOW"}, nearly("TUMBLING", "HOPPING", "SESSION")},
	{[]string{"EMIT"}, nearly("CHANGES", "FINAL")},
	{[]string{"UNION", "INTERSECT", "EXCEPT"}, func(t Token) bool { return t.is("SELECT") || t.is("ALL") || t.is("DISTINCT") || t.symbol("(") }},
	{joinStarts, func(t Token) bool { return t.is("JOIN") || t.is("OUTER") }},
	{[]string{"WITHIN"}, func(t Token) bool { return t.Kind == Number }},
	{[]string{"USING"}, func(t Token) bool { return t.symbol("(") }},
	{[]string{"ALLOWED"}, nearly("LATENESS")},
}

var joinStarts = []string{"LEFT", "RIGHT", "FULL", "INNER", "CROSS", "NATURAL", "ASOF"}

func nearly(words ...string) func(Token) bool {
	return func(t Token) bool {
		if t.Kind != Word {
			return false
		}
		for _, w := range words {
			if t.is(w) {
				return true
			}
		}
		return nearKeyword(t.Text, words) != ""
	}
}

// clauseMeant is the word of a clause that the current word is nearly, by its letters and by what follows it.
func (p *parser) clauseMeant() string {
	t := p.peek()
	if t.Kind != Word || len(t.Text) < 2 || len(t.Text) > 12 || aliasEnds[strings.ToUpper(t.Text)] {
		return ""
	}
	next := p.peekAt(1)
	for _, c := range clauseFollows {
		if w := nearKeyword(t.Text, c.words); w != "" && c.follows(next) {
			return w
		}
	}
	return ""
}

// aliasMeant reports whether the current word is a misspelled clause rather than an alias. Before JOIN it is an alias.
func (p *parser) aliasMeant() bool {
	w := p.clauseMeant()
	for _, j := range joinStarts {
		if w == j {
			return false
		}
	}
	return w != ""
}

// repair looks at a token where a clause has to start and none does. It corrects words that are nearly those of a
// clause, and forms of other dialects. true means that the token at hand is another one now.
func (p *parser) repair() bool {
	t := p.peek()
	if len(p.diagnostics) >= maxProblems {
		return false // what is not reported is not repaired either
	}
	if p.strayParenthesis() {
		return true
	}
	if t.Kind != Word {
		return false
	}
	next := p.peekAt(1)
	switch {
	case t.is("GROUP"), t.is("ORDER"), t.is("LATEST"):
		if next.is("BY") {
			return false
		}
		if next.Kind == Word && nearKeyword(next.Text, []string{"BY"}) != "" && startsExpr(p.peekAt(2)) {
			p.spell(1, "BY")
			return true
		}
		if !startsExpr(next) {
			return false
		}
		p.reportFix(next.Pos, "syntax", "expected BY after "+strings.ToUpper(t.Text)+", found "+next.describe(), "", InsertAfter(t.Pos, " BY"))
		p.insert(Token{Kind: Word, Text: "BY", Pos: t.Pos.end()})
		return true
	case t.is("ALLOWED") && nearly("LATENESS")(next) && !next.is("LATENESS"):
		p.spell(1, "LATENESS")
		return true
	case t.is("ALLOWED") && next.Kind == Number:
		p.reportFix(next.Pos, "syntax", "expected LATENESS after ALLOWED, found "+next.describe(), "", InsertAfter(t.Pos, " LATENESS"))
		p.insert(Token{Kind: Word, Text: "LATENESS", Pos: t.Pos.end()})
		return true
	case wordIn(t, joinStarts) && next.Kind == Word && nearKeyword(next.Text, []string{"JOIN", "OUTER"}) != "":
		p.spell(1, nearKeyword(next.Text, []string{"JOIN", "OUTER"}))
		return true
	}
	if w := p.clauseMeant(); w != "" {
		p.spell(0, w)
		return true
	}
	return p.foreignClause()
}

// strayParenthesis reads past a closing parenthesis that closes nothing.
func (p *parser) strayParenthesis() bool {
	t := p.peek()
	if p.open > 0 || !t.symbol(")") {
		return false
	}
	p.reportFix(t.Pos, "syntax", "no parenthesis is open that this one could close", "remove it", Remove(quote(")"), t.Pos))
	p.take()
	return true
}

// insert puts a token behind the current one.
func (p *parser) insert(t Token) {
	p.tokens = append(p.tokens, Token{})
	copy(p.tokens[p.at+2:], p.tokens[p.at+1:])
	p.tokens[p.at+1] = t
}

func wordIn(t Token, words []string) bool {
	for _, w := range words {
		if t.is(w) {
			return true
		}
	}
	return false
}
