package editor

import (
	"strings"

	"github.com/streamsforge/streamsforge/engine/analyze"
	"github.com/streamsforge/streamsforge/engine/over"
	"github.com/streamsforge/streamsforge/engine/syntax"
)

// windowFunctions offers the functions that need OVER, with it.
func (o *offers) windowFunctions(cl string) {
	if o.mode != analyze.Table || cl != "SELECT" && cl != "ORDER" || o.inside == "OVER" {
		return
	}
	for _, f := range over.Functions() {
		o.function(f.Name, KindFunction, f.Signature, f.Result, f.Doc, groupFunction)
		if it := &o.items[len(o.items)-1]; strings.HasSuffix(it.Insert, ")") {
			it.Insert, it.Snippet = strings.Replace(it.Insert, "${1}", "${1:x}", 1)+" OVER (PARTITION BY ${2:key} ORDER BY ${3:column})", true
		}
	}
}

// inDefinition reports whether the innermost parenthesis is that of WINDOW name AS (...).
func (o *offers) inDefinition() bool {
	if o.inside != "AS" {
		return false
	}
	cl, _ := o.clause(o.inner, o.open[len(o.open)-1])
	return cl == "WINDOW"
}

// windowNames offers the named windows of the query.
func (o *offers) windowNames() {
	s := o.branch(o.inner, o.word)
	if s == nil {
		return
	}
	for _, w := range s.Windows {
		o.add(Item{Label: w.Name.Name, Kind: KindAlias, Insert: w.Name.Name, Detail: "window", Doc: "A window of WINDOW " + w.Name.Name + " AS (...).", group: groupFirst})
	}
}

// usesOver reports whether the query has a window function before the cursor.
func (o *offers) usesOver() bool {
	for _, i := range o.outside(o.inner, o.word) {
		if o.keyword(i, "OVER") {
			return true
		}
	}
	return false
}

// inNamedWindow offers AS behind the name of a window.
func (o *offers) inNamedWindow(p int) bool {
	cl, at := o.clause(o.inner, o.word)
	if cl != "WINDOW" || o.inside != "" || o.mode != analyze.Table {
		return false
	}
	switch {
	case p == at, o.tok(p).IsSymbol(","):
		return true // a new name is written
	case o.tok(p).Kind == syntax.Word && (p-1 == at || o.tok(p-1).IsSymbol(",")):
		o.keywords(groupFirst, "AS")
		return true
	}
	return false
}

// windowSignature is what hover and signatures say of a function that needs OVER.
func windowSignature(name string) (label, result, doc string, ok bool) {
	f, ok := over.Lookup(name)
	if !ok {
		return "", "", "", false
	}
	return f.Signature, f.Result, f.Doc, true
}

// overFrame reports whether the frame of a window has begun.
func (o *offers) overFrame(open, p int) bool {
	for i := open; i <= p; i++ {
		if o.anyKeyword(i, "ROWS", "RANGE", "GROUPS") {
			return true
		}
	}
	return false
}

// inFrame offers the words of a frame.
func (o *offers) inFrame(p int) {
	switch {
	case o.anyKeyword(p, "ROWS", "RANGE", "GROUPS"):
		o.keywords(groupFirst, "BETWEEN", "UNBOUNDED PRECEDING", "CURRENT ROW")
		o.snippet(groupKeyword, "INTERVAL", "INTERVAL '${1:1 day}'", keywordDoc("INTERVAL"))
	case o.keyword(p, "BETWEEN"), o.keyword(p, "AND"):
		o.keywords(groupFirst, "UNBOUNDED PRECEDING", "UNBOUNDED FOLLOWING", "CURRENT ROW")
		o.snippet(groupKeyword, "INTERVAL", "INTERVAL '${1:1 day}'", keywordDoc("INTERVAL"))
	case o.tok(p).Is("UNBOUNDED"), o.tok(p).Kind == syntax.Number, o.tok(p).Kind == syntax.Text:
		o.keywords(groupFirst, "PRECEDING", "FOLLOWING")
	case o.tok(p).Is("EXCLUDE"):
		o.keywords(groupFirst, "CURRENT ROW", "TIES", "GROUP", "NO OTHERS")
	case o.tok(p).Is("CURRENT"):
		o.keywords(groupFirst, "ROW")
	case o.tok(p).Is("NO"):
		o.keywords(groupFirst, "OTHERS")
	default:
		o.keywords(groupFirst, "AND", "EXCLUDE")
	}
}
