package editor

import (
	"github.com/streamsforge/streamsforge/engine/analyze"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// probe is a catalog of a source a and another relation b.
type probe plan.InputKind

func (p probe) Names() []string { return []string{"a", "b"} }

func (p probe) Relations(name string) []analyze.Relation {
	r := analyze.Relation{Name: name, Kind: plan.Source, Schema: types.Schema{{Name: "k", Kind: types.String}}, EventTime: true, AppendOnly: true}
	if name == "b" {
		r.Kind, r.Key, r.AppendOnly = plan.InputKind(p), []string{"k"}, false
	}
	return []analyze.Relation{r}
}

// pipelineReads reports whether a pipeline can read relations of a kind, behind FROM or behind JOIN. The analyzer is
// asked, so that the rule has one place.
func pipelineReads(kind plan.InputKind, joined bool) bool {
	sql := "SELECT b.k FROM b"
	if joined {
		sql = "SELECT a.k FROM a JOIN b ON a.k = b.k"
	}
	q, _ := syntax.Parse(sql)
	_, found := analyze.Analyze(q, probe(kind), analyze.Pipeline, analyze.Options{})
	for _, d := range found {
		if d.Code == analyze.CodePipelineInput {
			return false
		}
	}
	return true
}
