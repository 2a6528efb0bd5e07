package editor

import (
	"github.com/streamsforge/streamsforge/engine/analyze"
	"github.com/streamsforge/streamsforge/engine/syntax"
)

// clauseRanks order the clauses of a SELECT and of the query around it.
var clauseRanks = map[string]int{"SELECT": -1, "FROM": 0, "ON": 0, "WHERE": 1, "LATEST": 2, "GROUP": 3, "HAVING": 4, "WINDOW": 5, "ALLOWED": 6, "EMIT": 7,
	"UNION": 8, "INTERSECT": 8, "EXCEPT": 8, "ORDER": 9, "LIMIT": 10, "OFFSET": 11}

// laterClauses are the clauses in their order; Mode says where a clause has a meaning, 0 everywhere.
var laterClauses = []struct {
	rank int
	word string
	only string
}{
	{0, "FROM", ""}, {1, "WHERE", ""}, {2, "LATEST BY", "table"}, {3, "GROUP BY", ""}, {4, "HAVING", ""}, {5, "WINDOW", "pipeline"},
	{6, "ALLOWED LATENESS", "pipeline"}, {7, "EMIT FINAL", "pipeline"}, {7, "EMIT CHANGES", "pipeline"},
	{8, "UNION ALL", ""}, {8, "UNION", ""}, {8, "INTERSECT", ""}, {8, "EXCEPT", ""}, {9, "ORDER BY", ""}, {10, "LIMIT", ""}, {11, "OFFSET", ""},
}

// continuations offers what can follow a complete operand, relation or clause.
func (o *offers) continuations(p int) {
	cl, at := o.clause(o.inner, o.word)
	if o.inside != "" {
		o.continueInside(p, cl)
		return
	}
	o.caseWords(p, at)
	switch cl {
	case "WITH":
		if o.tok(p).IsSymbol(")") {
			o.keywords(groupFirst, "SELECT")
			o.keywords(groupKeyword, "MAX RECURSION")
		} else if o.tok(p).Kind == syntax.Number {
			o.keywords(groupFirst, "SELECT")
		}
		return
	case "":
		// Behind a branch of a set operation in parentheses.
		o.clauses(7)
		return
	case "SELECT":
		o.operators(p)
		o.keywords(groupFirst, "AS")
		o.afterCall(p)
		o.clauses(-1)
		return
	case "FROM":
		o.joins(p)
	case "ON", "WHERE", "HAVING", "QUALIFY":
		o.operators(p)
		o.afterCall(p)
		if cl == "ON" {
			o.joins(p)
		}
	case "GROUP":
		defer o.operators(p) // the next clause is likelier
	case "ORDER":
		defer o.operators(p)
		o.afterCall(p)
		o.keywords(groupFirst, "DESC", "ASC", "NULLS FIRST", "NULLS LAST", "NULLS")
	}
	o.clauses(clauseRanks[cl])
}

// clauses offers the clauses that come after the one of the given rank.
func (o *offers) clauses(rank int) {
	for _, c := range laterClauses {
		switch {
		case c.rank <= rank && c.rank != 8, rank == -1 && c.rank == 0 && c.word != "FROM", c.rank < rank:
			continue
		case rank > 8 && c.rank == 8:
			continue
		case rank == 10 && c.word == "LIMIT", c.only == "pipeline" && o.mode != analyze.Pipeline, c.only == "table" && o.mode != analyze.Table:
			continue
		}
		group := groupKeyword
		if c.only == "pipeline" {
			group = groupAggregate // a pipeline that groups needs a window
		}
		switch c.word {
		case "WINDOW":
			o.keywords(group, "WINDOW")
			o.snippet(group, "WINDOW TUMBLING", "WINDOW TUMBLING(SIZE ${1:5} ${2:SECONDS})", keywordDoc("TUMBLING"))
			o.snippet(group, "WINDOW HOPPING", "WINDOW HOPPING(SIZE ${1:10} ${2:SECONDS}, ADVANCE BY ${3:2} ${4:SECONDS})", keywordDoc("HOPPING"))
			o.snippet(group, "WINDOW SESSION", "WINDOW SESSION(GAP ${1:30} ${2:SECONDS})", keywordDoc("SESSION"))
		case "LATEST BY":
			o.snippet(group, "LATEST BY", "LATEST BY (${1:key})", keywordDoc("LATEST BY"))
		case "ALLOWED LATENESS":
			o.snippet(group, "ALLOWED LATENESS", "ALLOWED LATENESS ${1:10} ${2:SECONDS}", keywordDoc("ALLOWED LATENESS"))
		default:
			o.keywords(group, c.word)
		}
	}
	if o.mode == analyze.Table && rank < 5 && o.usesOver() {
		o.snippet(groupReserved, "WINDOW", "WINDOW ${1:w} AS (PARTITION BY ${2:key} ORDER BY ${3:column})", "Names a window for OVER name.")
	}
	if rank == 11 {
		o.keywords(groupKeyword, "LIMIT")
	}
}

