package enginetest

import (
	"strconv"
	"strings"

	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// isRecursive reports whether the printed query has its own name as a word.
func (r *reference) isRecursive(c *syntax.CTE) bool {
	words := strings.FieldsFunc(c.Query.String(), func(ch rune) bool {
		return ch != '_' && (ch < '0' || ch > '9') && (ch < 'a' || ch > 'z') && (ch < 'A' || ch > 'Z')
	})
	for _, w := range words {
		if w == c.Name.Name {
			return true
		}
	}
	return false
}

// recursive evaluates a query that reads itself, round by round.
func (r *reference) recursive(c *syntax.CTE, ctes map[string]*table) (*table, error) {
	s := c.Query.Body.(*syntax.SetOp)
	base, err := r.body(s.Left, ctes)
	if err != nil {
		return nil, err
	}
	rounds := 100
	if c.MaxRecursion != nil {
		rounds, _ = strconv.Atoi(c.MaxRecursion.Text)
	}
	out := &table{fields: base.fields, label: base.label, inputs: base.inputs, folded: true}
	visible := map[string]*table{}
	for n, t := range ctes {
		visible[n] = t
	}
	level := positive(base.rows)
	if !s.All {
		level = once(base.rows)
	}
	for out.rows = level; len(level) > 0 && rounds > 0; rounds-- {
		read := level
		if !s.All {
			read = out.rows // the whole relation so far
		}
		visible[c.Name.Name] = &table{fields: base.fields, label: c.Name.Name, rows: read, folded: true}
		r.known = nil
		step, err := r.body(s.Right, visible)
		if err != nil {
			return nil, err
		}
		rows := make([]rrow, len(step.rows))
		for i, row := range step.rows {
			rows[i] = row
			rows[i].vals = make([]types.Value, len(row.vals))
			for k, v := range row.vals {
				rows[i].vals[k] = types.Convert(v, base.fields[k].Stored())
			}
		}
		level = positive(rows)
		if !s.All {
			level = missing(once(rows), out.rows)
		}
		out.rows = append(out.rows[:len(out.rows):len(out.rows)], level...)
	}
	r.known = nil
	return out, nil
}

// positive is the rows that are there.
func positive(rows []rrow) []rrow {
	var out []rrow
	for _, row := range net(rows, false) {
		if row.w > 0 {
			row.ts = 0
			out = append(out, row)
		}
	}
	return out
}

// missing is the rows that another list does not have.
func missing(rows, from []rrow) []rrow {
	has := map[string]bool{}
	for _, row := range from {
		has[keyOf(row.vals)] = true
	}
	var out []rrow
	for _, row := range rows {
		if !has[keyOf(row.vals)] {
			out = append(out, row)
		}
	}
	return out
}
