// Package simulate runs a project offline: rows go in, every model's changelog comes out, record by record, without a
// server.
//
// A Simulator is the engine with the simplest possible runtime around it: one clock for all models, one epoch a row
// (or one for several, where a fixture says so), models in order of dependency, so that a chain of them never shows a
// mix of two moments. Rows go through the decoder of production.
//
// A Fixture is input and what is expected of it. Run compares the two and says what differs, where it is written. Verify
// runs a fixture again in ways that must not show: with a restart after every epoch, and with the rows of a step in one
// epoch.
//
// Everything is a pure function of the project and the fixture. Time is that of the rows.
package simulate
