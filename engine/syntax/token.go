package syntax

import "strings"

// TokenKind is the kind of a token.
type TokenKind uint8

// The kinds of tokens.
const (
	EOF TokenKind = iota
	// Word is an identifier or a keyword: which one is a matter of its place.
	Word
	// Number is digits with an optional fraction.
	Number
	// Text is a string literal; Token.Text is its value.
	Text
	// Symbol is an operator or punctuation.
	Symbol
	// bad stands for every token while the parser skips the rest of a broken clause; it matches nothing.
	bad
)

// Token is one lexical element.
type Token struct {
	Kind TokenKind
	Text string
	Pos  Pos
}

// is reports whether the token is the word w (upper case), in any case.
func (t Token) is(w string) bool {
	return t.Kind == Word && len(t.Text) == len(w) && strings.EqualFold(t.Text, w)
}

// symbol reports whether the token is the symbol s.
func (t Token) symbol(s string) bool { return t.Kind == Symbol && t.Text == s }

// describe names the token in a message.
func (t Token) describe() string {
	switch t.Kind {
	case EOF:
		return "the end of the statement"
	case Text:
		return "a string"
	case Number:
		return "the number " + t.Text
	default:
		return quote(t.Text)
	}
}

func quote(s string) string { return `"` + s + `"` }

// aliasEnds are the words that end an implicit alias: an alias of this text needs AS.
var aliasEnds = wordSet(
	"JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "WHERE", "GROUP", "WINDOW", "EMIT", "ON", "WITHIN", "FROM",
	"IN", "EXISTS", "UNNEST", "LATEST", "UNION",
	// Clause and operator words beyond the documented grammar end one too.
	"AND", "AS", "ASC", "ASOF", "BETWEEN", "DESC", "ELSE", "END", "EXCEPT", "FILTER", "HAVING", "ILIKE", "INTERSECT",
	"IS", "LATERAL", "LIKE", "LIMIT", "NATURAL", "NOT", "OFFSET", "OR", "ORDER", "OVER", "QUALIFY", "SELECT", "THEN",
	"USING", "WHEN", "WITH",
)

// clauseStarts are the words at which parsing goes on after a problem. GROUP, LATEST and ORDER count only before BY,
// ALLOWED before LATENESS.
var clauseStarts = wordSet(
	"SELECT", "FROM", "WHERE", "GROUP", "LATEST", "HAVING", "WINDOW", "EMIT", "UNION", "INTERSECT", "EXCEPT", "ORDER",
	"LIMIT", "OFFSET", "JOIN", "INNER", "CROSS", "NATURAL", "ALLOWED",
)

func wordSet(words ...string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[w] = true
	}
	return m
}
