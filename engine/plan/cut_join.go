package plan

import (
	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/types"
)

// join brings the rows of both sides together: by the hash of their keys, or, without keys, one side to every
// partition of the other.
func (c *cutter) join(n *Join) *part {
	l, r := c.part(n.Left), c.part(n.Right)
	if len(n.LeftKeys) == 0 {
		return c.cross(n, l, r)
	}
	l, r = c.meet(l, r, n.LeftKeys, n.RightKeys)
	left, right := l.by, r.by
	out := l.with(n, r)
	out.by = nil
	// A pad has NULLs for the columns of the other side: they do not say where it is.
	if n.Kind != Right && n.Kind != Full {
		out.by = append(out.by, left...)
	}
	if n.Kind == Inner || n.Kind == Right {
		for _, by := range right {
			out.by = append(out.by, shift(by, len(n.Left.Schema())))
		}
	}
	return out
}

// cross sends one side to every partition of the other, the side without pads: what a row of the other side meets is
// all of it, once. A full join pads both and has one partition.
func (c *cutter) cross(n *Join, l, r *part) *part {
	switch {
	case l.single && r.single, n.Kind == Full:
		l, r = mark(c.gather(l), "left"), mark(c.gather(r), "right")
		return l.with(n, r)
	case n.Kind == Right:
		if r.single {
			return mark(c.gather(l), "left").with(n, r)
		}
		r = c.placed(r)
		by := r.by
		out := mark(c.send(l, Broadcast, nil), "left").with(n, r)
		out.by = nil
		for _, cols := range by {
			out.by = append(out.by, shift(cols, len(n.Left.Schema())))
		}
		return out
	case l.single:
		return l.with(n, mark(c.gather(r), "right"))
	}
	l = c.placed(l)
	by := l.by
	out := l.with(n, mark(c.send(r, Broadcast, nil), "right"))
	out.by = by
	return out
}

// placed brings a row and its retraction together: the state of an operator would never shrink otherwise.
func (c *cutter) placed(p *part) *part {
	if p.placed || p.node.AppendOnly() {
		return p
	}
	if key := p.node.Key(); len(key) > 0 {
		return c.hash(p, columnKeys(p.node, key))
	}
	return c.hash(p, columnsOf(p.node.Schema()))
}

// asof brings the rows of both sides together by their keys; without keys the right side goes to every partition.
func (c *cutter) asof(n *AsofJoin) *part {
	l, r := c.part(n.Left), c.part(n.Right)
	switch {
	case len(n.LeftKeys) > 0:
		l, r = c.meet(l, r, n.LeftKeys, n.RightKeys)
	case l.single:
		r = mark(c.gather(r), "right")
	default:
		l = c.placed(l)
		r = mark(c.send(r, Broadcast, nil), "right")
	}
	by := l.by
	out := l.with(n, r)
	out.by = by
	return out
}

// meet brings rows of two sides with equal keys together. A side stays where it is when it is placed by some of its
// keys: the other one follows.
func (c *cutter) meet(l, r *part, leftKeys, rightKeys []expr.Expr) (*part, *part) {
	if l.single && r.single {
		return l, r
	}
	if !l.single && !r.single {
		for _, a := range l.by {
			for _, b := range r.by {
				if sameKeys(a, b, leftKeys, rightKeys) {
					return mark(l, "left"), mark(r, "right")
				}
			}
		}
	}
	if keys := follow(l, leftKeys, rightKeys); keys != nil {
		return mark(l, "left"), mark(c.hash(r, keys), "right")
	}
	if keys := follow(r, rightKeys, leftKeys); keys != nil {
		return mark(c.hash(l, keys), "left"), mark(r, "right")
	}
	return mark(c.hash(l, leftKeys), "left"), mark(c.hash(r, rightKeys), "right")
}

// mark names the role of the edges of a piece that is nothing but the rows of a stage.
func mark(p *part, role string) *part {
	if _, leaf := p.node.(*Scan); leaf && p.in[0].From != nil {
		p.in[0].Role = role
	}
	return p
}

// follow finds a list of columns by which a piece is placed and which are among its keys; the result is the keys of the
// other side that are equal to them, nil when there is no such list.
func follow(p *part, own, other []expr.Expr) []expr.Expr {
	if p.single {
		return nil
	}
	for _, by := range p.by {
		if !within(by, own) {
			continue
		}
		keys := make([]expr.Expr, len(by))
		for i, col := range by {
			keys[i] = other[keyAt(own, col)]
		}
		return keys
	}
	return nil
}

// sameKeys reports whether two lists of columns are, one by one, equal by the keys of a join.
func sameKeys(a, b []int, leftKeys, rightKeys []expr.Expr) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		found := false
		for k := range leftKeys {
			l, lok := leftKeys[k].(*expr.Column)
			r, rok := rightKeys[k].(*expr.Column)
			found = found || lok && rok && l.Index == a[i] && r.Index == b[i]
		}
		if !found {
			return false
		}
	}
	return true
}

// columnsOf are all columns as keys.
func columnsOf(s types.Schema) []expr.Expr {
	out := make([]expr.Expr, len(s))
	for i, f := range s {
		out[i] = &expr.Column{Index: i, Name: f.Name, K: f.Stored()}
	}
	return out
}

// stageKind names a stage by its topmost operator that keeps state, else by what its rows are.
func stageKind(s *Stage) string {
	if k := stateKind(s.Root); k != "" {
		return k
	}
	for _, e := range s.In {
		if e.From == nil {
			return "Ingest"
		}
	}
	for n := s.Root; len(n.Children()) == 1; n = n.Children()[0] {
		if _, ok := n.(*Unnest); ok {
			return "Unnest"
		}
	}
	return "FilterProject"
}

func stateKind(n Node) string {
	switch n := n.(type) {
	case *Scan:
		return ""
	case *Filter, *Project, *Unnest, *Union:
		for _, c := range n.Children() {
			if k := stateKind(c); k != "" {
				return k
			}
		}
		return ""
	case *Join:
		if !n.Kind.Pairs() {
			return "SemiAnti"
		}
	case *SetOp:
		return "SetOp"
	}
	return n.Name()
}
