package over

import (
	"fmt"
	"strconv"

	"github.com/streamsforge/streamsforge/engine/agg"
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
)

// CodeConstant is the code of a binding error: a number that has to be a constant is none.
const CodeConstant = agg.CodeConstant

// Call is a window function with its bound arguments. The window's partition and order are not part of it: calls of
// one window are computed together.
type Call struct {
	What What
	// Name as it prints; of an aggregate Agg says it.
	Name string
	// Agg is the aggregate of What Aggregate.
	Agg agg.Call
	// Arg is the value that LAG, FIRST_VALUE and their like read; nil for the others.
	Arg expr.Expr
	// Default is what LAG and LEAD give where there is no row; nil: NULL.
	Default expr.Expr
	// N is the constant of NTILE, NTH_VALUE, LAG and LEAD. NoN says that it is NULL, and so is the result.
	N   int64
	NoN bool
	// Frame counts for aggregates and the functions that are Framed.
	Frame Frame
	// K is the kind of the result.
	K types.Kind
}

// Framed reports whether the frame counts.
func (c Call) Framed() bool {
	switch c.What {
	case Aggregate, FirstValue, LastValue, NthValue:
		return true
	}
	return false
}

// Bind checks the arguments and returns the call. The error is an *expr.BindError.
func (f *Function) Bind(args []expr.Expr) (Call, error) {
	if len(args) < f.min || len(args) > f.max {
		want := strconv.Itoa(f.min)
		if f.max > f.min {
			want += " to " + strconv.Itoa(f.max)
		}
		plural := "s"
		if want == "1" {
			plural = ""
		}
		return Call{}, bindErrorf(-1, expr.CodeArgumentCount, "write "+f.Signature, "%s takes %s argument%s, found %d", f.Name, want, plural, len(args))
	}
	c := Call{What: f.what, Name: f.Name, K: types.Long, N: 1}
	switch f.what {
	case PercentRank, CumeDist:
		c.K = types.Double
	case Ntile:
		return c, c.constant(args, 0, 1)
	case FirstValue, LastValue, NthValue, Lag, Lead:
		c.value(args[0])
		if f.what == NthValue {
			return c, c.constant(args, 1, 1)
		}
		if len(args) > 1 {
			if err := c.constant(args, 1, -1<<62); err != nil {
				return Call{}, err
			}
		}
		if len(args) > 2 {
			return c, c.otherwise(args)
		}
	}
	return c, nil
}

func (c *Call) value(x expr.Expr) {
	if x.Kind() == types.Unknown {
		x = expr.As(x, types.String)
	}
	c.Arg, c.K = x, x.Kind()
}

// constant reads N, which is at least least.
func (c *Call) constant(args []expr.Expr, at int, least int64) error {
	l, ok := expr.Fold(args[at]).(*expr.Literal)
	if ok && l.V.IsNull() {
		c.NoN = true
		return nil
	}
	if !ok || l.V.Kind() != types.Long {
		return bindErrorf(at, CodeConstant, "write a number such as 3", "the number of %s has to be a constant Long", c.Name)
	}
	if c.N = l.V.Int(); c.N < least {
		return bindErrorf(at, CodeConstant, "count from 1", "the number of %s is at least 1, found %d", c.Name, c.N)
	}
	c.N = min(c.N, 1<<62)
	return nil
}

// otherwise binds the default of LAG and LEAD, which has one kind with the value.
func (c *Call) otherwise(args []expr.Expr) error {
	k, ok := expr.Common(args[0].Kind(), args[2].Kind())
	if !ok {
		return bindErrorf(2, expr.CodeTypeMismatch, "convert one of them with CAST", "the default of %s is %s and its value %s", c.Name, args[2].Kind(), args[0].Kind())
	}
	if k == types.Unknown {
		k = types.String
	}
	c.Arg, c.Default, c.K = expr.As(args[0], k), expr.As(args[2], k), k
	return nil
}

// Exprs lists every expression that the call reads.
func (c Call) Exprs() []expr.Expr {
	var out []expr.Expr
	c.Map(func(e expr.Expr) expr.Expr {
		out = append(out, e)
		return e
	})
	return out
}

// Map returns the call with every expression that it reads replaced.
func (c Call) Map(f func(expr.Expr) expr.Expr) Call {
	for _, e := range []*expr.Expr{&c.Arg, &c.Default} {
		if *e != nil {
			*e = f(*e)
		}
	}
	if c.What == Aggregate {
		c.Agg = c.Agg.Map(f)
	}
	return c
}

// String prints the call as canonical SQL without the window; a frame that is not the default one follows.
func (c Call) String() string {
	s := c.call()
	if c.Framed() && c.Frame != (Frame{}) && !c.Frame.implied {
		s += " " + c.Frame.String()
	}
	return s
}

func (c Call) call() string {
	n := strconv.FormatInt(c.N, 10)
	if c.NoN {
		n = "NULL"
	}
	switch c.What {
	case Aggregate:
		return c.Agg.String()
	case Ntile:
		return c.Name + "(" + n + ")"
	case NthValue:
		return c.Name + "(" + c.Arg.String() + ", " + n + ")"
	case FirstValue, LastValue:
		return c.Name + "(" + c.Arg.String() + ")"
	case Lag, Lead:
		s := c.Name + "(" + c.Arg.String()
		if c.N != 1 || c.NoN || c.Default != nil {
			s += ", " + n
		}
		if c.Default != nil {
			s += ", " + c.Default.String()
		}
		return s + ")"
	}
	return c.Name + "()"
}

// Prefix reports whether the value of a row depends on the rows up to it alone, so that the first rows of a partition
// have the same values whatever follows.
func (c Call) Prefix() bool {
	switch c.What {
	case RowNumber, Rank, DenseRank:
		return true
	case Lag:
		return c.N >= 0
	case Lead:
		return c.N <= 0
	case Aggregate, FirstValue, LastValue, NthValue:
		return c.Frame.Mode == Rows && c.Frame.End.Kind <= CurrentRow && c.Frame.Exclude == ExcludeNothing
	}
	return false
}

// Running reports whether the value of a row depends on the rows up to it and those equal to it in the order alone.
func (c Call) Running() bool {
	if c.Prefix() {
		return true
	}
	return c.Framed() && (c.Frame.End.Kind <= CurrentRow)
}

func bindErrorf(arg int, code, hint, format string, args ...any) error {
	return &expr.BindError{Arg: arg, Code: code, Hint: hint, Message: fmt.Sprintf(format, args...)}
}
