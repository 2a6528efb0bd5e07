package syntax

// Node is a part of the syntax tree.
type Node interface {
	// Position is the text the node came from.
	Position() Pos
}

// Ident is a name as it was written.
type Ident struct {
	Pos
	Name string
}

// Query is a whole statement, or a query in parentheses.
type Query struct {
	Pos
	With []*CTE
	// Recursive marks WITH RECURSIVE.
	Recursive bool
	Body      Body
	OrderBy   []*OrderItem
	// Limit and Offset are nil when absent.
	Limit, Offset Expr
	// Refs are the ref('model') of a whole statement, subqueries included, in the order of the text.
	Refs []*TableName

	// broken says that parts of the statement could not be read and are missing here.
	broken bool
}

// Complete reports whether the tree of a whole statement holds all of it: what was wrong with the text, if anything, is
// known to mean something.
func (q *Query) Complete() bool { return !q.broken }

// CTE is one named query of a WITH list.
type CTE struct {
	Pos
	Name  Ident
	Query *Query
	// MaxRecursion is the number of MAX RECURSION; nil without.
	MaxRecursion *Literal
}

// Body is a *Select or a *SetOp.
type Body interface {
	Node
	body()
}

// SetOpKind is the kind of a set operation.
type SetOpKind string

// The set operations.
const (
	Union     SetOpKind = "UNION"
	Intersect SetOpKind = "INTERSECT"
	Except    SetOpKind = "EXCEPT"
)

// SetOp combines two queries; chains are left-deep and INTERSECT binds tighter.
type SetOp struct {
	Pos
	Kind SetOpKind
	// OpPos is the place of the operator's words.
	OpPos Pos
	// All and Distinct are the word after the operator; neither means DISTINCT.
	All, Distinct bool
	Left, Right   Body
}

// Select is one SELECT with its clauses. Absent clauses are nil.
type Select struct {
	Pos
	Distinct *Distinct
	Items    []*SelectItem
	// From is the first relation, Joins the rest in order.
	From    TableItem
	Joins   []*Join
	Where   *Where
	Latest  *LatestBy
	GroupBy *GroupBy
	Having  *Having
	Window  *Window
	// Windows are the named windows of window functions.
	Windows []*NamedWindow
	// Lateness is ALLOWED LATENESS.
	Lateness *Lateness
	Emit     *Emit
}

// Distinct is DISTINCT or DISTINCT ON (...).
type Distinct struct {
	Pos
	On []Expr
}

// SelectItem is one output column, or a star.
type SelectItem struct {
	Pos
	// Star marks * and alias.*; Qualifier is then the alias, when there is one.
	Star      bool
	Qualifier *Ident
	Expr      Expr
	Alias     *Ident
}

// TableItem is a relation in FROM: *TableName, *Derived or *Unnest.
type TableItem interface {
	Node
	tableItem()
}

// TableName reads a source, table, pipeline or CTE by name, or a model of the project by ref('name').
type TableName struct {
	Pos
	// Ref marks ref('name'); the place of the name is then the string, and RefPos that of the whole without its alias.
	Ref    bool
	RefPos Pos
	Name   Ident
	Alias  *Ident
}

// Derived is a query in FROM.
type Derived struct {
	Pos
	Lateral bool
	Query   *Query
	Alias   *Ident
}

// Unnest flattens an array.
type Unnest struct {
	Pos
	Arg   Expr
	Alias *Ident
}

// JoinKind is the kind of a join.
type JoinKind string

// The kinds of joins. Comma is a relation after a comma.
const (
	JoinInner JoinKind = "JOIN"
	JoinLeft  JoinKind = "LEFT JOIN"
	JoinRight JoinKind = "RIGHT JOIN"
	JoinFull  JoinKind = "FULL JOIN"
	JoinCross JoinKind = "CROSS JOIN"
	JoinComma JoinKind = ","
)

// Join adds a relation to FROM.
type Join struct {
	Pos
	Kind JoinKind
	// KindPos is the place of the join's words.
	KindPos Pos
	Natural bool
	// Asof marks ASOF JOIN and ASOF LEFT JOIN.
	Asof   bool
	Item   TableItem
	Within *Duration
	On     Expr
	Using  []Ident
}

// Unit is the unit of a duration in milliseconds.
type Unit int64

// The units of durations.
const (
	Milliseconds Unit = 1
	Seconds      Unit = 1000
	Minutes      Unit = 60 * Seconds
	Hours        Unit = 60 * Minutes
)

// Duration is a number with a unit.
type Duration struct {
	Pos
	N    int64
	Unit Unit
}

// Millis is the duration in milliseconds.
func (d *Duration) Millis() int64 { return d.N * int64(d.Unit) }

// Where is the WHERE clause.
type Where struct {
	Pos
	Expr Expr
}

// LatestBy is the LATEST BY clause.
type LatestBy struct {
	Pos
	Cols []Expr
}

// GroupBy is the GROUP BY clause. AllPos is the place of the word ALL.
type GroupBy struct {
	Pos
	All    bool
	AllPos Pos
	Items  []Expr
	// Sets are the grouping sets as positions of Items; nil: one set of them all.
	Sets [][]int
}

// Having is the HAVING clause.
type Having struct {
	Pos
	Expr Expr
}

// WindowKind is the kind of a window.
type WindowKind string

// The kinds of windows.
const (
	Tumbling WindowKind = "TUMBLING"
	Hopping  WindowKind = "HOPPING"
	Session  WindowKind = "SESSION"
)

// Window is the WINDOW clause. Advance is only set for HOPPING; Size is the gap of a SESSION.
type Window struct {
	Pos
	Kind    WindowKind
	Size    *Duration
	Advance *Duration
}

// Lateness is the ALLOWED LATENESS clause: how far behind the watermark a row may be and still count.
// Then says what becomes of rows that are further behind.
type Lateness struct {
	Pos
	For  *Duration
	Then LateRows
}

// LateRows is what becomes of rows that come too late to count. They are counted in every case.
type LateRows uint8

// What becomes of late rows.
const (
	LateKept    LateRows = iota // not written: they are kept in the late stream of the pipeline
	LateDropped                 // DROP
	LateAside                   // SIDE STREAM, the same as when nothing is written
)

var lateRowsWords = [...]string{"", " DROP", " SIDE STREAM"}

// Emit is the EMIT clause.
type Emit struct {
	Pos
	Changes bool // else FINAL
}

// OrderItem is one key of ORDER BY.
type OrderItem struct {
	Pos
	Expr Expr
	Desc bool
	// Nulls is "", "FIRST" or "LAST".
	Nulls string
}

func (*Select) body() {}
func (*SetOp) body()  {}

func (*TableName) tableItem() {}
func (*Derived) tableItem()   {}
func (*Unnest) tableItem()    {}
