package seed

import (
	"context"
	"fmt"
	"strings"

	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/view"
)

// Author is who created and last changed what is seeded.
const Author = "system"

// Report says what Plant did, by name, in order of creation.
type Report struct {
	Sources   []string
	Pipelines []string
	Tables    []string
	LeftOut   []LeftOut
}

// LeftOut is an entry of the world that this build cannot run yet, and why.
type LeftOut struct {
	Kind, Name, Why string
}

// Empty tells whether an environment has no definition at all.
func Empty(sn *catalog.Snapshot) bool {
	return len(sn.Sources()) == 0 && len(sn.Pipelines()) == 0 && len(sn.Tables()) == 0
}

// Plant creates what is missing of the demo world in the default environment. The caller
// decides whether to: an environment that somebody has used is not seeded. Names that are
// taken are passed over, so a seeding that was cut short is completed by the next.
func Plant(ctx context.Context, store *catalog.Store) (Report, error) {
	p := &planter{store: store, env: catalog.DefaultEnvironment}
	for _, s := range Sources() {
		if err := p.source(ctx, s); err != nil {
			return p.report, fmt.Errorf("seed source %s: %w", s.Name, err)
		}
	}
	for _, e := range Pipelines() {
		if err := p.pipeline(ctx, e); err != nil {
			return p.report, fmt.Errorf("seed pipeline %s: %w", e.Name, err)
		}
	}
	for _, e := range Tables() {
		if err := p.table(ctx, e); err != nil {
			return p.report, fmt.Errorf("seed table %s: %w", e.Name, err)
		}
	}
	return p.report, nil
}

type planter struct {
	store  *catalog.Store
	env    string
	report Report
}

func (p *planter) source(ctx context.Context, s catalog.Source) error {
	sn, err := p.store.Snapshot(p.env)
	if err != nil {
		return err
	}
	if _, taken := sn.Source(s.Name); taken {
		return nil
	}
	if _, err := p.store.CreateSource(ctx, p.env, Author, s); err != nil {
		return err
	}
	p.report.Sources = append(p.report.Sources, s.Name)
	return nil
}

func (p *planter) pipeline(ctx context.Context, e PipelineEntry) error {
	sn, err := p.store.Snapshot(p.env)
	if err != nil {
		return err
	}
	if len(sn.PipelinesFor(e.Name)) > 0 {
		return nil
	}
	v, err := p.store.ValidatePipeline(p.env, e.SQL)
	if err != nil {
		return err
	}
	if !v.OK {
		p.leaveOut("pipeline", e.Name, problems(v.Diagnostics))
		return nil
	}
	r, err := p.store.CreatePipeline(ctx, p.env, Author, e.Pipeline)
	if refused(err) {
		p.leaveOut("pipeline", e.Name, err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	if e.Running {
		if _, err := p.store.StartPipeline(ctx, p.env, r.ID); err != nil {
			return err
		}
	}
	p.report.Pipelines = append(p.report.Pipelines, e.Name)
	return nil
}

func (p *planter) table(ctx context.Context, e TableEntry) error {
	sn, err := p.store.Snapshot(p.env)
	if err != nil {
		return err
	}
	if _, taken := sn.TableNamed(e.Name); taken {
		return nil
	}
	v, err := p.store.ValidateTable(p.env, e.SQL)
	if err != nil {
		return err
	}
	if !v.OK {
		p.leaveOut("table", e.Name, problems(v.Diagnostics))
		return nil
	}
	r, err := p.store.CreateTable(ctx, p.env, Author, e.Table)
	if refused(err) {
		p.leaveOut("table", e.Name, err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	if e.Running {
		if _, err := p.store.StartTable(ctx, p.env, r.ID); err != nil {
			return err
		}
	}
	p.report.Tables = append(p.report.Tables, e.Name)
	return nil
}

func (p *planter) leaveOut(kind, name, why string) {
	p.report.LeftOut = append(p.report.LeftOut, LeftOut{kind, name, why})
}

// refused tells a rule of the catalog that this build cannot satisfy from a fault of the log.
func refused(err error) bool {
	return err != nil && view.CodeOf(err) != view.Internal && view.CodeOf(err) != view.Unavailable
}

func problems(ds []view.SqlDiagnostic) string {
	var texts []string
	for _, d := range ds {
		if d.Severity == "Error" {
			texts = append(texts, fmt.Sprintf("%d:%d %s", d.Line, d.Column, d.Message))
		}
	}
	return strings.Join(texts, "; ")
}
