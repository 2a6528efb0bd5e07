// Package project reads the files of a project: streamsforge.yml (or streamform.yml), the statements of its models and
// its fixtures, and runs them without a server.
//
// Reading is strict: an unknown key is an error with the nearest one that exists, and everything that is found has a
// file, a line and a column. What the files mean is decided in the engine: engine/project checks, engine/simulate runs.
package project
