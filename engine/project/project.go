package project

import (
	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/types"
)

// Project is a set of sources and models.
type Project struct {
	Name    string
	Sources []Source
	Models  []Model
}

// Source is a relation from outside.
type Source struct {
	Name   string
	Fields types.Schema
	// Key makes the source an updating relation: a row replaces the one with the same key, and a row that says so
	// (_op "d" or "delete", _retract) takes it away. nil: every row is a fact of its own.
	Key []string
	// TimestampField is the column that gives a row without an own _ts its event time; "" without.
	TimestampField string

	At, KeyAt Place
}

// The materializations that a model can declare.
const (
	MaterializedAppend  = "append"
	MaterializedUpsert  = "upsert"
	MaterializedRetract = "retract"
)

// Materializations lists them.
func Materializations() []string {
	return []string{MaterializedAppend, MaterializedUpsert, MaterializedRetract}
}

// Model is one statement with what it is materialized as.
type Model struct {
	Name string
	SQL  string
	// Text is where the statement stands.
	Text Text
	// Materialized is "" when it is not declared.
	Materialized string
	// Key is nil when it is not declared; an empty key is one.
	Key []string

	At, MaterializedAt, KeyAt Place
}

// Checked is a project whose models are compiled.
type Checked struct {
	Project Project
	// Models are in order of dependency: a model stands behind those that it reads. Models with errors are left out.
	Models []*Compiled
}

// Model finds a compiled model; nil when there is none of the name.
func (c *Checked) Model(name string) *Compiled {
	for _, m := range c.Models {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// Compiled is a model that can run.
type Compiled struct {
	Model
	Program *engine.Program
	// Mode is Pipeline for a statement with windows or interval joins, Table for every other one.
	Mode engine.Mode
	// Derived is the changelog of the statement itself, Effective that of the model: they differ when a key is declared
	// for a statement that only appends.
	Derived, Effective engine.Changelog
	// Reads are the sources and models that it reads, in the order of the statement.
	Reads []string
}

// Upserted reports whether the declared key gives an append-only statement its identity.
func (m *Compiled) Upserted() bool {
	return m.Derived.Mode == engine.Append && m.Effective.Mode == engine.Upsert
}

// Relation is the model as others read it.
func (m *Compiled) Relation() engine.Relation {
	r := m.Program.Relation(m.Name)
	if m.Upserted() {
		r.Kind, r.AppendOnly, r.Key = engine.Table, false, m.Effective.Key
	}
	return r
}
