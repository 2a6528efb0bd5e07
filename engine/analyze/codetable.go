package analyze

import "github.com/streamsforge/streamsforge/engine/syntax"

// CodeInfo describes one code of diagnostics: a row of docs/sql-diagnostics.md.
type CodeInfo struct {
	Code string
	// Severity is Warning for what a statement can run with. Codes that are mostly warnings and sometimes errors are
	// listed by what they usually are.
	Severity syntax.Severity
	// Group is the heading that the code stands under.
	Group string
	// Doc says when it is reported and what helps, in one line.
	Doc string
}

// The headings of the table.
const (
	groupText     = "Text"
	groupNames    = "Names"
	groupKinds    = "Kinds and calls"
	groupClauses  = "Clauses"
	groupJoins    = "Joins, subqueries and set operations"
	groupPipeline = "Pipelines"
	groupLimits   = "Limits"
	groupState    = "Warnings: state that grows"
	groupNever    = "Warnings: a query that can never give a row"
	groupSurprise = "Warnings: what may not be meant"
)

// Codes lists every code that a statement can be told, in the order of the documentation.
func Codes() []CodeInfo { return append([]CodeInfo(nil), codes...) }

var codes = []CodeInfo{
	{"syntax", syntax.Error, groupText, "Something else is expected here. The message says what, and what was found."},
	{"clause-order", syntax.Error, groupText, "A clause stands in the wrong place or twice. The clause is checked all the same."},
	{"misspelled-keyword", syntax.Error, groupText, "A word stands where a keyword has to stand, and is nearly one. The statement is checked as if it were."},
	{"other-dialect", syntax.Error, groupText, "A form of another SQL dialect. The hint is how it is written here."},
	{"bad-character", syntax.Error, groupText, "A character that is no part of the language, or bytes that are not UTF-8."},
	{"unterminated-string", syntax.Error, groupText, "A string has no closing quote. The place is the opening one."},
	{"quoted-name", syntax.Error, groupText, "Names are written without quotes; strings stand in single quotes."},
	{CodeBadNumber, syntax.Error, groupText, "A number that is not written as one, or that fits no Long or Double."},
	{"bad-duration", syntax.Error, groupText, "A duration is a whole number above zero with a unit, up to 100 years."},
	{"insert", syntax.Error, groupText, "INSERT INTO is followed by the name of a sink of the definition and a query."},

	{CodeUnknownRelation, syntax.Error, groupNames, "Nothing of this name can be read. The nearest name is suggested."},
	{CodeAmbiguousRelation, syntax.Error, groupNames, "The name is a source and a table at once. Rename one of them."},
	{CodeRef, syntax.Error, groupNames, "ref('name') outside of a project, for a source, or for a model that has problems of its own."},
	{CodeDuplicateAlias, syntax.Error, groupNames, "Two relations of one FROM have the same name. The place is the second."},
	{CodeDuplicateCTE, syntax.Error, groupNames, "Two queries of WITH have the same name. The place is the second."},
	{CodeCTEOrder, syntax.Error, groupNames, "A query of WITH is read before it is declared. Only WITH RECURSIVE reads itself."},
	{CodeAliasMissing, syntax.Error, groupNames, "A query in FROM, or an UNNEST, has no alias."},
	{CodeUnknownAlias, syntax.Error, groupNames, "The name before the point is no relation of FROM."},
	{CodeUnknownColumn, syntax.Error, groupNames, "No relation of FROM has the column. The nearest name is suggested."},
	{CodeAmbiguousColumn, syntax.Error, groupNames, "Several relations have the column. Write the alias before it."},
	{CodeDuplicateColumn, syntax.Warning, groupNames, "Two columns of the result have the same name: with aliases an error, without one a number is added."},
	{CodeReservedName, syntax.Error, groupNames, "_ts is the event time of the result and has to be a time."},

	{CodeUnknownFunction, syntax.Error, groupKinds, "There is no function or aggregate of this name. The nearest name is suggested."},
	{"argument-count", syntax.Error, groupKinds, "A call has too few or too many arguments. The hint is how it is written."},
	{"type-mismatch", syntax.Error, groupKinds, "An operand or argument has a kind that the operator or function does not take."},
	{CodeNotBoolean, syntax.Error, groupKinds, "A condition is no Bool. Compare it with something."},
	{"json-bare", syntax.Error, groupKinds, "A Json value stands where a plain one is needed. Take it out with ->> and convert it."},
	{CodeUnknownType, syntax.Error, groupKinds, "CAST names a type that does not exist."},
	{"constant-wanted", syntax.Error, groupKinds, "A percentile or a separator is no constant."},
	{"distinct-not-allowed", syntax.Error, groupKinds, "DISTINCT stands in a call that has no use for it."},
	{"order-not-allowed", syntax.Error, groupKinds, "ORDER BY stands in an aggregate that does not depend on order."},
	{CodeNotAggregate, syntax.Error, groupKinds, "FILTER or ORDER BY stands at a function that is no aggregate."},
	{CodeNestedAggregate, syntax.Error, groupKinds, "An aggregate stands inside another one."},
	{CodeAggregateHere, syntax.Error, groupKinds, "An aggregate stands where there are no groups yet, as in WHERE and ON."},

	{CodeNotGrouped, syntax.Error, groupClauses, "A selected column is neither in GROUP BY nor aggregated."},
	{CodeStarWithGroup, syntax.Error, groupClauses, "* cannot stand in a grouped query. List the columns."},
	{CodeRetention, syntax.Error, groupClauses, "The definition bounds the rows of a query that is not over one plain input. The place is the start."},
	{CodeGroupingWithoutKey, syntax.Error, groupClauses, "HAVING in a query without groups. Write WHERE."},
	{CodeLatestBy, syntax.Error, groupClauses, "LATEST BY where it is not possible, or by something that is no column."},
	{CodeOver, syntax.Error, groupClauses, "A window function where none can stand, without OVER, or a window that cannot be. Compute it in a query in FROM and read it outside."},
	{CodeFrame, syntax.Error, groupClauses, "The frame of a window function cannot be: its borders, or what RANGE and GROUPS need."},
	{CodeOrder, syntax.Warning, groupClauses, "ORDER BY, LIMIT, OFFSET, DISTINCT ON or grouping sets where they are not possible, or without effect (a warning)."},
	{CodeNotYet, syntax.Error, groupClauses, "Part of the language that the engine does not run yet. The hint is another way."},

	{CodeJoinWithoutOn, syntax.Error, groupJoins, "A join has no ON."},
	{CodeCrossJoinOn, syntax.Error, groupJoins, "CROSS JOIN has an ON."},
	{CodeCommaJoin, syntax.Error, groupJoins, "A comma in FROM is followed by something else than UNNEST."},
	{CodeJoinNoEquality, syntax.Warning, groupJoins, "ON has no equality between both sides: an error in a pipeline, a cost in a table."},
	{CodeJoinKeyKinds, syntax.Warning, groupJoins, "The two sides of a join key have different kinds and never match."},
	{CodeNestedLoop, syntax.Warning, groupJoins, "Every row is compared with every row of the other side. Add an equality."},
	{CodeUsing, syntax.Error, groupJoins, "USING or NATURAL with ON, or without a column in common."},
	{CodeAsof, syntax.Error, groupJoins, "The condition of an ASOF JOIN is not equalities and one inequality of times."},
	{CodeLateral, syntax.Error, groupJoins, "A query that reads the relations before it stands where these may be missing."},
	{CodeUnnest, syntax.Error, groupJoins, "UNNEST where it is not possible, of something that is no array, or an element used as a relation."},
	{CodeSubquery, syntax.Error, groupJoins, "A subquery stands where there is none, has several columns, or more than one row."},
	{CodeRecursive, syntax.Error, groupJoins, "A recursive query is not a base, UNION and a step that more rows only add to."},
	{CodeUnion, syntax.Error, groupJoins, "The branches of a set operation do not fit, or UNION and UNION ALL are mixed."},

	{CodePipelineInput, syntax.Error, groupPipeline, "A pipeline reads a table or pipeline. It reads sources only."},
	{CodeWindowMissing, syntax.Error, groupPipeline, "A pipeline aggregates without WINDOW."},
	{CodeWindowNotAllowed, syntax.Error, groupPipeline, "WINDOW stands in a table. A table keeps running totals."},
	{CodeEmitNotAllowed, syntax.Error, groupPipeline, "EMIT stands in a table. A table gives out every change."},
	{CodeLateness, syntax.Error, groupPipeline, "ALLOWED LATENESS stands in a table, or where nothing drops late rows."},
	{CodeJoinWithoutWithin, syntax.Error, groupPipeline, "A join of a pipeline does not say how far apart the times may be."},
	{CodeJoinWithin, syntax.Error, groupPipeline, "WITHIN stands in a table, which joins all current rows."},
	{CodeSubqueryWindow, syntax.Error, groupPipeline, "A subquery of a pipeline has no window whose results it could read."},
	{CodeLookup, syntax.Error, groupPipeline, "A pipeline reads a table in a way that is no lookup by a key."},
	{CodeKeyedChanges, syntax.Warning, groupPipeline, "A window aggregates the changes of a source with a key, not its rows."},
	{CodeEventTime, syntax.Error, groupPipeline, "A window or join needs the time of its rows, and the column _ts is none."},

	{"too-deep", syntax.Error, groupLimits, "Expressions or queries are nested deeper than the engine reads."},
	{"too-long", syntax.Error, groupLimits, "The statement is larger than the engine reads."},
	{CodeTooLarge, syntax.Error, groupLimits, "Too many relations, columns, grouping sets, or windows that one row belongs to."},

	{CodeUnboundedState, syntax.Warning, groupState, "An operator keeps more with every row: a join of two inputs that only grow, a group per time, all values of a percentile. Shown when definitions are validated."},

	{CodeNeverTrue, syntax.Warning, groupNever, "WHERE, HAVING or ON is TRUE for no row: it is constant, or asks of one value what no value can be."},
	{CodeNoRows, syntax.Warning, groupNever, "LIMIT 0 keeps no row."},
	{CodeNullComparison, syntax.Warning, groupNever, "A comparison with NULL is never TRUE. Write IS NULL or IS NOT NULL."},
	{CodeDifferentKinds, syntax.Warning, groupNever, "Values of different kinds are compared: text and numbers are never equal, and have no order."},
	{CodeAlwaysNull, syntax.Warning, groupNever, "A call gives NULL whatever the rows are: a unit, interval, pattern or text that means nothing."},

	{CodePlainPattern, syntax.Warning, groupSurprise, "The pattern of LIKE has neither % nor _ and is the same as equality."},
	{CodeCoalesceKinds, syntax.Warning, groupSurprise, "COALESCE has the kind of its first argument; one of another kind is converted or becomes NULL."},
	{CodeConstantKey, syntax.Warning, groupSurprise, "GROUP BY 1 groups by the number 1, not by the first column."},
	{CodeNoEventTime, syntax.Warning, groupSurprise, "_ts of a relation without event time, such as a grouped table, is always 0."},
	{CodeNotInNulls, syntax.Warning, groupSurprise, "With strict NOT IN, one NULL of the subquery makes it never TRUE."},
	{CodeWindowGaps, syntax.Warning, groupSurprise, "The windows of HOPPING leave gaps: rows between them count nowhere."},
	{CodeKeywordAlias, syntax.Warning, groupSurprise, "An alias before JOIN is nearly LEFT, INNER or another word of a join."},
	{CodeTextInSum, syntax.Warning, groupSurprise, "Text contributes nothing to a numeric aggregate. Use -> instead of ->>, or TO_DOUBLE."},
}
