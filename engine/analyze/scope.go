package analyze

import (
	"strings"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// input is one relation of FROM as expressions see it.
type input struct {
	alias string
	// columns are the visible columns; at is their position in the node below.
	columns []types.Field
	at      []int
	// ts reads the event time; it is the literal 0 when rows have none. hasTs tells the two apart.
	ts    expr.Expr
	hasTs bool
	// retract is the position of a source's retraction mark, -1 without.
	retract int
	label   string
	// changes marks a keyed source that is read as the changes that came, not as the relation that they describe.
	changes bool
	// lookedUp marks a table that completes the rows of a stream.
	lookedUp bool
	// unnest marks the element of an UNNEST, whose one column is its alias.
	unnest bool
	// derived marks a subquery or CTE.
	derived bool
	// padded says that an outer join can put NULLs in the place of its rows.
	padded bool
	// broken marks a relation that was not found: its columns are unknown, and references to it are not reported.
	broken bool
}

// scope is what expressions of one SELECT can name.
type scope struct {
	inputs []*input
	// merged are the columns of USING and NATURAL, which have one name for both sides.
	merged []*merged
	// outer ties a subquery to the query around it; sel is the SELECT and inFrom says that its FROM is being bound.
	outer  *correlation
	sel    *syntax.Select
	inFrom bool
}

func (s *scope) broken() bool {
	for _, in := range s.inputs {
		if in.broken {
			return true
		}
	}
	return false
}

func (s *scope) byAlias(alias string) *input {
	for _, in := range s.inputs {
		if in.alias == alias {
			return in
		}
	}
	return nil
}

func (s *scope) aliases() []string {
	var out []string
	for _, in := range s.inputs {
		out = append(out, in.alias)
	}
	return out
}

// ref is a resolved column: what reads it, and how it is declared.
type ref struct {
	expr  expr.Expr
	field types.Field
	// outer marks a column of the query around a subquery.
	outer bool
}

// find looks a column up in one input; a declared column hides a reserved one of that name.
func (in *input) find(name string) (ref, bool) {
	for i, f := range in.columns {
		if in.unnest && f.Name == name || !in.unnest && strings.EqualFold(f.Name, name) {
			return in.column(i), true
		}
	}
	if in.unnest || in.broken {
		return ref{}, false
	}
	switch {
	case strings.EqualFold(name, types.TsColumn):
		return ref{expr: in.ts, field: types.Field{Name: types.TsColumn, Kind: types.Long}}, true
	case strings.EqualFold(name, types.SourceColumn):
		return ref{expr: &expr.Literal{V: types.StringOf(in.label)}, field: types.Field{Name: types.SourceColumn, Kind: types.String}}, true
	}
	return ref{}, false
}

// column reads the i-th visible column.
func (in *input) column(i int) ref {
	f := in.columns[i]
	name := in.alias + "." + f.Name
	if in.unnest {
		name = in.alias
	}
	return ref{expr: &expr.Column{Index: in.at[i], Name: name, K: f.Stored()}, field: f}
}

// names are the names that find resolves, for suggestions.
func (in *input) names() []string {
	out := types.Schema(in.columns).Names()
	if !in.unnest {
		out = append(out, types.TsColumn, types.SourceColumn)
	}
	return out
}

// resolve finds a column by its written name, or reports why it cannot.
func (a *analyzer) resolve(s *scope, c *syntax.ColumnRef) (ref, bool) {
	if r, ok, found := a.resolveOuter(s, c); found {
		return r, ok
	}
	if c.Qualifier != nil {
		return a.resolveQualified(s, c)
	}
	name := c.Name.Name
	var found []ref
	var in []string
	var all []string
	if m := s.mergedAs(name); m != nil {
		found, in = append(found, m.ref), append(in, m.alias)
	}
	for _, i := range s.inputs {
		if r, ok := i.find(name); ok && !s.hides(i, name) {
			found, in = append(found, r), append(in, i.alias)
		}
		all = append(all, i.names()...)
	}
	switch {
	case len(found) == 1:
		return found[0], true
	case len(found) > 1:
		hint := "write " + in[0] + "." + name
		for _, alias := range in[1:] {
			hint += " or " + alias + "." + name
		}
		a.report(c, CodeAmbiguousColumn, hint, "column %q is in %s", name, strings.Join(in, " and in "))
	case s.broken():
		// The relation that may have it was reported.
	case len(s.inputs) == 0:
		a.report(c, CodeUnknownColumn, "", "no column %q: there is nothing to read", name)
	default:
		a.reportName(c, c.Name, CodeUnknownColumn, visible(all), "columns", "no column %q in %s", name, strings.Join(s.aliases(), ", "))
		a.literalMeant(c.Name)
		a.foreignColumn(name)
		if s.alias(name) != nil {
			d := &a.ds[len(a.ds)-1]
			d.Hint, d.Fix = "it is the name of a relation; write "+s.alias(name).alias+".column", nil
		}
	}
	return ref{}, false
}

// alias finds a relation by its alias in any case.
func (s *scope) alias(name string) *input {
	for _, in := range s.inputs {
		if strings.EqualFold(in.alias, name) {
			return in
		}
	}
	return nil
}

// visible drops the reserved names from a list of suggestions.
func visible(names []string) []string {
	var out []string
	for _, n := range names {
		if n != types.TsColumn && n != types.SourceColumn {
			out = append(out, n)
		}
	}
	return out
}

func (a *analyzer) resolveQualified(s *scope, c *syntax.ColumnRef) (ref, bool) {
	in := s.byAlias(c.Qualifier.Name)
	if in == nil {
		if f, ok := s.jsonColumn(c.Qualifier.Name); ok {
			text := c.Qualifier.Name + " ->> '" + c.Name.Name + "'"
			a.report(c.Qualifier, CodeUnknownAlias, "write "+text, "%q is a column of Json, not a relation", f)
			a.fix(syntax.Replace(c.Pos, c.Qualifier.Name+"."+c.Name.Name, text))
		} else if other := s.called(c.Qualifier.Name); other != "" {
			a.report(c.Qualifier, CodeUnknownAlias, "write "+other+"."+c.Name.Name, "%q is called %q in this FROM", c.Qualifier.Name, other)
			a.fix(syntax.Replace(c.Qualifier.Pos, c.Qualifier.Name, other))
		} else if !s.broken() {
			a.reportName(c.Qualifier, *c.Qualifier, CodeUnknownAlias, s.aliases(), "in FROM", "nothing in FROM is called %q", c.Qualifier.Name)
		}
		return ref{}, false
	}
	if in.broken {
		return ref{}, false
	}
	if in.unnest {
		a.report(c, CodeUnnest, "write "+in.alias+" ->> '"+c.Name.Name+"'", "%q is an element of an array, a Json value without columns", in.alias)
		return ref{}, false
	}
	r, ok := in.find(c.Name.Name)
	if !ok {
		a.reportName(c, c.Name, CodeUnknownColumn, visible(in.names()), "columns", "no column %q in %s", c.Name.Name, in.alias)
	}
	return r, ok
}

// called is the alias of the only relation that has a name of its own.
func (s *scope) called(name string) (alias string) {
	for _, in := range s.inputs {
		if in.label == name && !in.derived {
			if alias != "" {
				return ""
			}
			alias = in.alias
		}
	}
	return alias
}

// jsonColumn finds a column of Json by name.
func (s *scope) jsonColumn(name string) (string, bool) {
	for _, in := range s.inputs {
		if r, ok := in.find(name); ok && r.field.Stored() == types.Json {
			return r.field.Name, true
		}
	}
	return "", false
}

// layout is the columns of a relation's rows as a flow can ask for them: the visible ones, then the hidden ones.
func layout(r Relation) types.Schema {
	s := make(types.Schema, 0, len(r.Schema)+2)
	for _, f := range r.Schema {
		s = append(s, types.Field{Name: f.Name, Kind: f.Stored()})
	}
	if _, declared := r.Schema.Find(types.TsColumn); !declared && (r.Kind == plan.Source || r.EventTime) {
		s = append(s, types.Field{Name: types.TsColumn, Kind: types.Long})
	}
	if _, declared := r.Schema.Find(types.RetractColumn); !declared && r.Kind == plan.Source {
		s = append(s, types.Field{Name: types.RetractColumn, Kind: types.Bool})
	}
	return s
}

// scan reads a relation of the catalog under an alias.
func (a *analyzer) scan(r Relation, alias string) (plan.Node, *input) {
	columns := layout(r)
	at := -1
	for i := range a.inputs {
		if a.inputs[i].Name == r.Name {
			at = i
		}
	}
	if at < 0 {
		at = len(a.inputs)
		ts := eventTime(columns)
		if a.lookups {
			ts = -1 // no watermark follows a table
		}
		a.inputs = append(a.inputs, plan.Input{Name: r.Name, Kind: r.Kind, Columns: columns, Ts: ts})
	}
	all := make([]int, len(columns))
	for i := range all {
		all[i] = i
	}
	keyed := r.Kind == plan.Source && len(r.Key) > 0
	var unique []int
	if r.Key != nil {
		unique = []int{}
		for _, k := range r.Key {
			i, ok := columns.Find(k)
			if !ok {
				unique = nil
				break
			}
			unique = append(unique, i)
		}
	}
	appendOnly := r.Kind == plan.Source || r.AppendOnly
	var node plan.Node
	if keyed {
		// Messages of a keyed source are changes: only what Keyed makes of them has the key.
		node = plan.NewScan(at, r.Name, alias, columns, all, true, nil)
	} else {
		node = plan.NewScan(at, r.Name, alias, columns, all, appendOnly, unique)
	}
	in := &input{alias: alias, columns: r.Schema, at: all[:len(r.Schema)], label: r.Name, retract: -1}
	in.ts = &expr.Literal{V: types.LongOf(0)}
	if i := eventTime(columns); i >= 0 {
		in.ts, in.hasTs = &expr.Column{Index: i, Name: alias + "." + types.TsColumn, K: columns[i].Kind}, true
	}
	if i, ok := columns.Find(types.RetractColumn); ok && columns[i].Kind == types.Bool && r.Kind == plan.Source {
		in.retract = i
	}
	in.changes = keyed && a.mode == Pipeline
	if keyed && a.mode == Table && unique != nil {
		node, in.retract = &plan.Keyed{In: node, Keys: unique, Retract: in.retract}, -1
	}
	return node, in
}

// eventTime is the position of the event time among columns, -1 when there is none.
func eventTime(s types.Schema) int {
	if i, ok := s.Find(types.TsColumn); ok && (s[i].Stored() == types.Long || s[i].Stored() == types.Timestamp) {
		return i
	}
	return -1
}

// derive makes an input of a bound query.
func derive(r *relation, alias string) *input {
	in := &input{alias: alias, columns: r.fields, label: r.label, retract: -1, derived: true}
	for i := range r.fields {
		in.at = append(in.at, r.outer+i)
	}
	in.ts = &expr.Literal{V: types.LongOf(0)}
	if i := eventTime(r.fields); i >= 0 {
		in.ts, in.hasTs = &expr.Column{Index: r.outer + i, Name: alias + "." + types.TsColumn, K: r.fields[i].Stored()}, true
	} else if r.hasTs {
		in.ts, in.hasTs = &expr.Column{Index: r.outer + len(r.fields), Name: alias + "." + types.TsColumn, K: types.Long}, true
	}
	return in
}

// shift moves an input's columns by n positions, for the right side of a join.
func (in *input) shift(n int) {
	at := make([]int, len(in.at))
	for i, c := range in.at {
		at[i] = c + n
	}
	in.at = at
	if c, ok := in.ts.(*expr.Column); ok {
		moved := *c
		moved.Index += n
		in.ts = &moved
	}
	if in.retract >= 0 {
		in.retract += n
	}
}
