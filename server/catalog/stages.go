package catalog

import (
	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/server/view"
)

// outside is the stage number of an edge whose rows come from an input of the query.
const outside = -1

// stagesOf adds the stages of a table in several partitions to its plan, or why it has none.
func stagesOf(p *engine.Program, out *view.ExecutionPlan) {
	cut, err := p.Partition(out.Parallelism)
	if err != nil {
		why := err.Error()
		out.UnavailableReason = &why
		return
	}
	out.Physical, out.UnavailableReason = true, nil
	for _, s := range cut.Stages {
		stage := view.PlanStage{StageID: s.ID, Kind: s.Kind, Alias: s.Alias(), InEdges: []view.PlanEdgeRef{}}
		for _, e := range s.In {
			stage.InEdges = append(stage.InEdges, view.PlanEdgeRef{EdgeID: e.ID, Role: e.Role})
			out.Edges = append(out.Edges, planEdge(cut, s, e))
		}
		out.Stages = append(out.Stages, stage)
	}
}

func planEdge(cut *plan.Physical, to *plan.Stage, e *plan.Edge) view.PlanEdge {
	v := view.PlanEdge{EdgeID: e.ID, FromStageID: outside, ToStageID: to.ID, Role: e.Role, Mode: e.Mode.String(), ExternalInputNames: []string{}}
	if e.From == nil {
		v.ExternalInputNames = append(v.ExternalInputNames, cut.Query.Inputs[e.Input].Name)
		return v
	}
	v.FromStageID = e.From.ID
	if e.Mode != plan.HashPartition {
		return v
	}
	schema := e.From.Root.Schema()
	v.ArrangeKeyFields = []string{}
	for _, k := range e.Keys {
		name := k.String()
		if c, ok := k.(*expr.Column); ok {
			name = schema[c.Index].Name
		}
		v.ArrangeKeyFields = append(v.ArrangeKeyFields, name)
	}
	return v
}
