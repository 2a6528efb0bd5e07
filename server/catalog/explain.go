package catalog

import (
	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/server/view"
)

// Explanation is how a query runs.
type Explanation = engine.Explanation

// ExplainPipeline explains the stored query of a pipeline, without what a running one has done. A query that does not
// compile is a view.Conflict.
func (s *Store) ExplainPipeline(sn *Snapshot, r *PipelineRecord) (Explanation, error) {
	return explained(s.CompilePipeline(sn, r))
}

// ExplainTable explains the stored query of a table; see ExplainPipeline.
func (s *Store) ExplainTable(sn *Snapshot, r *TableRecord) (Explanation, error) {
	return explained(s.CompileTable(sn, r))
}

// ExplainQuery explains a query that is not stored, as a pipeline or a table would run it. One that does not compile is
// a view.Invalid with every problem.
func (s *Store) ExplainQuery(env, sql string, what InputKind) (Explanation, error) {
	sn, err := s.Snapshot(env)
	if err != nil {
		return Explanation{}, err
	}
	mode := engine.TableMode
	if what == InputPipeline {
		mode = engine.PipelineMode
	}
	if d := insertProblem(sql, nil, what); d != nil {
		return Explanation{}, view.Errorf(view.Invalid, "%s", d.String())
	}
	p, f := s.compile(sn, sql, mode, s.options(engine.Options{}))
	if p == nil {
		return Explanation{}, view.Errorf(view.Invalid, "%s", f.errorText())
	}
	return p.Describe(nil), nil
}

func explained(p *engine.Program, err error) (Explanation, error) {
	if err != nil {
		return Explanation{}, err
	}
	return p.Describe(nil), nil
}
