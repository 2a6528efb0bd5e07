// Package analyze turns a syntax tree into a plan: it finds relations and columns, gives every expression its kind,
// holds the rules of tables and pipelines, and reports every problem with its place.
//
// Analysis never stops at a problem. A relation that is not found makes a scope in which unknown columns are not
// reported again; an expression with a problem has no bound form and what contains it says nothing more. So each
// fault of a statement is reported once.
//
// A clause that the language has and this version does not plan answers with the code "not-yet-supported" at the
// clause; it is never ignored.
//
// The order of the work on one SELECT: FROM and joins make a node and a scope; WHERE filters; LATEST BY or grouping
// (with or without a window) change the scope; the select list projects; the hidden event time goes last.
package analyze
