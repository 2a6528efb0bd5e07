// Package project checks a set of models: named SQL statements that read sources and each other, with the
// materialization that their readers rely on.
//
//	Project ──Check──▶ Checked (models in order of dependency, compiled) + []Finding
//
// What a model is materialized as is declared; what it emits is derived from its plan; the two must agree
// (declared.go). A model reads another one as ref('name') and is planned with the changelog of that model as its input.
//
// The package is pure: files are read, and places in them are given, by the caller. A finding carries the place in the
// file that a person has to edit.
package project
