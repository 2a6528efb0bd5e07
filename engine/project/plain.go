package project

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/syntax"
)

// Why a model cannot stand outside of its project.
var (
	ErrPipelineOverModel = errors.New("a pipeline of a server reads sources only")
	ErrKeyedPipeline     = errors.New("a pipeline has no declared key: make a model of the pipeline, and one that reads it with the key")
	ErrHiddenModel       = errors.New("a query of WITH has the name of a model that the statement reads; give it another one")
)

// Plain is the statement of a model for a place where models are tables and pipelines with the same names: ref('name')
// is the name, and a declared key over rows that only come is LATEST BY.
func (m *Compiled) Plain() (string, error) {
	q, _ := syntax.Parse(m.SQL)
	if m.Mode == engine.PipelineMode && len(q.Refs) > 0 {
		return "", fmt.Errorf("model %s: %w", m.Name, ErrPipelineOverModel)
	}
	if m.Mode == engine.PipelineMode && m.Upserted() {
		return "", fmt.Errorf("model %s: %w", m.Name, ErrKeyedPipeline)
	}
	sql := m.named()
	if m.Upserted() {
		// The tree prints without comments and without a semicolon at its end, so that it can stand in parentheses.
		inner, _ := syntax.Parse(sql)
		sql = fmt.Sprintf("SELECT * FROM (%s) AS %s LATEST BY (%s)", inner, m.Name, strings.Join(m.Effective.Key, ", "))
	}
	return sql, nil
}

// named is the statement with names in the places of ref('name').
func (m *Compiled) named() string {
	q, _ := syntax.Parse(m.SQL)
	sql := m.SQL
	for _, ref := range slices.Backward(q.Refs) {
		sql = sql[:ref.RefPos.Offset] + ref.Name.Name + sql[ref.RefPos.End:]
	}
	return sql
}

// PlainStatements are the statements of all models in order of dependency, each checked to mean the same outside of the
// project. The errors name every model that cannot stand there.
func (c *Checked) PlainStatements() ([]string, error) {
	var out []string
	var errs []error
	plain := plainCatalog{c}
	for _, m := range c.Models {
		sql, err := m.Plain()
		if err == nil {
			// A query of WITH can catch the name that stands for ref: then another plan comes out.
			if p, _ := engine.Compile(m.named(), plain, m.Mode, engine.Options{}); p == nil || p.Explain() != m.Program.Explain() {
				err = fmt.Errorf("model %s: %w", m.Name, ErrHiddenModel)
			} else if p, ds := engine.Compile(sql, plain, m.Mode, engine.Options{}); p == nil {
				err = fmt.Errorf("model %s: %s", m.Name, ds[0])
			}
		}
		if err != nil {
			errs = append(errs, err)
		}
		out = append(out, sql)
	}
	return out, errors.Join(errs...)
}

// plainCatalog is the catalog of a server that has the sources and the models.
type plainCatalog struct{ c *Checked }

// Relations finds sources and models.
func (p plainCatalog) Relations(name string) (out []engine.Relation) {
	for i := range p.c.Project.Sources {
		if s := &p.c.Project.Sources[i]; s.Name == name {
			out = append(out, s.Relation())
		}
	}
	if m := p.c.Model(name); m != nil {
		out = append(out, m.Relation())
	}
	return out
}

// Names lists sources and models.
func (p plainCatalog) Names() (out []string) {
	for _, s := range p.c.Project.Sources {
		out = append(out, s.Name)
	}
	for _, m := range p.c.Models {
		out = append(out, m.Name)
	}
	return out
}
