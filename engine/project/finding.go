package project

import (
	"cmp"
	"slices"

	"github.com/streamsforge/streamsforge/engine/syntax"
)

// Finding is one problem of a project, at the place where it can be mended.
type Finding struct {
	Place    Place           `json:"place"`
	Severity syntax.Severity `json:"severity"`
	// Model is the model it is about, "" when it is about none.
	Model string `json:"model,omitempty"`
	// Code is stable kebab-case: those of SQL diagnostics and those of this package.
	Code    string `json:"code"`
	Message string `json:"message"`
	// Hint says what to do about it; it may be empty.
	Hint string `json:"hint,omitempty"`
}

// The severities, as those of diagnostics.
const (
	Error   = syntax.Error
	Warning = syntax.Warning
)

// The codes of this package. Statements add the codes of SQL diagnostics.
const (
	CodeDuplicateName = "duplicate-name"
	CodeBadName       = "bad-name"
	CodeUnknownKind   = "unknown-materialization"
	CodeMaterialized  = "materialized-missing"
	CodeMismatch      = "changelog-mismatch"
	CodeKey           = "key"
	CodeCycle         = "cyclic-ref"
	// CodePipelineOverModel is a warning.
	CodePipelineOverModel = "pipeline-over-model"
)

// String prints "models/big.sql:3:8: unknown-column: no column ...; did you mean ...?".
func (f Finding) String() string {
	s := f.Place.String() + ": "
	if f.Severity == syntax.Warning {
		s += "warning: "
	}
	s += f.Code + ": " + f.Message
	if f.Hint != "" {
		s += "; " + f.Hint
	}
	return s
}

// HasErrors reports whether one of the findings forbids to run the project.
func HasErrors(fs []Finding) bool {
	return slices.ContainsFunc(fs, func(f Finding) bool { return f.Severity == syntax.Error })
}

// Sort orders findings by place, then by code.
func Sort(fs []Finding) {
	slices.SortStableFunc(fs, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Place.File, b.Place.File), cmp.Compare(a.Place.Line, b.Place.Line),
			cmp.Compare(a.Place.Column, b.Place.Column), cmp.Compare(a.Code, b.Code))
	})
}
