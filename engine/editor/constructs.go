package editor

import (
	"strings"

	"github.com/streamsforge/streamsforge/engine/syntax"
)

// inWindow offers what a window is written with.
func (o *offers) inWindow(p int) bool {
	if o.keyword(p, "WINDOW") && o.inside == "" {
		o.snippet(groupFirst, "TUMBLING", "TUMBLING(SIZE ${1:5} ${2:SECONDS})", keywordDoc("TUMBLING"))
		o.snippet(groupFirst, "HOPPING", "HOPPING(SIZE ${1:10} ${2:SECONDS}, ADVANCE BY ${3:2} ${4:SECONDS})", keywordDoc("HOPPING"))
		o.snippet(groupFirst, "SESSION", "SESSION(GAP ${1:30} ${2:SECONDS})", keywordDoc("SESSION"))
		return true
	}
	if o.inside != "TUMBLING" && o.inside != "HOPPING" && o.inside != "SESSION" {
		return false
	}
	switch t := o.tok(p); {
	case t.IsSymbol("(") && o.inside == "SESSION":
		o.keywords(groupFirst, "GAP")
	case t.IsSymbol("("):
		o.keywords(groupFirst, "SIZE")
	case t.IsSymbol(",") && o.inside == "HOPPING":
		o.keywords(groupFirst, "ADVANCE BY")
	case t.Is("ADVANCE"):
		o.keywords(groupFirst, "BY")
	case t.Kind == syntax.Number:
		o.units()
	}
	return true
}

func (o *offers) units() {
	for _, u := range []string{"SECONDS", "MINUTES", "HOURS", "MILLISECONDS"} {
		o.add(Item{Label: u, Kind: KindUnit, Insert: u, Doc: keywordDoc(u), group: groupFirst})
	}
	if o.tok(o.prev).Text == "1" {
		for _, u := range []string{"SECOND", "MINUTE", "HOUR", "MILLISECOND"} {
			o.add(Item{Label: u, Kind: KindUnit, Insert: u, Doc: keywordDoc(u + "S"), group: groupColumn})
		}
	}
}

// inDuration offers units behind the number of WITHIN and ALLOWED LATENESS.
func (o *offers) inDuration(p int) bool {
	if o.anyKeyword(p, "WITHIN", "LATENESS") && o.inside == "" {
		return true // a number is written
	}
	if o.tok(p).Kind == syntax.Number && o.anyKeyword(p-1, "WITHIN", "LATENESS") {
		o.units()
		return true
	}
	if o.tok(p-1).Kind == syntax.Number && o.anyKeyword(p-2, "LATENESS") && o.inside == "" {
		o.keywords(groupFirst, "DROP", "SIDE STREAM") // and the next clause
	}
	return o.inLateness(p)
}

// inLateness offers what stands behind the words of ALLOWED LATENESS that say what becomes of later rows.
func (o *offers) inLateness(p int) bool {
	allowed := func(k int) bool { return o.tok(k-2).Kind == syntax.Number && o.anyKeyword(k-3, "LATENESS") }
	switch upper(o.tok(p)) {
	case "SIDE":
		if allowed(p) {
			o.keywords(groupFirst, "STREAM")
			return true
		}
	case "DROP", "STREAM":
		if allowed(p) || upper(o.tok(p-1)) == "SIDE" && allowed(p-1) {
			o.clauses(clauseRanks["ALLOWED"])
			return true
		}
	}
	return false
}

// castKinds are the kinds that CAST takes, as SQL writes them.
var castKinds = []struct{ name, doc string }{
	{"TEXT", "String"}, {"BIGINT", "Long"}, {"DOUBLE PRECISION", "Double"}, {"BOOLEAN", "Bool"}, {"TIMESTAMP", "Timestamp"},
	{"STRING", "String"}, {"VARCHAR", "String"}, {"LONG", "Long"}, {"INT", "Long"}, {"INTEGER", "Long"}, {"DOUBLE", "Double"}, {"FLOAT", "Double"}, {"BOOL", "Bool"},
}

// inCall offers what only the parentheses of one construct hold.
func (o *offers) inCall(p int) bool {
	n := len(o.open)
	if n == 0 || o.open[n-1] == o.inner.open {
		return false
	}
	open := o.open[n-1]
	switch {
	case o.inside == "CAST" && o.keyword(p, "AS"):
		for _, k := range castKinds {
			o.add(Item{Label: k.name, Kind: KindType, Insert: k.name, Detail: k.doc, group: groupFirst})
		}
	case o.inside == "CAST" && o.tok(p).Is("DOUBLE") && o.keyword(p-1, "AS"):
		o.keywords(groupFirst, "PRECISION")
	case o.inside == "USING":
		o.shared()
	case o.inside == "FILTER" && p == open:
		o.keywords(groupFirst, "WHERE")
	case o.inside == "EXTRACT" && p == open:
		for _, f := range []string{"YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "DOW", "DOY", "EPOCH"} {
			o.add(Item{Label: f, Kind: KindUnit, Insert: f + " FROM ", group: groupFirst})
		}
		return false
	case o.inside == "EXTRACT" && p == open+1 && o.tok(p).Kind == syntax.Word:
		o.keywords(groupFirst, "FROM")
		return false
	case o.inside == "TRIM" && p == open:
		o.keywords(groupKeyword, "BOTH", "LEADING", "TRAILING", "FROM")
		return false
	case o.inside == "TRIM" && p == open+1 && o.tok(p).Kind == syntax.Word:
		o.keywords(groupFirst, "FROM")
		return false
	case o.inside == "OVER" && p == open:
		o.keywords(groupFirst, "PARTITION BY", "ORDER BY")
		o.windowNames()
		o.keywords(groupKeyword, "ROWS", "RANGE", "GROUPS")
	case o.inside == "OVER" && o.anyKeyword(p, "PARTITION", "ORDER"):
		o.keywords(groupFirst, "BY")
	case o.inside == "OVER" && o.overFrame(open, p):
		o.inFrame(p)
	default:
		return false
	}
	return true
}

// shared offers the columns that the joined relation and one before it have both.
func (o *offers) shared() {
	in := o.inScope(o.stack)
	count := map[string]int{}
	for _, s := range in {
		for _, c := range s.columns {
			if !s.outer {
				count[strings.ToLower(c.Name)]++
			}
		}
	}
	for _, s := range in {
		for _, c := range s.columns {
			if !s.outer && count[strings.ToLower(c.Name)] > 1 {
				o.add(Item{Label: c.Name, Kind: KindColumn, Insert: c.Name, Detail: c.describe(), group: groupFirst})
			}
		}
	}
}
