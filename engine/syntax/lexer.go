package syntax

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxText is the largest statement that is read, in bytes. It bounds the time and the depth of everything after.
const MaxText = 256 << 10

// lexer splits a text into tokens.
type lexer struct {
	src         string
	at          int // byte offset of the next rune
	line, col   int // of the next rune
	runes       int // before the next rune
	start       Pos // of the current token
	tokens      []Token
	diagnostics []Diagnostic
}

// lex returns the tokens of a text, the last one EOF, and what could not be read. Unreadable characters are skipped.
func lex(src string) ([]Token, []Diagnostic) {
	l := &lexer{src: src, line: 1, col: 1}
	if len(src) > MaxText {
		l.begin()
		l.report(l.start, "too-long", fmt.Sprintf("the statement has %d bytes; at most %d are read", len(src), MaxText), "split it into several tables")
		l.src = ""
	}
	for l.next() {
	}
	l.begin()
	l.emit(EOF, "")
	return l.tokens, l.diagnostics
}

// next reads one token and reports whether there may be another.
func (l *lexer) next() bool {
	l.skipSpace()
	if l.at >= len(l.src) {
		return false
	}
	l.begin()
	r := l.peek()
	switch {
	case isWordStart(r):
		for l.at < len(l.src) && isWordPart(l.peek()) {
			l.advance()
		}
		l.emit(Word, l.src[l.start.Offset:l.at])
	case r >= '0' && r <= '9':
		l.number()
	case r == '\'':
		l.text()
	default:
		l.symbol()
	}
	return true
}

func (l *lexer) skipSpace() {
	for l.at < len(l.src) {
		switch r := l.peek(); {
		case r == '-' && strings.HasPrefix(l.src[l.at:], "--"):
			for l.at < len(l.src) && l.src[l.at] != '\n' {
				l.advance()
			}
		case unicode.IsSpace(r) || r == '\ufeff':
			l.advance()
		default:
			return
		}
	}
}

func (l *lexer) number() {
	l.digits()
	if strings.HasPrefix(l.src[l.at:], ".") && l.at+1 < len(l.src) && isDigit(rune(l.src[l.at+1])) {
		l.advance()
		l.digits()
	}
	l.oddPoints()
	text := ""
	if strings.Count(l.src[l.start.Offset:l.at], ".") > 1 {
		text = "0"
	}
	if l.at < len(l.src) && isWordStart(l.peek()) {
		for l.at < len(l.src) && isWordPart(l.peek()) {
			l.advance()
		}
		l.exponent()
		written := l.src[l.start.Offset:l.at]
		var fix *Fix
		plain := plainNumber(written)
		if plain != "" {
			fix = Replace(l.end(), written, plain)
		}
		text = plain
		if plain == "" {
			text = "0"
		}
		hint := "write digits with an optional fraction, without exponent or suffix"
		if unit := unitSuffix(written); unit != "" {
			hint, fix = "write "+unit, Replace(l.end(), written, unit)
		}
		l.reportFix(l.end(), "bad-number", quote(clip(written))+" is not a number", hint, fix)
	}
	if text == "" {
		text = l.src[l.start.Offset:l.at]
	}
	l.emit(Number, text)
}

// exponent reads the sign and the digits behind 1e.
func (l *lexer) exponent() {
	written := l.src[l.start.Offset:l.at]
	if last := written[len(written)-1]; last != 'e' && last != 'E' || l.at+1 >= len(l.src) || l.src[l.at] != '-' && l.src[l.at] != '+' || !isDigit(rune(l.src[l.at+1])) {
		return
	}
	l.advance()
	l.digits()
}

func (l *lexer) digits() {
	for l.at < len(l.src) && isDigit(l.peek()) {
		l.advance()
	}
}

// text reads a string literal; two quotes are one.
func (l *lexer) text() {
	l.advance()
	var b strings.Builder
	for l.at < len(l.src) {
		r, n := utf8.DecodeRuneInString(l.src[l.at:])
		if r == utf8.RuneError && n == 1 {
			l.report(l.here(), "bad-character", "the string holds bytes that are not UTF-8", "")
			l.advance()
			continue
		}
		if r != '\'' {
			b.WriteRune(r)
			l.advance()
			continue
		}
		l.advance()
		if !strings.HasPrefix(l.src[l.at:], "'") {
			l.emit(Text, b.String())
			return
		}
		b.WriteByte('\'')
		l.advance()
	}
	open := l.start
	open.End, open.Length, open.endColumn = open.Offset+1, 1, open.Column+1
	l.report(open, "unterminated-string", "the string that starts here has no closing quote", "end it with a single quote; a quote inside is written twice")
	l.emit(Text, b.String())
}