// joins offers what follows a relation of FROM.
func (o *offers) joins(p int) {
	if cl, _ := o.clause(o.inner, o.word); cl == "FROM" {
		o.keywords(groupFirst, "AS")
		if o.joining(p) {
			o.keywords(groupFirst, "ON", "USING")
		}
	}
	if o.mode == analyze.Pipeline && o.joining(p) {
		o.snippet(groupFirst, "WITHIN", "WITHIN ${1:5} ${2:SECONDS}", keywordDoc("WITHIN"))
	}
	for _, w := range []string{"JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", "INNER JOIN", "NATURAL JOIN", "LEFT OUTER JOIN", "RIGHT OUTER JOIN", "FULL OUTER JOIN"} {
		o.keywords(groupKeyword, w)
	}
	if o.mode == analyze.Table {
		o.keywords(groupKeyword, "ASOF JOIN", "ASOF LEFT JOIN")
	}
}

// joining reports whether the relation before the cursor is the right side of a join.
func (o *offers) joining(p int) bool {
	for _, i := range o.outside(o.inner, p+1) {
		if o.keyword(i, "JOIN") {
			return true
		}
		if o.keyword(i, "FROM") {
			return false
		}
	}
	return false
}

// operators offers what combines an operand with others.
func (o *offers) operators(p int) {
	o.keywords(groupKeyword, "AND", "OR", "IS NULL", "IS NOT NULL", "IS", "IN", "NOT IN", "BETWEEN", "LIKE", "ILIKE", "NOT", "NOT LIKE", "NOT BETWEEN", "IS DISTINCT FROM")
	if o.tok(p).Kind == syntax.Text {
		o.keywords(groupKeyword, "ESCAPE")
	}
}

// afterCall offers FILTER and OVER behind a call.
func (o *offers) afterCall(p int) {
	if !o.tok(p).IsSymbol(")") {
		return
	}
	o.snippet(groupColumn, "FILTER", "FILTER (WHERE ${1:condition})", keywordDoc("FILTER"))
	o.snippet(groupColumn, "OVER", "OVER (PARTITION BY ${1:key} ORDER BY ${2:column})", keywordDoc("OVER"))
}

// caseWords offers the words of the CASE around the cursor.
func (o *offers) caseWords(p, from int) {
	depth := 0
	for i := p; i > from && i >= 0; i-- {
		switch {
		case o.tok(i).IsSymbol(")"):
			depth++
		case o.tok(i).IsSymbol("("):
			if depth == 0 {
				return
			}
			depth--
		case depth > 0:
		case o.keyword(i, "END"):
			for n := 1; n > 0 && i > 0; {
				i--
				if o.keyword(i, "END") {
					n++
				} else if o.keyword(i, "CASE") {
					n--
				}
			}
		case o.keyword(i, "WHEN"):
			o.keywords(groupFirst, "THEN")
			return
		case o.keyword(i, "THEN"):
			o.keywords(groupFirst, "WHEN", "ELSE", "END")
			return
		case o.keyword(i, "ELSE"):
			o.keywords(groupFirst, "END")
			return
		case o.keyword(i, "CASE"):
			o.keywords(groupFirst, "WHEN")
			return
		}
	}
}

// continueInside offers what follows an operand inside of parentheses.
func (o *offers) continueInside(p int, cl string) {
	open := o.open[len(o.open)-1]
	o.caseWords(p, open)
	switch o.inside {
	case "CAST":
		o.keywords(groupFirst, "AS")
	case "OVER":
		o.keywords(groupFirst, "ORDER BY", "PARTITION BY", "DESC", "ASC", "NULLS FIRST", "NULLS LAST", "NULLS", "ROWS BETWEEN", "ROWS", "RANGE", "GROUPS")
	case "SUBSTRING", "SUBSTR", "EXTRACT":
		o.keywords(groupFirst, "FROM", "FOR")
	case "POSITION":
		o.keywords(groupFirst, "IN")
	}
	if o.aggregate(o.inside) {
		o.keywords(groupAlias, "ORDER BY", "DESC", "ASC", "NULLS FIRST", "NULLS LAST", "NULLS")
	}
	o.operators(p)
	o.afterCall(p)
	if cl == "" || o.inside == "(" {
		o.clauses(7)
	}
}
