package editor_test

import (
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/editor"
)

// Large texts that repeat or nest one thing are answered in time that grows with them, not with their
// square: a wrong one would run into the limit of the test.
func TestLargeTexts(t *testing.T) {
	fill := func(s string) string { return strings.Repeat(s, 96<<10/len(s)+1) }
	var ctes strings.Builder
	ctes.WriteString("WITH a0 AS (SELECT * FROM trades)")
	for i := 1; ctes.Len() < 90<<10; i++ {
		ctes.WriteString(", a" + string(rune('a'+i%26)) + strings.Repeat("x", i%7) + " AS (SELECT b.symbol FROM a0 b)")
	}
	for _, sql := range []string{
		"SELECT " + fill("(")[:90<<10],
		fill("(SELECT ")[:90<<10],
		fill("SELECT a FROM (")[:90<<10],
		fill("SELECT a FROM b WHERE EXISTS (")[:90<<10],
		"SELECT " + fill("symbol, ")[:90<<10],
		"SELECT * FROM trades WHERE " + fill("qty > 1 AND ")[:90<<10],
		"SELECT * FROM trades t " + fill("JOIN quotes q ON q.symbol = t.symbol ")[:90<<10],
		fill("SELECT symbol FROM trades UNION ALL ")[:90<<10],
		"SELECT " + fill("CASE WHEN ")[:90<<10],
		"SELECT " + fill("ABS(")[:90<<10],
		"SELECT " + fill("'a', ")[:90<<10],
		fill("-- a\n")[:90<<10],
		ctes.String(),
	} {
		editor.Complete(sql, len(sql), world, engine.PipelineMode)
		editor.Hover(sql, len(sql)/2, world, engine.TableMode)
		editor.Signature(sql, len(sql))
		editor.Format(sql)
	}
}
