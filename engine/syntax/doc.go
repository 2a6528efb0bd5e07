// Package syntax reads StreamsForge SQL: text becomes tokens, tokens become a syntax tree, a tree prints itself as
// canonical text.
//
//	text ──lex──▶ []Token ──Parse──▶ *Query ──String──▶ canonical text
//	                                   │
//	                                   └─▶ []Diagnostic, every problem with its place
//
// The parser is written by hand, one function per clause. A problem inside a clause is reported at its token, the
// rest of the clause is skipped, and parsing goes on at the next clause word: a statement with three mistakes gets
// three diagnostics. The tree holds the whole documented grammar and more than package analyze can plan; a clause
// that is understood but not planned is the analyzer's to report.
//
// Invariants: Parse never panics and always ends, for any input; parsing the printed form of a tree gives an equal
// tree; every node knows the text it came from.
//
//	q, problems := syntax.Parse("SELECT symbol, SUM(qty) FROM trades GROUP BY symbol")
package syntax
