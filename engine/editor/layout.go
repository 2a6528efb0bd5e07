package editor

// queryBody writes a query, one clause a line.
func (f *formatter) queryBody(i, j int) {
	start := i
	for k := i; k < j; k++ {
		if f.tok(k).IsSymbol("(") {
			k = f.match[k]
			continue
		}
		if k > start && f.startsClause(k) {
			f.clause(start, k)
			f.newline()
			start = k
		}
	}
	f.clause(start, j)
}

// startsClause reports whether a clause starts at the k-th token.
func (f *formatter) startsClause(k int) bool {
	switch {
	case f.anyKeyword(k, "SELECT", "WHERE", "HAVING", "WINDOW", "EMIT", "UNION", "INTERSECT", "EXCEPT", "LIMIT", "OFFSET", "QUALIFY"):
		return true
	case f.keyword(k, "FROM"):
		return !f.keyword(k-1, "DISTINCT") || !f.anyKeyword(k-2, "IS", "NOT")
	case f.anyKeyword(k, "GROUP", "LATEST", "ORDER"):
		return f.keyword(k+1, "BY")
	case f.keyword(k, "ALLOWED"):
		return f.keyword(k+1, "LATENESS")
	case f.anyKeyword(k, joinWords...):
		return !f.anyKeyword(k-1, joinWords...)
	}
	return false
}

var joinWords = []string{"NATURAL", "ASOF", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "OUTER", "JOIN"}

// clause writes one clause: its words, and what follows them.
func (f *formatter) clause(i, j int) {
	if i >= j {
		return
	}
	head := i + 1
	switch {
	case f.keyword(i, "WITH"):
		if f.keyword(head, "RECURSIVE") {
			head++
		}
		f.flat(i, head)
		f.list(head, j, f.expr)
		return
	case f.keyword(i, "SELECT"):
		if f.anyKeyword(head, "DISTINCT", "ALL") {
			head++
			if f.keyword(head, "ON") && f.tok(head+1).IsSymbol("(") {
				head = f.match[head+1] + 1
			}
		}
		f.listClause(i, head, j)
		return
	case f.keyword(i, "FROM"):
		f.listClause(i, head, j)
		return
	case f.anyKeyword(i, "GROUP", "ORDER", "LATEST"):
		f.listClause(i, head+1, j)
		return
	case f.anyKeyword(i, joinWords...):
		for f.anyKeyword(head, joinWords...) {
			head++
		}
		f.flat(i, head)
		f.joined(head, j)
		return
	case f.anyKeyword(i, "UNION", "INTERSECT", "EXCEPT"):
		if f.anyKeyword(head, "ALL", "DISTINCT") {
			head++
		}
	case f.tok(i).IsSymbol("("):
		head = i
	}
	f.flat(i, head)
	f.expr(head, j)
}

// listClause writes a clause whose body is a list: in one line when it fits, else one entry a line. A single entry
// follows the words of the clause and breaks inside itself.
func (f *formatter) listClause(i, head, j int) {
	f.sequence(i, head)
	if f.fits(head, j) || len(f.commas(head, j)) == 0 && len(f.lead[head]) == 0 {
		f.expr(head, j)
		return
	}
	f.indent++
	f.newline()
	f.list(head, j, f.expr)
	f.indent--
}

// list writes entries between commas, each in a line of its own.
func (f *formatter) list(i, j int, entry func(i, j int)) {
	for _, c := range f.commas(i, j) {
		entry(i, c)
		f.token(c)
		f.newline()
		i = c + 1
	}
	entry(i, j)
}

// commas are the commas between tokens i and j that are in no parentheses.
func (f *formatter) commas(i, j int) []int {
	return f.find(i, j, func(k int) bool { return f.tok(k).IsSymbol(",") })
}

// find lists the tokens from i to j, outside of parentheses and of CASE, for which is holds.
func (f *formatter) find(i, j int, is func(k int) bool) []int {
	var out []int
	for k := i; k < j; k++ {
		switch {
		case f.tok(k).IsSymbol("("):
			k = f.match[k]
		case f.keyword(k, "CASE"):
			k = f.caseEnd(k, j)
		case is(k):
			out = append(out, k)
		}
	}
	return out
}

