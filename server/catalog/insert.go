package catalog

import (
	"fmt"
	"strings"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/syntax"
)

// insertProblem checks "INSERT INTO <sink>" before a query: the sink must be one of the definition's. nil means that
// there is no INSERT, or nothing wrong with it. It is one finding at the start of the statement.
func insertProblem(sql string, sinks []SinkSpec, what InputKind) *engine.Diagnostic {
	sink, _, found, problem := syntax.SplitInsert(sql)
	if !found {
		return nil
	}
	start := engine.Pos{Line: 1, Column: 1}
	if problem != nil {
		problem.Pos = start
		return problem
	}
	for _, s := range sinks {
		if s.Name == sink {
			return nil
		}
	}
	return &engine.Diagnostic{
		Pos: start, Code: "insert",
		Message: fmt.Sprintf("no sink named '%s' on this %s", sink, what), Hint: "add it in Sinks first",
	}
}

// insertText is the problem as part of a refusal, "" when there is none.
func insertText(sql string, sinks []SinkSpec, what InputKind) string {
	d := insertProblem(sql, sinks, what)
	if d == nil {
		return ""
	}
	return d.Message + ", " + d.Hint
}

// query is the statement that the engine compiles: without the INSERT, and with everything else where it was, so that
// findings point at what was written.
func query(sql string) string {
	_, rest, found, problem := syntax.SplitInsert(sql)
	if !found || problem != nil {
		return sql
	}
	blank := strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		return ' '
	}, sql[:len(sql)-len(rest)])
	return blank + rest
}
