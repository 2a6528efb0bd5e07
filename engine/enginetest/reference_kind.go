package enginetest

import (
	"strings"

	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// place is where a column reference reads.
type place struct {
	source   int
	column   int
	ts       bool
	border   int // 1 window_start, 2 window_end, 3 _final, 4 _revision
	constant *types.Value
	merged   *mergedColumn
	outer    *env // the place is one of the query around
	kind     types.Kind
}

// has reports whether a bare name is a column.
func (e *env) has(name string) bool {
	for i := range e.sources {
		if _, ok := e.findIn(i, name); ok {
			return true
		}
	}
	return false
}

func (e *env) find(c *syntax.ColumnRef) place {
	if c.Qualifier == nil {
		if m := e.mergedAs(c.Name.Name); m != nil {
			return place{merged: m, source: m.left.source, kind: m.left.kind}
		}
	}
	for i, s := range e.sources {
		if c.Qualifier != nil && c.Qualifier.Name != s.alias {
			continue
		}
		if p, ok := e.findIn(i, c.Name.Name); ok {
			return p
		}
	}
	if e.outer != nil {
		p := e.outer.find(c)
		if p.outer == nil {
			p.outer = e.outer
		}
		return p
	}
	for i, f := range windowFields {
		if strings.EqualFold(c.Name.Name, f.Name) {
			return place{border: i + 1, kind: f.Kind}
		}
	}
	panic("BUG: the reference does not know the column " + c.Name.Name)
}

func (e *env) findIn(i int, name string) (place, bool) {
	s := e.sources[i]
	for j, f := range s.fields {
		if s.unnest && f.Name == name || !s.unnest && strings.EqualFold(f.Name, name) {
			return place{source: i, column: s.from + j, kind: f.Stored()}, true
		}
	}
	if s.unnest {
		return place{}, false
	}
	if strings.EqualFold(name, types.TsColumn) {
		if !s.hasTs {
			zero := types.LongOf(0)
			return place{source: i, constant: &zero, kind: types.Long}, true
		}
		return place{source: i, ts: true, kind: types.Long}, true
	}
	if strings.EqualFold(name, types.SourceColumn) {
		label := types.StringOf(s.label)
		return place{source: i, constant: &label, kind: types.String}, true
	}
	return place{}, false
}

// kind is the static kind of an expression.
func (e *env) kind(x syntax.Expr) types.Kind {
	switch x := x.(type) {
	case *syntax.ColumnRef:
		return e.find(x).kind
	case *syntax.Literal:
		return e.literal(x).Kind()
	case *syntax.Unary:
		if x.Op == "NOT" {
			return types.Bool
		}
		if k := e.kind(x.X); k != types.Unknown {
			return k
		}
		return types.Double
	case *syntax.Binary:
		switch x.Op {
		case "+", "-", "*", "%":
			if isInterval(x.R) && e.kind(x.L) == types.Timestamp || isInterval(x.L) && e.kind(x.R) == types.Timestamp {
				return types.Timestamp
			}
			if e.kind(x.L) == types.Long && e.kind(x.R) == types.Long {
				return types.Long
			}
			return types.Double
		case "/":
			return types.Double
		case "||":
			return types.String
		}
		return types.Bool
	case *syntax.Access:
		if x.AsText {
			return types.String
		}
		return types.Json
	case *syntax.Case:
		k := types.Unknown
		for _, w := range x.Whens {
			k = common(k, e.kind(w.Then))
		}
		if x.Else != nil {
			k = common(k, e.kind(x.Else))
		}
		return known(k)
	case *syntax.Cast:
		return castKind(x.Type.Name)
	case *syntax.Call:
		return e.callKind(x)
	case *syntax.Subquery:
		return e.subqueryKind(x)
	}
	return types.Bool // predicates
}

func common(a, b types.Kind) types.Kind {
	switch {
	case a == types.Unknown:
		return b
	case b == types.Unknown || a == b:
		return a
	}
	return types.Double
}

func castKind(name string) types.Kind {
	switch name {
	case "STRING", "TEXT", "VARCHAR":
		return types.String
	case "DOUBLE", "DOUBLE PRECISION", "FLOAT":
		return types.Double
	case "BOOL", "BOOLEAN":
		return types.Bool
	case "TIMESTAMP":
		return types.Timestamp
	}
	return types.Long
}

func (e *env) callKind(c *syntax.Call) types.Kind {
	if k, ok := e.overKind(c); ok {
		return k
	}
	if k, ok := e.furtherKind(c); ok {
		return k
	}
	switch name := strings.ToUpper(c.Name.Name); name {
	case "COUNT", "TO_LONG", "GROUPING":
		return types.Long
	case "SUM":
		if e.kind(c.Args[0]) == types.Long {
			return types.Long
		}
		return types.Double
	case "MIN", "MAX":
		if k := e.kind(c.Args[0]); k != types.Json && k != types.Unknown {
			return k
		}
		return types.Double
	case "ABS":
		if e.kind(c.Args[0]) == types.Long {
			return types.Long
		}
		return types.Double
	case "ROUND":
		if k := e.kind(c.Args[0]); k == types.Long || k == types.Timestamp {
			return k
		}
		return types.Double
	case "COALESCE":
		for _, a := range c.Args {
			if k := e.kind(a); k != types.Unknown {
				return k
			}
		}
		return types.String
	case "IF":
		return known(common(e.kind(c.Args[1]), e.kind(c.Args[2])))
	case "TO_STRING", "UPPER", "LOWER":
		return types.String
	case "TO_BOOL":
		return types.Bool
	case "TO_TIMESTAMP":
		return types.Timestamp
	}
	if k, ok := e.tableKind(c); ok {
		return k
	}
	return types.Double // AVG, TO_DOUBLE
}
