package syntax

import "strings"

// Over is the window of a window function: OVER name, or OVER (definition). A named window's definition is one too.
type Over struct {
	Pos
	// Bare says that a name stands without parentheses: OVER w.
	Bare bool
	// Base is the named window that this one starts from; nil without.
	Base      *Ident
	Partition []Expr
	OrderBy   []*OrderItem
	// Frame is nil when none is written.
	Frame *Frame
}

// NamedWindow is one window of WINDOW name AS (definition), ...
type NamedWindow struct {
	Pos
	Name Ident
	Over *Over
}

// FrameMode is the unit of a frame.
type FrameMode string

// The units of frames.
const (
	FrameRows   FrameMode = "ROWS"
	FrameRange  FrameMode = "RANGE"
	FrameGroups FrameMode = "GROUPS"
)

// BoundKind is the kind of a border of a frame, in the order in which they lie in a partition.
type BoundKind uint8

// The borders of frames.
const (
	UnboundedPreceding BoundKind = iota
	Preceding
	CurrentRow
	Following
	UnboundedFollowing
)

var boundWords = [...]string{"UNBOUNDED PRECEDING", "PRECEDING", "CURRENT ROW", "FOLLOWING", "UNBOUNDED FOLLOWING"}

func (k BoundKind) String() string { return boundWords[k] }

// Exclusion is what EXCLUDE leaves out of a frame.
type Exclusion string

// The exclusions; the default is ExcludeNothing.
const (
	ExcludeNothing Exclusion = ""
	ExcludeRow     Exclusion = "CURRENT ROW"
	ExcludeGroup   Exclusion = "GROUP"
	ExcludeTies    Exclusion = "TIES"
)

// Frame is the frame clause of a window.
type Frame struct {
	Pos
	Mode  FrameMode
	Start *Bound
	// End is nil in the short form, which ends at the current row.
	End     *Bound
	Exclude Exclusion
}

// Bound is one border of a frame. N is the number of Preceding and Following.
type Bound struct {
	Pos
	Kind BoundKind
	N    Expr
}

// over reads OVER behind a call; nil when none follows.
func (p *parser) over() *Over {
	t := p.peek()
	if !p.word("OVER") {
		return nil
	}
	switch next := p.peek(); {
	case next.Kind == Word && !aliasEnds[strings.ToUpper(next.Text)]:
		name := p.ident("the name of a window")
		return &Over{Pos: p.span(t.Pos), Bare: true, Base: &name}
	case !next.symbol("("):
		p.expected("a window in parentheses, or its name, after OVER")
		return nil
	}
	o := p.windowDefinition()
	o.Pos = p.span(t.Pos)
	return o
}

// windowDefinition reads ([name] [PARTITION BY ...] [ORDER BY ...] [frame]).
func (p *parser) windowDefinition() *Over {
	start := p.peek().Pos
	o := &Over{}
	p.parenthesized(func() {
		if t := p.peek(); t.Kind == Word && !p.atFrame() && !(p.peekAt(1).is("BY") && (t.is("PARTITION") || t.is("ORDER"))) {
			name := p.ident("the name of a window")
			o.Base = &name
		}
		if p.words("PARTITION", "BY") {
			o.Partition = p.exprList()
		}
		if p.words("ORDER", "BY") {
			o.OrderBy = p.orderItems()
		}
		if p.atFrame() {
			o.Frame = p.frame()
		}
		if !p.peek().symbol(")") {
			p.fail(p.peek().Pos, "syntax", "expected PARTITION BY, ORDER BY, ROWS, RANGE, GROUPS or \")\", found "+p.peek().describe(),
				"a window is written as OVER (PARTITION BY a ORDER BY b ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)")
		}
	})
	o.Pos = p.span(start)
	return o
}

func (p *parser) atFrame() bool {
	t := p.peek()
	return t.is("ROWS") || t.is("RANGE") || t.is("GROUPS")
}

