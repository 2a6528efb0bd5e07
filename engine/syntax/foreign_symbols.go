package syntax

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// foreignSymbols are operators of other languages and what they are here.
var foreignSymbols = []struct {
	written string
	kind    TokenKind
	is      string
	hint    string
}{
	{"<=>", Symbol, "=", "write IS NOT DISTINCT FROM"},
	{"===", Symbol, "=", ""},
	{"==", Symbol, "=", ""},
	{"=<", Symbol, "<=", ""},
	{"=>", Symbol, ">=", ""},
	{":=", Symbol, "=", ""},
	{"&&", Word, "AND", ""},
	{"^=", Symbol, "<>", ""},
}

// foreign reads what other dialects write between tokens: their operators, brackets around names, comments, and numbers
// that start with a point. It reports whether it has read something.
func (l *lexer) foreign() bool {
	rest := l.src[l.at:]
	for _, f := range foreignSymbols {
		if !strings.HasPrefix(rest, f.written) {
			continue
		}
		for range len(f.written) {
			l.advance()
		}
		hint, text := f.hint, f.is
		if hint == "" {
			hint = "write " + f.is
		} else {
			text = strings.TrimPrefix(hint, "write ")
		}
		l.reportFix(l.end(), codeDialect, quote(f.written)+" is no operator", hint, Replace(l.end(), f.written, text))
		l.emit(f.kind, f.is)
		return true
	}
	switch {
	case strings.HasPrefix(rest, "<<") || strings.HasPrefix(rest, ">>"):
		l.advance()
		l.advance()
		l.report(l.end(), codeDialect, quote(rest[:2])+" is no operator", "multiply or divide by a power of two")
		l.emit(Symbol, "*")
	case strings.HasPrefix(rest, "/*"):
		l.blockComment()
	case strings.HasPrefix(rest, "//"):
		l.advance()
		l.advance()
		l.reportFix(l.end(), codeDialect, "comments do not start with //", "write --", Replace(l.end(), "//", "--"))
		for l.at < len(l.src) && l.src[l.at] != '\n' {
			l.advance()
		}
	case rest[0] == '[' && l.bracketedName():
	case rest[0] == '!' && !strings.HasPrefix(rest, "!=") && !strings.HasPrefix(rest, "!~"):
		l.advance()
		l.reportFix(l.end(), codeDialect, `"!" is no operator`, "write NOT", &Fix{Title: "write NOT", Edits: []Edit{{l.end(), "NOT "}}})
		l.emit(Word, "NOT")
	case rest[0] == '.' && len(rest) > 1 && isDigit(rune(rest[1])) && !l.behindName():
		l.advance()
		l.digits()
		text := "0" + l.src[l.start.Offset:l.at]
		l.reportFix(l.end(), "bad-number", "a number starts with a digit", "write "+clip(text), Replace(l.end(), l.src[l.start.Offset:l.at], text))
		l.emit(Number, text)
	default:
		return false
	}
	return true
}

// behindName reports whether the last token is a word or number that the next character touches.
func (l *lexer) behindName() bool {
	n := len(l.tokens)
	return n > 0 && (l.tokens[n-1].Kind == Word || l.tokens[n-1].Kind == Number) && l.tokens[n-1].Pos.End == l.start.Offset
}

// oddPoints reads what makes a number of one point too many: 5. and 1.2.3.
func (l *lexer) oddPoints() {
	rest := l.src[l.at:]
	if !strings.HasPrefix(rest, ".") || len(rest) > 1 && isWordStart(rune(rest[1])) {
		return
	}
	for l.at < len(l.src) && (l.peek() == '.' || isDigit(l.peek())) {
		l.advance()
	}
	written := l.src[l.start.Offset:l.at]
	if strings.Count(written, ".") == 1 {
		l.reportFix(l.end(), "bad-number", quote(written)+" is not a number", "write "+clip(written)+"0", Replace(l.end(), written, written+"0"))
		return
	}
	l.report(l.end(), "bad-number", quote(clip(written))+" is not a number", "write one point; a version or an address is a string in single quotes")
}

// blockComment skips /* ... */.
func (l *lexer) blockComment() {
	n := strings.Index(l.src[l.at+2:], "*/")
	end := len(l.src)
	if n >= 0 {
		end = l.at + 2 + n + 2
	}
	text := l.src[l.at:end]
	for l.at < end {
		l.advance()
	}
	p := l.end()
	open := l.start
	open.End, open.Length, open.endColumn = open.Offset+2, 2, open.Column+2
	var fix *Fix
	if line, _, _ := strings.Cut(l.src[end:], "\n"); n >= 0 && !strings.Contains(text, "\n") && strings.TrimSpace(line) == "" {
		fix = &Fix{Title: "write -- before it", Edits: []Edit{{p, "--" + strings.TrimRight(text[2:len(text)-2], " ")}}}
	}
	l.reportFix(open, codeDialect, "comments do not start with /*", "write -- at the start of each of its lines", fix)
}

