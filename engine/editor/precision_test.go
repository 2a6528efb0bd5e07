package editor_test

import (
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/editor"
	"github.com/streamsforge/streamsforge/engine/syntax"
)

// A keyword that is offered behind a beginning of a query is one that the grammar takes there: the parser finds no
// fault with the words, only that more must follow.
func TestOfferedKeywordsAreLegal(t *testing.T) {
	wrong := map[string]string{}
	places := 0
	eachQuery(t, func(sql string, cat catalog, mode engine.Mode) {
		tokens, _ := syntax.Scan(sql)
		for i, tok := range tokens {
			if tok.Kind == syntax.EOF {
				break
			}
			if i%7 != len(sql)%7 { // a sample
				continue
			}
			before := sql[:tok.Pos.Offset]
			if tok.Pos.Offset > 0 && before[len(before)-1] != ' ' && before[len(before)-1] != '\n' && before[len(before)-1] != '(' {
				continue
			}
			for _, it := range editor.Complete(before, len(before), cat, mode).Items {
				if it.Kind != editor.KindKeyword || it.Insert == "*" || it.Insert == "INSERT INTO" || it.Insert == "SETS" {
					continue
				}
				places++
				with := before + it.Insert
				_, ds := syntax.Parse(with)
				for _, d := range ds {
					// What is missing behind the words, or a parenthesis that is not closed yet, is no fault of them.
					if d.Pos.Offset >= len(before) && d.Pos.Offset < len(with) && wrong[it.Insert] == "" {
						wrong[it.Insert] = with + "\n\t" + d.String()
					}
				}
			}
		}
	})
	if len(wrong) > 0 {
		for w, why := range wrong {
			t.Errorf("%s: %s", w, strings.TrimSpace(why))
		}
	}
	t.Logf("%d keywords at their places", places)
}
