package syntax

import "strings"

// atRef reports whether ref('name') starts here. The word ref alone is a name like any other.
func (p *parser) atRef() bool {
	return p.peek().is("REF") && p.peekAt(1).symbol("(")
}

// ref reads ref('model'): a model of the project that the statement belongs to.
func (p *parser) ref() *TableName {
	n := &TableName{Ref: true}
	start := p.take().Pos
	p.parenthesized(func() {
		t := p.peek()
		if t.Kind != Text {
			p.expected("the name of a model in quotes")
			return
		}
		p.take()
		n.Name = Ident{Pos: t.Pos, Name: t.Text}
	})
	n.RefPos = p.span(start)
	p.refs = append(p.refs, n)
	return n
}

// ref writes ref('model').
func (p *printer) ref(t *TableName) {
	p.add("ref('", strings.ReplaceAll(t.Name.Name, "'", "''"), "')")
}
