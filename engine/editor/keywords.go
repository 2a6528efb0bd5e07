package editor

import "strings"

// keyword is one word, or words that belong together, with a line of help. Hover shows it and Format writes it in upper
// case.
type keyword struct{ words, doc string }

// keywordTable is every keyword of the dialect, sorted.
var keywordTable = []keyword{
	{"ADVANCE BY", "How far a hopping window moves: HOPPING(SIZE 10 SECONDS, ADVANCE BY 2 SECONDS)."},
	{"ALL", "After UNION, INTERSECT or EXCEPT: keep duplicates. GROUP BY ALL groups by every column without an aggregate."},
	{"ALLOWED LATENESS", "How far behind the watermark a row may be and still count, for this query."},
	{"AND", "TRUE when both sides are; FALSE AND NULL is FALSE."},
	{"AS", "Gives a column or a relation a name."},
	{"ASC", "Smallest first; the default of ORDER BY."},
	{"ASOF JOIN", "Joins the latest right row at or before the time of the left row. Tables only."},
	{"BETWEEN", "x BETWEEN low AND high is x >= low AND x <= high."},
	{"BOTH", "TRIM(BOTH 'x' FROM s) removes the characters at both ends."},
	{"CASE", "The THEN of the first WHEN that is true, else the ELSE, else NULL."},
	{"CAST", "CAST(x AS kind) converts; what cannot be converted is NULL."},
	{"CHANGES", "EMIT CHANGES gives out every change of an open window, not only its final result."},
	{"CROSS JOIN", "Every pair of rows."},
	{"CUBE", "GROUP BY CUBE(a, b) groups by every subset of the keys."},
	{"CURRENT ROW", "The row itself as a border of a window frame."},
	{"DESC", "Largest first."},
	{"DISTINCT", "Keeps one of equal rows; inside an aggregate, one of equal values."},
	{"DISTINCT ON", "Keeps the first row, by ORDER BY, of each group of equal expressions."},
	{"DROP", "After ALLOWED LATENESS: rows that are further behind are counted and not kept."},
	{"ELSE", "The value of CASE when no WHEN is true; without it the value is NULL."},
	{"EMIT", "EMIT FINAL gives out a window when it closes, EMIT CHANGES with every change. Pipelines only."},
	{"END", "Ends CASE."},
	{"ESCAPE", "The character that makes % and _ of LIKE stand for themselves."},
	{"EXCEPT", "The rows of the left query that the right one does not have."},
	{"EXCLUDE", "What a window frame leaves out: CURRENT ROW, GROUP, TIES or NO OTHERS."},
	{"EXISTS", "TRUE when the subquery has a row; it is kept up to date in tables."},
	{"FALSE", "The Bool that is not true."},
	{"FILTER", "SUM(x) FILTER (WHERE condition) aggregates only rows where the condition is TRUE."},
	{"FINAL", "EMIT FINAL gives out each window once, when it closes."},
	{"FIRST", "NULLS FIRST sorts NULLs before all values."},
	{"FOLLOWING", "Rows behind the row itself, in a window frame."},
	{"FROM", "The relations that the query reads."},
	{"FULL JOIN", "Keeps the rows of both sides; what has no partner gets NULLs."},
	{"GAP", "SESSION(GAP 30 SECONDS) closes a session after that long without a row."},
	{"GROUP BY", "One row for each group of equal keys."},
	{"GROUPING SETS", "Several GROUP BYs at once: GROUPING SETS ((a, b), (a), ())."},
	{"GROUPS", "A window frame by groups of rows that are equal in the order."},
	{"HAVING", "Keeps groups for which the condition is TRUE."},
	{"HOPPING", "Windows of one size that overlap: HOPPING(SIZE 10 SECONDS, ADVANCE BY 2 SECONDS)."},
	{"HOURS", "Unit of a duration."},
	{"ILIKE", "LIKE that ignores case."},
	{"IN", "TRUE when the value is one of a list or of a subquery's rows."},
	{"INNER JOIN", "Pairs of rows for which ON is TRUE; the same as JOIN."},
	{"INTERSECT", "The rows that both queries have."},
	{"INTERVAL", "A length of time: INTERVAL '1 day'."},
	{"IS", "x IS [NOT] NULL, TRUE, FALSE or DISTINCT FROM y; never NULL itself."},
	{"JOIN", "Pairs of rows for which ON is TRUE. A join in a pipeline needs WITHIN."},
	{"LAST", "NULLS LAST sorts NULLs behind all values."},
	{"LATERAL", "A subquery in FROM that reads the relations before it."},
	{"LATEST BY", "Keeps the newest row of each key; a row with _retract removes the key. Tables only."},
	{"LEADING", "TRIM(LEADING 'x' FROM s) removes the characters at the start."},
	{"LEFT JOIN", "Keeps every left row; without a partner the right columns are NULL."},
	{"LIKE", "Matches the whole text; % stands for any text, _ for one character."},
	{"LIMIT", "At most that many rows of ORDER BY."},
	{"MAX RECURSION", "Bounds the rounds of a recursive query."},
	{"MILLISECONDS", "Unit of a duration."},
	{"MINUTES", "Unit of a duration."},
	{"NATURAL JOIN", "Joins on all columns that both sides have."},
	{"NOT", "TRUE for FALSE and FALSE for TRUE; NOT NULL is NULL."},
	{"NULL", "No value. Comparisons with it are NULL; test it with IS NULL."},
	{"NULLS", "NULLS FIRST or NULLS LAST places NULLs in ORDER BY."},
	{"OFFSET", "Skips that many rows of ORDER BY."},
	{"ON", "The condition of a join."},
	{"OR", "TRUE when one side is; TRUE OR NULL is TRUE."},
	{"ORDER BY", "Sorts; with LIMIT the first rows are kept up to date."},
	{"OUTER", "LEFT OUTER JOIN is LEFT JOIN."},
	{"OVER", "Computes over the rows of a partition without grouping them."},
	{"PARTITION BY", "The keys that separate the rows of OVER."},
	{"PRECEDING", "Rows before the row itself, in a window frame."},
	{"PRECISION", "DOUBLE PRECISION is Double."},
	{"QUALIFY", "Keeps rows by the result of OVER."},
	{"RANGE", "A window frame by values of ORDER BY."},
	{"RECURSIVE", "WITH RECURSIVE: a named query that reads itself, up to its fixpoint."},
	{"RIGHT JOIN", "Keeps every right row; without a partner the left columns are NULL."},
	{"ROLLUP", "GROUP BY ROLLUP(a, b) groups by (a, b), (a) and ()."},
	{"ROWS", "A window frame by numbers of rows."},
	{"SECONDS", "Unit of a duration."},
	{"SELECT", "The columns of the result."},
	{"SESSION", "Windows that end after a gap without rows: SESSION(GAP 30 SECONDS)."},
	{"SIDE STREAM", "After ALLOWED LATENESS: rows that are further behind are kept in the late stream of the pipeline."},
	{"SIZE", "The length of a window."},
	{"THEN", "The value of a WHEN."},
	{"TRAILING", "TRIM(TRAILING 'x' FROM s) removes the characters at the end."},
	{"TRUE", "The Bool that is true."},
	{"TUMBLING", "Windows of one size, one after the other: TUMBLING(SIZE 5 SECONDS)."},
	{"UNBOUNDED", "The first or last row of the partition as a border of a window frame."},
	{"UNION", "The rows of both queries; UNION ALL keeps duplicates."},
	{"UNNEST", "One row for each element of an array: FROM t, UNNEST(t.legs) AS leg."},
	{"USING", "Joins on equal columns of both sides, which become one column."},
	{"WHEN", "A branch of CASE."},
	{"WHERE", "Keeps rows for which the condition is TRUE."},
	{"WINDOW", "Groups by time: TUMBLING, HOPPING or SESSION. Pipelines only."},
	{"WITH", "Named queries that the query reads like relations."},
	{"WITHIN", "How far apart in event time the rows of a pair may be. Pipelines only."},
}

// keywordWords are the single words of the table; units count in the singular too.
var keywordWords = func() map[string]bool {
	m := words("HOUR MILLISECOND MINUTE SECOND INSERT INTO SETS BY")
	for _, k := range keywordTable {
		for w := range words(k.words) {
			m[w] = true
		}
	}
	return m
}()

func words(list string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(list) {
		m[w] = true
	}
	return m
}

// isKeyword reports whether a word is one of the dialect's keywords, in any case.
func isKeyword(w string) bool { return keywordWords[strings.ToUpper(w)] }

// keywordDoc is the line of help of a keyword or of the first words of several, "" when there is none.
func keywordDoc(w string) string {
	w = strings.ToUpper(w)
	for cut := w; cut != ""; {
		for _, k := range keywordTable {
			if k.words == cut || k.words == cut+"S" {
				return k.doc
			}
		}
		i := strings.LastIndexByte(cut, ' ')
		if i < 0 {
			break
		}
		cut = cut[:i]
	}
	for _, k := range keywordTable {
		if strings.HasPrefix(k.words, w+" ") {
			return k.doc
		}
	}
	return ""
}
