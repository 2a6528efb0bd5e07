package analyze

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/streamsforge/streamsforge/engine/expr"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// outputs is the bound select list.
type outputs struct {
	exprs  []expr.Expr
	names  []string
	fields types.Schema
	// taken are the names, folded, with the number that the next implicit one of the name tries.
	taken map[string]int
	// ok says that every item is bound.
	ok         bool
	having     expr.Expr
	latestKeys []*expr.Column
}

// nameOf is the first output column that passes an input position on unchanged.
func (o *outputs) nameOf(index int) (string, bool) {
	for i, e := range o.exprs {
		if c, ok := e.(*expr.Column); ok && c.Index == index {
			return o.names[i], true
		}
	}
	return "", false
}

// items binds the select list.
func (q *selecting) items() {
	q.out.ok = true
	for i, it := range q.s.Items {
		if it.Star {
			q.star(it)
			continue
		}
		b := q.binder(selectList)
		b.subs, b.windows = q.post, q.windows
		if q.grouped {
			b.group, b.item = q.group, it.Expr
		} else if q.s.Latest != nil {
			b.clause = "a query with LATEST BY"
		}
		e, ok := b.bind(it.Expr)
		if !ok {
			q.out.ok = false
			continue
		}
		q.add(it, outputName(it, i), e, q.field(it.Expr))
	}
}

// field is the declared shape of an item that is a plain column: the zero Field when it is not.
func (q *selecting) field(e syntax.Expr) types.Field {
	c, ok := e.(*syntax.ColumnRef)
	if !ok {
		return types.Field{}
	}
	mark := len(q.ds)
	r, found := q.resolve(q.from.scope, c)
	q.ds = q.ds[:mark]
	if !found {
		return types.Field{}
	}
	return r.field
}

// add appends an output column. An implicit name that is taken gets a number; an alias that is taken is an error.
func (q *selecting) add(it *syntax.SelectItem, name string, e expr.Expr, declared types.Field) {
	if len(q.out.fields) >= maxColumns {
		if q.out.ok {
			q.report(it, CodeTooLarge, "name the columns that are needed", "a query gives out more than %d columns", maxColumns)
			q.out.ok = false
		}
		return
	}
	if q.out.taken == nil {
		q.out.taken = map[string]int{}
	}
	key := fold(name)
	if q.out.taken[key] > 0 {
		if it.Alias != nil {
			q.report(it.Alias, CodeDuplicateColumn, "choose another alias", "two columns are called %q", name)
			q.out.ok = false
			return
		}
		again := ""
		for n, taken := q.out.taken[key], 1; taken > 0; n++ {
			again = name + "_" + strconv.Itoa(n)
			taken = q.out.taken[fold(again)]
			q.out.taken[key] = n + 1
		}
		q.warn(it, CodeDuplicateColumn, "give it an alias with AS", "two columns are called %q; this one becomes %q", name, again)
		name = again
		key = fold(again)
	}
	q.out.taken[key] = max(q.out.taken[key], 2)
	if e.Kind() == types.Unknown {
		e = expr.As(e, types.String)
	}
	f := types.Field{Name: name, Kind: e.Kind()}
	if declared.Name != "" && declared.Stored() == e.Kind() {
		f.Kind, f.IsArray, f.Children = declared.Kind, declared.IsArray, declared.Children
	}
	if strings.EqualFold(name, types.TsColumn) && f.Stored() != types.Long && f.Stored() != types.Timestamp {
		q.report(it, CodeReservedName, "choose another alias", "%q is the event time and has to be a Long, found %s", name, f.Kind)
		q.out.ok = false
	}
	q.out.exprs = append(q.out.exprs, e)
	q.out.names = append(q.out.names, name)
	q.out.fields = append(q.out.fields, f)
}

// fold brings names that differ only by case to one form.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, name)
}

// maxColumns bounds what a query gives out: stars over queries of stars multiply.
const maxColumns = 5000

// selectList is the clause of a binder of a select item.
const selectList = "the select list"

// star adds every column of every relation, or of the one named.
func (q *selecting) star(it *syntax.SelectItem) {
	if q.grouped {
		q.report(it, CodeStarWithGroup, "list the columns", "* cannot stand with GROUP BY, a window or aggregates")
		q.out.ok = false
		return
	}
	inputs := q.from.scope.inputs
	found := it.Qualifier == nil
	if found {
		for _, m := range q.from.scope.merged {
			q.add(it, m.field.Name, m.expr, m.field)
		}
	}
	for _, in := range inputs {
		if it.Qualifier != nil && in.alias != it.Qualifier.Name {
			continue
		}
		found = true
		if in.broken {
			q.out.ok = false
		}
		for i, f := range in.columns {
			if it.Qualifier == nil && q.from.scope.hides(in, f.Name) {
				continue
			}
			name := f.Name
			if len(inputs) > 1 && !in.unnest {
				name = in.alias + "_" + f.Name
			}
			q.add(it, name, in.column(i).expr, f)
		}
	}
	if !found {
		q.out.ok = false
		if !q.from.scope.broken() {
			q.reportName(it.Qualifier, *it.Qualifier, CodeUnknownAlias, q.from.scope.aliases(), "in FROM",
				"nothing in FROM is called %q", it.Qualifier.Name)
		}
	}
}

// windowOutputs adds the columns of the window that the select list does not name itself.
func (q *selecting) windowOutputs() {
	if !q.grouped {
		return
	}
	for _, c := range q.group.visible() {
		if _, there := q.out.fields.Find(c.Name); there {
			continue
		}
		q.out.exprs = append(q.out.exprs, c)
		q.out.names = append(q.out.names, c.Name)
		q.out.fields = append(q.out.fields, types.Field{Name: c.Name, Kind: c.K})
	}
}

// outputName is the name of an item: its alias; the column's name; count_star; the function's name; the last JSON
// key; else its number.
func outputName(it *syntax.SelectItem, i int) string {
	if it.Alias != nil {
		return it.Alias.Name
	}
	switch e := it.Expr.(type) {
	case *syntax.ColumnRef:
		return e.Name.Name
	case *syntax.Call:
		if e.Star {
			return strings.ToLower(e.Name.Name) + "_star"
		}
		return strings.ToLower(e.Name.Name)
	case *syntax.Access:
		if l, ok := e.Key.(*syntax.Literal); ok && l.Kind == syntax.StringLiteral && l.Text != "" {
			return l.Text
		}
	}
	return fmt.Sprintf("col%d", i+1)
}
