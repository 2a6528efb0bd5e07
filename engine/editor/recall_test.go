package editor_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/editor"
	"github.com/streamsforge/streamsforge/engine/syntax"
	"github.com/streamsforge/streamsforge/engine/types"
)

// catalog is a list of relations.
type catalog []engine.Relation

func (c catalog) Relations(name string) (out []engine.Relation) {
	for _, r := range c {
		if r.Name == name {
			out = append(out, r)
		}
	}
	return out
}

func (c catalog) Names() (out []string) {
	for _, r := range c {
		out = append(out, r.Name)
	}
	return out
}

// eachQuery calls f with every query of the scripts that compiles, and the catalog it compiles against.
func eachQuery(t testing.TB, f func(sql string, cat catalog, mode engine.Mode)) {
	err := filepath.WalkDir("../enginetest/testdata", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".sft") {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var cat catalog
		for _, block := range strings.Split(string(b), "\n\n") {
			head, _, _ := strings.Cut(block, "\n----")
			for strings.HasPrefix(head, "#") {
				_, head, _ = strings.Cut(head, "\n")
			}
			command, body, _ := strings.Cut(head, "\n")
			words := strings.Fields(command)
			if len(words) == 0 {
				continue
			}
			mode := engine.TableMode
			switch words[0] {
			case "reset":
				cat = nil
			case "source":
				r := engine.Relation{Name: words[1], Kind: engine.Source, EventTime: true, AppendOnly: true}
				for _, line := range strings.Split(body, "\n") {
					if p := strings.Fields(line); len(p) == 2 {
						name, array := strings.CutSuffix(p[1], "[]")
						if k, err := types.ParseKind(name); err == nil {
							r.Schema = append(r.Schema, types.Field{Name: p[0], Kind: k, IsArray: array})
						}
					}
				}
				if len(words) > 2 && words[2] == "updating" {
					r.Kind, r.AppendOnly = engine.Table, false
				}
				cat = append(cat, r)
			case "pipeline":
				mode = engine.PipelineMode
				fallthrough
			case "table":
				p, _ := engine.Compile(body, cat, mode, engine.Options{})
				if p == nil || len(words) < 2 {
					continue
				}
				f(body, cat, mode)
				cat = append(cat, p.Relation(words[1]))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// defined notes where a tree gives names: they are new, so that nothing can offer them.
func defined(v reflect.Value, at map[int]bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return
		}
		if c, is := v.Interface().(*syntax.CTE); is {
			at[c.Name.Offset] = true
		}
		if w, is := v.Interface().(*syntax.NamedWindow); is {
			at[w.Name.Offset] = true
		}
		defined(v.Elem(), at)
	case reflect.Slice:
		for i := range v.Len() {
			defined(v.Index(i), at)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() {
				continue
			}
			if id, is := v.Field(i).Interface().(*syntax.Ident); is && f.Name == "Alias" && id != nil {
				at[id.Offset] = true
			}
			if f.Name != "Pos" {
				defined(v.Field(i), at)
			}
		}
	}
}

// selectLists notes the stretches of select lists and the columns of the query: a name in one cannot be known while its FROM is not written.
func selectLists(v reflect.Value, out *[]syntax.Pos, names map[int]bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return
		}
		switch n := v.Interface().(type) {
		case *syntax.ColumnRef:
			names[n.Name.Offset] = true
			if n.Qualifier != nil {
				names[n.Qualifier.Offset] = true
			}
		case *syntax.Over:
			if n.Base != nil {
				names[n.Base.Offset] = true
			}
		case *syntax.SelectItem:
			if n.Qualifier != nil {
				names[n.Qualifier.Offset] = true
			}
		case *syntax.Select:
			first, last := n.Items[0].Pos, n.Items[len(n.Items)-1].Pos
			first.End = last.End
			*out = append(*out, first)
		}
		selectLists(v.Elem(), out, names)
	case reflect.Slice:
		for i := range v.Len() {
			selectLists(v.Index(i), out, names)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Name != "Pos" {
				selectLists(v.Field(i), out, names)
			}
		}
	}
}

// Whatever word stands in a query that compiles is among what is offered at its place: with its first letter and the rest
// of the query there, and with nothing behind it.
func TestCompletionKnowsEveryWordOfTheScripts(t *testing.T) {
	queries, total, missed := 0, 0, 0
	eachQuery(t, func(sql string, cat catalog, mode engine.Mode) {
		queries++
		q, _ := syntax.Parse(sql)
		skip := map[int]bool{}
		defined(reflect.ValueOf(q), skip)
		var lists []syntax.Pos
		columns := map[int]bool{}
		selectLists(reflect.ValueOf(q), &lists, columns)
		early := func(tok syntax.Token) bool {
			return slices.ContainsFunc(lists, func(p syntax.Pos) bool { return p.Offset <= tok.Pos.Offset && tok.Pos.Offset < p.End })
		}
		tokens, _ := syntax.Scan(sql)
		for i, tok := range tokens {
			if tok.Kind != syntax.Word || skip[tok.Pos.Offset] {
				continue
			}
			for _, text := range []string{sql, sql[:tok.Pos.Offset]} {
				list := editor.Complete(text, tok.Pos.Offset+len(text)/len(sql), cat, mode) // behind the first letter, or at the end
				if text != sql && columns[tok.Pos.Offset] && early(tok) {
					continue
				}
				total++
				if !offers(list, tok.Text) {
					if missed++; missed < 60 {
						after := "before the rest"
						if text != sql {
							after = "at the end"
						}
						t.Errorf("%s\nword %d, %s (%s), is not offered %s", sql, i, tok.Text, tok.Pos, after)
					}
				}
			}
		}
	})
	if missed > 0 {
		t.Errorf("%d of %d words were not offered", missed, total)
	}
	t.Logf("%d queries, %d places", queries, total)
}

func offers(l editor.List, word string) bool {
	for _, it := range l.Items {
		for _, w := range strings.FieldsFunc(it.Insert, func(r rune) bool { return strings.ContainsRune(" .(${}:,)", r) }) {
			if strings.EqualFold(w, word) {
				return true
			}
		}
	}
	return false
}
