package expr

import (
	"sort"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

// scalar describes a function that computes one row at a time: the kinds of its parameters and the code of a row.
// A NULL argument makes the result NULL, unless the function is lenient.
type scalar struct {
	name, sign, doc, example string
	aliases                  []string
	// params are the kinds that the arguments are converted to; the last one repeats up to max.
	params   []types.Kind
	min, max int // max < 0: any number
	result   types.Kind
	lenient  bool
	row      func(r *rowArgs) bool
}

// rowArgs are the arguments of one row, and its result.
type rowArgs struct {
	cols []*zset.Column
	i    int
	memo memo

	out []byte // the text so far; append only
	n   int64
	f   float64
}

func (r *rowArgs) count() int           { return len(r.cols) }
func (r *rowArgs) null(k int) bool      { return r.cols[k].IsNull(r.i) }
func (r *rowArgs) text(k int) []byte    { return r.cols[k].Text(r.i) }
func (r *rowArgs) long(k int) int64     { return r.cols[k].I64[r.i] }
func (r *rowArgs) double(k int) float64 { return r.cols[k].F64[r.i] }

// give sets a text result.
func (r *rowArgs) give(text []byte) bool {
	r.out = append(r.out, text...)
	return true
}

// function makes the table entry.
func (s scalar) function() *Function {
	f := &Function{Name: s.name, Aliases: s.aliases, Signature: s.sign, Result: s.result.String(), Doc: s.doc, Example: s.example, Min: s.min, Max: s.max}
	f.bind = func(f *Function, args []Expr) (Expr, error) {
		if err := noJSON(f, s.bare(args)); err != nil {
			return nil, err
		}
		out := make([]Expr, len(args))
		for i, a := range args {
			out[i] = asParameter(a, s.param(i))
		}
		return &Call{Fn: f, Args: out, K: s.result}, nil
	}
	f.build = func(c *compiler, e *Call) node {
		n := &scalarNode{scalar: s}
		for i, a := range e.Args {
			if s.param(i) == types.Double {
				n.args = append(n.args, c.numberOrNode(a))
			} else {
				n.args = append(n.args, c.node(a))
			}
		}
		return n
	}
	return f
}

func (s scalar) param(i int) types.Kind { return s.params[min(i, len(s.params)-1)] }

// bare are the arguments that cannot be Json: numbers take numeric nodes, Json parameters any node.
func (s scalar) bare(args []Expr) []Expr {
	out := make([]Expr, len(args))
	for i, a := range args {
		out[i] = a
		if k := s.param(i); k == types.Json || k == types.Double {
			out[i] = &Literal{V: types.Null(types.String)}
		}
	}
	return out
}

// asParameter converts an argument; a text where a number belongs is not read as one.
func asParameter(a Expr, k types.Kind) Expr {
	switch {
	case k == types.Double && (a.Kind() == types.Json || a.Kind().IsNumeric()):
		return a
	case k == types.Double || k == types.Long && !a.Kind().IsNumeric():
		return &Literal{V: types.Null(k)}
	case k == types.Json && a.Kind() != types.Json:
		return &Literal{V: types.Null(k)}
	}
	return As(a, k)
}

// scalarNode evaluates a scalar for the selected rows.
type scalarNode struct {
	scalar
	args []node
	row  rowArgs
	text textOut
	out  scalarOut
}

func (n *scalarNode) eval(f *frame, sel []int32) *zset.Column {
	n.row.cols = n.row.cols[:0]
	for _, a := range n.args {
		n.row.cols = append(n.row.cols, a.eval(f, sel))
	}
	if n.result.IsText() {
		return n.texts(f, sel)
	}
	n.out.start(n.result, f.n)
	for k := range int32(selLen(sel, f.n)) {
		i := at(sel, k)
		if !n.at(i) {
			continue
		}
		if n.result == types.Double {
			n.out.double(i, n.row.f)
		} else {
			n.out.long(i, n.row.n)
		}
	}
	return &n.out.col
}

func (n *scalarNode) texts(f *frame, sel []int32) *zset.Column {
	n.text.start(n.result, f.n)
	for k := range int32(selLen(sel, f.n)) {
		i := at(sel, k)
		n.row.out = n.row.out[:0]
		if n.at(i) && len(n.row.out) <= maxText {
			n.text.put(i, n.row.out)
		}
	}
	return n.text.done(f.n)
}

// maxText bounds the text that one call makes, so that REPEAT and padding cannot ask for much memory.
const maxText = 1 << 20

// at runs the function on one row; false is NULL.
func (n *scalarNode) at(i int32) bool {
	n.row.i = int(i)
	if !n.lenient {
		for k := range n.row.cols {
			if n.row.null(k) {
				return false
			}
		}
	}
	return n.scalar.row(&n.row)
}

// addScalars puts further functions into the table and keeps it sorted.
func addScalars(families ...[]scalar) {
	for _, family := range families {
		for _, s := range family {
			functions = append(functions, s.function())
		}
	}
	sort.Slice(functions, func(i, j int) bool { return functions[i].Name < functions[j].Name })
}

const (
	text   = types.String
	long   = types.Long
	double = types.Double
	stamp  = types.Timestamp
)

// kinds lists the kinds of parameters.
func kinds(ks ...types.Kind) []types.Kind { return ks }