// joined writes the relation of a join and its condition.
func (f *formatter) joined(i, j int) {
	if f.fits(i, j) {
		f.flat(i, j)
		return
	}
	on := j
	if found := f.find(i, j, func(k int) bool { return f.anyKeyword(k, "ON", "USING", "WITHIN") }); len(found) > 0 {
		on = found[0]
	}
	f.sequence(i, on)
	if on == j {
		return
	}
	if f.fits(on, j) && !f.owing {
		f.flat(on, j)
		return
	}
	f.indent++
	f.newline()
	f.expr(on, j)
	f.indent--
}

// expr writes an expression. One that does not fit breaks at AND and OR, else at sums.
func (f *formatter) expr(i, j int) {
	if f.fits(i, j) {
		f.flat(i, j)
		return
	}
	between := false
	cuts := f.find(i, j, func(k int) bool {
		switch {
		case f.keyword(k, "BETWEEN"):
			between = true
		case f.keyword(k, "AND") && between:
			between = false
		case f.anyKeyword(k, "AND", "OR"):
			return k > i
		}
		return false
	})
	if len(cuts) == 0 {
		cuts = f.find(i, j, func(k int) bool {
			t := f.tok(k)
			return k > i && (t.IsSymbol("||") || (t.IsSymbol("+") || t.IsSymbol("-")) && !f.isSign(k))
		})
	}
	if len(cuts) == 0 || f.atQuery(i) {
		f.sequence(i, j)
		return
	}
	f.expr(i, cuts[0])
	f.indent++
	for n, c := range cuts {
		end := j
		if n+1 < len(cuts) {
			end = cuts[n+1]
		}
		f.newline()
		f.token(c)
		f.expr(c+1, end)
	}
	f.indent--
}

// atQuery reports whether a query in parentheses is all there is to the operand, as in a branch of UNION.
func (f *formatter) atQuery(i int) bool {
	return f.isQuery(i) && f.anyKeyword(f.match[i]+1, "UNION", "INTERSECT", "EXCEPT")
}

// sequence writes tokens with the parentheses and CASE among them.
func (f *formatter) sequence(i, j int) {
	for i < j {
		switch {
		case f.tok(i).IsSymbol("("):
			f.parenthesis(i)
			i = f.match[i] + 1
		case f.keyword(i, "CASE"):
			end := f.caseEnd(i, j)
			f.caseExpr(i, end)
			i = end + 1
		default:
			f.token(i)
			i++
		}
	}
}

func (f *formatter) parenthesis(open int) {
	end := f.match[open]
	if f.fits(open, end+1) {
		f.flat(open, end+1)
		return
	}
	f.token(open)
	f.indent++
	f.newline()
	if f.isQuery(open) {
		f.queryBody(open+1, end)
	} else {
		f.list(open+1, end, f.expr)
	}
	f.indent--
	f.newline()
	f.token(end)
}

// caseEnd is the position of the END of the CASE at i.
func (f *formatter) caseEnd(i, j int) int {
	depth := 0
	for k := i; k < j; k++ {
		switch {
		case f.tok(k).IsSymbol("("):
			k = f.match[k]
		case f.keyword(k, "CASE"):
			depth++
		case f.keyword(k, "END"):
			if depth--; depth == 0 {
				return k
			}
		}
	}
	return j - 1
}

// caseExpr writes CASE with one branch a line.
func (f *formatter) caseExpr(i, end int) {
	if f.fits(i, end+1) {
		f.flat(i, end+1)
		return
	}
	f.token(i)
	f.indent++
	start := i + 1
	for k := start; k < end; k++ {
		switch {
		case f.tok(k).IsSymbol("("):
			k = f.match[k]
		case f.keyword(k, "CASE"):
			k = f.caseEnd(k, end)
		case f.anyKeyword(k, "WHEN", "ELSE"):
			f.expr(start, k)
			f.newline()
			start = k
		}
	}
	f.expr(start, end)
	f.indent--
	f.newline()
	f.token(end)
}
