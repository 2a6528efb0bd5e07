package plan

import (
	"fmt"
	"strings"
)

// ExplainStages prints a cut plan as stable text: a line for each stage with the edges into it, and its part of the
// plan below.
func ExplainStages(p *Physical) string {
	var b strings.Builder
	for _, s := range p.Stages {
		fmt.Fprintf(&b, "stage %d %s x%d", s.ID, s.Kind, s.Partitions)
		for _, e := range s.In {
			b.WriteString(" <- " + explainEdge(p, e))
		}
		b.WriteString("\n")
		explain(&b, s.Root, 1)
	}
	return b.String()
}

func explainEdge(p *Physical, e *Edge) string {
	from := ""
	if e.From == nil {
		from = p.Query.Inputs[e.Input].Name
	} else {
		from = fmt.Sprintf("stage %d", e.From.ID)
	}
	text := from + " " + e.Role + " " + e.Mode.String()
	if e.Mode == HashPartition {
		keys := make([]string, len(e.Keys))
		for i, k := range e.Keys {
			keys[i] = k.String()
		}
		text += "(" + strings.Join(keys, ", ") + ")"
	}
	return text
}

// Alias is what the stage's rows are for people: the relation that it reads, else its topmost operators.
func (s *Stage) Alias() string {
	n := s.Root
	for {
		switch o := n.(type) {
		case *Filter:
			n = o.In
			continue
		case *Project:
			n = o.In
			continue
		case *Scan:
			return o.Alias
		}
		if d := n.Detail(); d != "" {
			return n.Name() + " " + d
		}
		return n.Name()
	}
}