// bracketedName reads [name] as the name, unless it stands behind a value, as in x[1].
func (l *lexer) bracketedName() bool {
	if n := len(l.tokens); n > 0 && l.tokens[n-1].Pos.End == l.start.Offset {
		if last := l.tokens[n-1]; last.Kind == Word || last.symbol(")") || last.symbol("]") {
			return false
		}
	}
	rest := l.src[l.at+1:]
	name := rest[:wordLength(rest)]
	if name == "" || !strings.HasPrefix(rest[len(name):], "]") {
		return false
	}
	for end := l.at + len(name) + 2; l.at < end; {
		l.advance()
	}
	l.reportFix(l.end(), "quoted-name", "names are not quoted", "write "+name, Replace(l.end(), "["+name+"]", name))
	l.emit(Word, name)
	return true
}

// wordLength is the number of bytes of the word that a text starts with.
func wordLength(s string) int {
	for i, r := range s {
		if r == utf8.RuneError || i == 0 && !isWordStart(r) || !isWordPart(r) {
			return i
		}
	}
	return len(s)
}

// closing are the quotes that end what other quotes begin.
var closing = map[rune]rune{'"': '"', '`': '`', '“': '”', '‘': '’', '”': '”', '’': '’', '„': '“'}

// quoted reads text in quotes of another kind: as the name when it can be one, else as a string.
func (l *lexer) quoted(open rune) bool {
	end, ok := closing[open]
	if !ok {
		return false
	}
	rest := l.src[l.at+utf8.RuneLen(open):]
	n := strings.IndexRune(rest, end)
	if n < 0 || strings.Contains(rest[:n], "\n") {
		return false
	}
	inner := rest[:n]
	name := inner != "" && wordLength(inner) == len(inner)
	asText := !name || open != '`' && l.wantsText()
	written := l.src[l.at : l.at+utf8.RuneLen(open)+n+utf8.RuneLen(end)]
	for stop := l.at + len(written); l.at < stop; {
		l.advance()
	}
	text := quoteText(inner)
	switch {
	case open == '`' && !name:
		l.report(l.end(), "quoted-name", "names are not quoted, and hold letters, digits and _ only", "name it without other characters at its source")
		l.emit(Text, inner)
	case asText:
		l.reportFix(l.end(), "quoted-name", "strings stand in single quotes", "write "+clip(text), &Fix{Title: "use single quotes", Edits: []Edit{{l.end(), text}}})
		l.emit(Text, inner)
	default:
		l.reportFix(l.end(), "quoted-name", "names are not quoted", "write "+inner+", or a string in single quotes", Replace(l.end(), written, inner))
		l.emit(Word, inner)
	}
	return true
}

// wantsText reports whether a value rather than a name is likely here: behind a comparison or LIKE.
func (l *lexer) wantsText() bool {
	n := len(l.tokens)
	if n == 0 {
		return false
	}
	last := l.tokens[n-1]
	return last.Kind == Symbol && comparisons[last.Text] || last.is("LIKE") || last.is("ILIKE") ||
		last.symbol(",") && n > 1 && l.tokens[n-2].Kind == Text || last.symbol("->") || last.symbol("->>") || last.symbol("(") && n > 1 && l.tokens[n-2].is("IN")
}

// plainOperators are what typographic signs are written as.
var plainOperators = map[rune]string{'≤': "<=", '≥': ">=", '≠': "<>", '×': "*", '÷': "/", '–': "-", '−': "-"}

// unitSuffix writes 5s as 5 SECONDS; "" when the suffix is no unit of time.
func unitSuffix(s string) string {
	n := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyz")
	unit := map[string]string{"ms": "MILLISECONDS", "s": "SECONDS", "sec": "SECONDS", "m": "MINUTES", "min": "MINUTES", "h": "HOURS"}[s[len(n):]]
	if unit == "" || strings.Trim(n, "0123456789") != "" {
		return ""
	}
	return n + " " + unit
}

// plainNumber writes a number with an exponent, digit separators or in hexadecimal as it is written here; "" when it
// cannot.
func plainNumber(s string) string {
	if strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0X") {
		if n, err := strconv.ParseInt(s[2:], 16, 64); err == nil {
			return strconv.FormatInt(n, 10)
		}
		return ""
	}
	s = strings.ReplaceAll(s, "_", "")
	if strings.Trim(s, "0123456789") == "" {
		return s
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f > 1e18 || f < 1e-9 && f != 0 {
		return ""
	}
	out := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(out, ".") {
		out += ".0"
	}
	return out
}
