package syntax

// Scan splits a text into its tokens, the last one EOF, without reading them as a statement. Comments and white space
// are the gaps between tokens. It serves tools that work on text which does not parse.
func Scan(src string) ([]Token, []Diagnostic) { return lex(src) }

// Is reports whether the token is the word w (upper case), in any case.
func (t Token) Is(w string) bool { return t.is(w) }

// IsSymbol reports whether the token is the symbol s.
func (t Token) IsSymbol(s string) bool { return t.symbol(s) }
