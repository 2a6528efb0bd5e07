package syntax

// Expr is an expression.
type Expr interface {
	Node
	expr()
}

// ColumnRef names a column, with or without the relation's alias.
type ColumnRef struct {
	Pos
	Qualifier *Ident
	Name      Ident
}

// LiteralKind is the kind of a literal.
type LiteralKind uint8

// The kinds of literals.
const (
	NullLiteral LiteralKind = iota
	TrueLiteral
	FalseLiteral
	LongLiteral
	DoubleLiteral
	StringLiteral
)

// Literal is a constant. Text is the digits of a number or the value of a string.
type Literal struct {
	Pos
	Kind LiteralKind
	Text string
}

// Unary is "-" or NOT before an expression.
type Unary struct {
	Pos
	Op string
	X  Expr
}

// Binary is an operator between two expressions: OR, AND, a comparison, || or arithmetic. Comparisons cannot be
// chained.
type Binary struct {
	Pos
	Op    string
	OpPos Pos
	L, R  Expr
}

// Access is X -> Key, or X ->> Key with AsText.
type Access struct {
	Pos
	OpPos  Pos
	X      Expr
	AsText bool
	Key    Expr
}

// Is is X IS [NOT] NULL, TRUE, FALSE or DISTINCT FROM Y.
type Is struct {
	Pos
	X    Expr
	Not  bool
	What string // NULL, TRUE, FALSE, DISTINCT FROM
	Y    Expr   // only of DISTINCT FROM
}

// Between is X [NOT] BETWEEN Lo AND Hi.
type Between struct {
	Pos
	X, Lo, Hi Expr
	Not       bool
}

// Like is X [NOT] LIKE or ILIKE Pattern [ESCAPE e].
type Like struct {
	Pos
	X, Pattern, Escape Expr
	Not, FoldCase      bool
}

// InList is X [NOT] IN (a, b, ...).
type InList struct {
	Pos
	X    Expr
	Not  bool
	List []Expr
}

// InQuery is X [NOT] IN (SELECT ...).
type InQuery struct {
	Pos
	X     Expr
	Not   bool
	Query *Query
}

// Exists is EXISTS (SELECT ...); NOT EXISTS is a Unary around it.
type Exists struct {
	Pos
	Query *Query
}

// Subquery is a query as a value.
type Subquery struct {
	Pos
	Query *Query
}

// Case is CASE [operand] WHEN ... THEN ... [ELSE ...] END.
type Case struct {
	Pos
	Operand Expr // nil: searched
	Whens   []*When
	Else    Expr
}

// When is one branch of a Case.
type When struct {
	Pos
	Cond, Then Expr
}

// Cast is CAST(X AS Type).
type Cast struct {
	Pos
	X    Expr
	Type Ident // words joined by one space, upper case
}

// Call is a function or aggregate call.
type Call struct {
	Pos
	Name     Ident
	Star     bool
	Distinct bool
	Args     []Expr
	// OrderBy is the ORDER BY behind the arguments.
	OrderBy []*OrderItem
	// Filter is the condition of FILTER (WHERE ...); nil without.
	Filter Expr
	// Over makes the call one of a window function; nil without.
	Over *Over
}

func (*ColumnRef) expr() {}
func (*Literal) expr()   {}
func (*Unary) expr()     {}
func (*Binary) expr()    {}
func (*Access) expr()    {}
func (*Is) expr()        {}
func (*Between) expr()   {}
func (*Like) expr()      {}
func (*InList) expr()    {}
func (*InQuery) expr()   {}
func (*Exists) expr()    {}
func (*Subquery) expr()  {}
func (*Case) expr()      {}
func (*Cast) expr()      {}
func (*Call) expr()      {}