// frame reads mode start, or mode BETWEEN start AND end, and EXCLUDE.
func (p *parser) frame() *Frame {
	t := p.take()
	f := &Frame{Mode: FrameMode(strings.ToUpper(t.Text))}
	if p.word("BETWEEN") {
		f.Start = p.frameBound()
		p.expectWord("AND")
		f.End = p.frameBound()
	} else {
		f.Start = p.frameBound()
	}
	if p.word("EXCLUDE") {
		switch {
		case p.words("CURRENT", "ROW"):
			f.Exclude = ExcludeRow
		case p.word("GROUP"):
			f.Exclude = ExcludeGroup
		case p.word("TIES"):
			f.Exclude = ExcludeTies
		case !p.words("NO", "OTHERS"):
			p.expected("CURRENT ROW, GROUP, TIES or NO OTHERS after EXCLUDE")
		}
	}
	f.Pos = p.span(t.Pos)
	return f
}

func (p *parser) frameBound() *Bound {
	t := p.peek()
	b := &Bound{Kind: CurrentRow}
	switch {
	case t.is("UNBOUNDED"):
		p.take()
		b.Kind = UnboundedPreceding
		if p.word("FOLLOWING") {
			b.Kind = UnboundedFollowing
		} else if !p.word("PRECEDING") {
			p.expected("PRECEDING or FOLLOWING after UNBOUNDED")
		}
	case p.words("CURRENT", "ROW"):
	default:
		b.N = p.additive()
		switch {
		case p.word("PRECEDING"):
			b.Kind = Preceding
		case p.word("FOLLOWING"):
			b.Kind = Following
		default:
			p.expected("PRECEDING or FOLLOWING")
		}
	}
	b.Pos = p.span(t.Pos)
	return b
}

// atNamedWindows reports whether WINDOW name AS ( starts here, which is not the WINDOW clause of a pipeline.
func (p *parser) atNamedWindows() bool {
	return p.peek().is("WINDOW") && p.peekAt(1).Kind == Word && p.peekAt(2).is("AS")
}

// namedWindows reads WINDOW name AS (definition), ...
func (p *parser) namedWindows() []*NamedWindow {
	p.take()
	var list []*NamedWindow
	for {
		w := &NamedWindow{Pos: p.peek().Pos, Name: p.ident("the name of a window")}
		p.expectWord("AS")
		w.Over = p.windowDefinition()
		w.Pos = p.span(w.Pos)
		list = append(list, w)
		if !p.symbol(",") {
			return list
		}
	}
}

func (p *printer) over(o *Over) {
	p.add(" OVER ")
	if o.Bare {
		p.add(o.Base.Name)
		return
	}
	p.windowDefinition(o)
}

func (p *printer) windowDefinition(o *Over) {
	p.add("(")
	sep := ""
	if o.Base != nil {
		p.add(o.Base.Name)
		sep = " "
	}
	if len(o.Partition) > 0 {
		p.add(sep, "PARTITION BY ")
		p.exprs(o.Partition)
		sep = " "
	}
	if len(o.OrderBy) > 0 {
		var keys printer
		keys.orderBy(o.OrderBy)
		p.add(sep, strings.TrimPrefix(keys.Builder.String(), " "))
		sep = " "
	}
	if f := o.Frame; f != nil {
		p.add(sep, string(f.Mode), " ")
		if f.End == nil {
			p.bound(f.Start)
		} else {
			p.add("BETWEEN ")
			p.bound(f.Start)
			p.add(" AND ")
			p.bound(f.End)
		}
		if f.Exclude != ExcludeNothing {
			p.add(" EXCLUDE ", string(f.Exclude))
		}
	}
	p.add(")")
}

func (p *printer) bound(b *Bound) {
	if b.N != nil {
		p.expr(b.N, precAdd)
		p.add(" ")
	}
	p.add(b.Kind.String())
}

func (p *printer) namedWindows(list []*NamedWindow) {
	if len(list) == 0 {
		return
	}
	p.add(" WINDOW ")
	p.list(len(list), func(i int) {
		p.add(list[i].Name.Name, " AS ")
		p.windowDefinition(list[i].Over)
	})
}

// Exprs lists the expressions of a window in the order in which they are written.
func (o *Over) Exprs() []Expr {
	if o == nil {
		return nil
	}
	out := append([]Expr(nil), o.Partition...)
	for _, k := range o.OrderBy {
		out = append(out, k.Expr)
	}
	if f := o.Frame; f != nil {
		for _, b := range []*Bound{f.Start, f.End} {
			if b != nil && b.N != nil {
				out = append(out, b.N)
			}
		}
	}
	return out
}