// symbols are the operators and punctuation, longer ones first.
var symbols = []string{"->>", "->", "::", "!~", "~*", "~", "[", "]", "<=", ">=", "<>", "!=", "||", "(", ")", ",", ".", "*", "+", "-", "/", "%", "=", "<", ">", ";"}

func (l *lexer) symbol() {
	if l.foreign() {
		return
	}
	for _, s := range symbols {
		if strings.HasPrefix(l.src[l.at:], s) {
			for range len(s) {
				l.advance()
			}
			if s == "!=" {
				s = "<>"
			}
			l.emit(Symbol, s)
			return
		}
	}
	r := l.peek()
	if l.quoted(r) {
		return
	}
	l.advance()
	hint := ""
	switch r {
	case '"', '`', '“', '‘':
		hint = "it is not closed; strings stand in single quotes, names in none"
	case '#':
		hint = "comments start with --"
	case '^':
		hint = "write POWER(x, y)"
	case '&', '|':
		hint = "there are no operators on bits; write AND, OR, or || between texts"
	case '?', '$', ':':
		hint = "a statement has no parameters; write the value"
		if n := len(l.tokens); r == ':' && n > 0 && l.tokens[n-1].Pos.End == l.start.Offset {
			hint = "a member of a Json value is written x -> 'key'"
		}
	case '{', '}':
		hint = "write the name, or ref('name') in a project, without braces"
		for l.at < len(l.src) && l.peek() == r {
			l.advance()
		}
	case '≤', '≥', '≠', '×', '÷', '–', '−':
		hint = "write the operator in plain characters: " + plainOperators[r]
	case '\\':
		hint = "remove it: a statement may have several lines"
	case '@':
		hint = "a statement has no variables"
		if n := len(l.tokens); n > 0 && l.tokens[n-1].Pos.End == l.start.Offset {
			hint = "a relation has no version here; pin a schema revision with dependsOn in the definition"
		}
	case '”', '’', '„':
		hint = "strings stand in plain single quotes"
	}
	name := fmt.Sprintf("%q", r)
	if r == utf8.RuneError {
		name = "(bytes that are not UTF-8)"
	}
	l.report(l.end(), "bad-character", "unexpected character "+name, hint)
	l.emit(Symbol, l.src[l.start.Offset:l.at])
}

func (l *lexer) peek() rune {
	r, _ := utf8.DecodeRuneInString(l.src[l.at:])
	return r
}

func (l *lexer) advance() {
	r, n := utf8.DecodeRuneInString(l.src[l.at:])
	l.at += n
	l.col++
	l.runes++
	if r == '\n' {
		l.line++
		l.col = 1
	}
}

// here is the place of the next rune.
func (l *lexer) here() Pos {
	return Pos{Offset: l.at, End: l.at, Line: l.line, Column: l.col, rune: l.runes, endLine: l.line, endColumn: l.col}
}

func (l *lexer) begin() { l.start = l.here() }

// end is the stretch of the current token.
func (l *lexer) end() Pos {
	p := l.start
	p.End = l.at
	p.Length = l.runes - p.rune
	p.endLine, p.endColumn = l.line, l.col
	return p
}

func (l *lexer) emit(k TokenKind, text string) {
	l.tokens = append(l.tokens, Token{Kind: k, Text: text, Pos: l.end()})
}

func (l *lexer) report(p Pos, code, message, hint string) { l.reportFix(p, code, message, hint, nil) }

func (l *lexer) reportFix(p Pos, code, message, hint string, fix *Fix) {
	if len(l.diagnostics) < maxProblems {
		l.diagnostics = append(l.diagnostics, Diagnostic{Pos: p, Code: code, Message: message, Hint: hint, Fix: fix})
	}
}

func isDigit(r rune) bool     { return r >= '0' && r <= '9' }
func isWordStart(r rune) bool { return r == '_' || r != utf8.RuneError && unicode.IsLetter(r) }
func isWordPart(r rune) bool  { return isWordStart(r) || unicode.IsDigit(r) }
