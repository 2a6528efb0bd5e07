package editor_test

import (
	"slices"
	"testing"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/analyze"
	"github.com/streamsforge/streamsforge/engine/editor"
)

// What a pipeline is offered behind FROM and behind JOIN is just what the analyzer lets it read there.
func TestPipelinesAreOfferedWhatTheyCanRead(t *testing.T) {
	cat := append(slices.Clone(world), engine.Relation{Name: "vwap", Kind: engine.Pipeline, AppendOnly: true, EventTime: true, Schema: world[1].Schema})
	for _, before := range []string{"SELECT 1 FROM ", "SELECT 1 FROM trades t JOIN "} {
		list := editor.Complete(before, len(before), cat, engine.PipelineMode)
		for _, r := range cat {
			offered := slices.ContainsFunc(list.Items, func(it editor.Item) bool { return it.Kind == editor.KindRelation && it.Label == r.Name })
			_, problems := engine.Compile(before+r.Name, cat, engine.PipelineMode, engine.Options{})
			refused := slices.ContainsFunc(problems, func(d engine.Diagnostic) bool { return d.Code == analyze.CodePipelineInput })
			if offered == refused {
				t.Errorf("%s%s: offered %v, refused %v", before, r.Name, offered, refused)
			}
		}
	}
}
