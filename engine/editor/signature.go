package editor

import (
	"strings"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/syntax"
)

// Call is the call that an offset is in.
type Call struct {
	// Label is the signature: "ROUND(x [, digits])". Parameters are stretches of it in bytes.
	Label      string
	Parameters []Parameter
	// Active is the position of the parameter that is being written; -1 when the call takes no more.
	Active int
	Result string
	Doc    string
}

// Parameter is one parameter of a signature: Label is its text, From and To its bytes in the label.
type Parameter struct {
	Label    string
	From, To int
}

// Signature describes the innermost call around an offset and which of its parameters is being written. nil when the
// offset is in no call of a known function.
func Signature(sql string, offset int) *Call {
	if len(sql) > syntax.MaxText {
		return nil
	}
	offset = clamp(sql, offset)
	t := &text{src: sql}
	t.tokens, _ = syntax.Scan(sql)
	t.findComments()
	type level struct {
		name  string
		args  int
		query bool
	}
	var open []level
	for i, tok := range t.tokens {
		// A parenthesis counts once the cursor is behind it.
		if tok.Kind == syntax.EOF || tok.Pos.Offset >= offset {
			break
		}
		switch {
		case tok.IsSymbol("("):
			l := level{query: t.tok(i+1).Is("SELECT") || t.tok(i+1).Is("WITH")}
			if before := t.tok(i - 1); before.Kind == syntax.Word {
				l.name = before.Text
			}
			open = append(open, l)
		case tok.IsSymbol(")") && len(open) > 0:
			open = open[:len(open)-1]
		case len(open) > 0 && (tok.IsSymbol(",") || separates(open[len(open)-1].name, tok)):
			open[len(open)-1].args++
		}
	}
	for n := len(open) - 1; n >= 0; n-- {
		if open[n].query {
			return nil
		}
		if c := signatureOf(open[n].name, open[n].args); c != nil {
			return c
		}
	}
	return nil
}

// separates reports whether a word stands between two arguments of the calls that are written with words.
func separates(call string, t syntax.Token) bool {
	switch strings.ToUpper(call) {
	case "EXTRACT":
		return t.Is("FROM")
	case "SUBSTRING", "SUBSTR":
		return t.Is("FROM") || t.Is("FOR")
	case "POSITION":
		return t.Is("IN")
	}
	return false
}

func signatureOf(name string, args int) *Call {
	c := &Call{}
	if a, ok := agg.Lookup(name); ok {
		c.Label, c.Result, c.Doc = written(a.Signature, a.Name, name), a.Result, a.Doc+" Over no rows it is "+a.Empty+"."
	} else if f, ok := expr.Lookup(name); ok && !f.Operator {
		c.Label, c.Result, c.Doc = written(f.Signature, f.Name, name), f.Result, f.Doc
	} else if label, result, doc, ok := windowSignature(name); ok {
		c.Label, c.Result, c.Doc = written(label, strings.ToUpper(name), name), result, doc
	} else if strings.EqualFold(name, "CAST") {
		c.Label, c.Result, c.Doc = "CAST(x AS kind)", "kind", keywordDoc("CAST")
	} else {
		return nil
	}
	c.Parameters = parameters(c.Label)
	c.Active = args
	if n := len(c.Parameters); args >= n {
		c.Active = -1
		if n > 0 && c.Parameters[n-1].Label == "..." {
			c.Active = n - 1
		}
	}
	return c
}

// written is the signature with the name that was written, where that is an alias.
func written(signature, name, alias string) string {
	if strings.EqualFold(name, alias) {
		return signature
	}
	return strings.ReplaceAll(signature, name+"(", strings.ToUpper(alias)+"(")
}

// parameters finds the parameters in the last form of a signature: of "COUNT(*), COUNT([DISTINCT] x)" those of the
// second. Brackets mark what can be left out; words in capitals are part of the syntax.
func parameters(label string) []Parameter {
	depth, start := 0, 0
	for i := range len(label) {
		switch {
		case label[i] == '(':
			if depth++; depth == 1 {
				start = i + 1
			}
		case label[i] == ')':
			depth--
		}
	}
	end := strings.LastIndexByte(label, ')')
	if end < start {
		return nil
	}
	var out []Parameter
	for at := start; at < end; {
		stop := at
		for stop < end && label[stop] != ',' && !strings.HasPrefix(label[stop:], " IN ") {
			stop++
		}
		if p, ok := parameter(label, at, stop); ok {
			out = append(out, p)
		}
		at = stop + 1
		if n := len(out); n > 0 && strings.Contains(label[out[n-1].To:stop], "ORDER BY") {
			break // the keys of ORDER BY are no parameters
		}
	}
	return out
}

// parameter is the first name in lower case, or the dots, of a stretch of a signature.
func parameter(label string, from, to int) (Parameter, bool) {
	for at := from; at < to; at++ {
		if strings.HasPrefix(label[at:to], "...") {
			return Parameter{Label: "...", From: at, To: at + 3}, true
		}
		if label[at] >= 'a' && label[at] <= 'z' || label[at] == '\'' {
			end := at + 1
			for end < to && !strings.ContainsRune(" ,[]", rune(label[end])) {
				end++
			}
			return Parameter{Label: label[at:end], From: at, To: end}, true
		}
	}
	return Parameter{}, false
}
