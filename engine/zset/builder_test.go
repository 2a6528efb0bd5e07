package zset_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

func TestBuilderAbortAndTruncate(t *testing.T) {
	b := zset.NewBuilder([]types.Kind{types.String, types.Long, types.String})
	b.Intern(2)
	row := func(s string, i int64) {
		b.Text(2, []byte(s))
		b.Text(0, []byte(s+s))
		b.Long(1, i)
	}
	row("a", 1)
	b.EndRow(1)
	b.Text(0, []byte("half"))
	b.Null(2)
	b.AbortRow()
	b.Null(0)
	b.Null(1)
	b.Null(2)
	b.EndRow(1)
	row("b", 2)
	b.EndRow(-3)
	row("c", 3)
	b.EndRow(1)
	row("d", 4)
	b.Truncate(3)
	if b.Len() != 3 {
		t.Fatalf("%d rows", b.Len())
	}
	batch := b.Build()
	if got, want := text(batch), "1 [\"aa\" 1 \"a\"]\n1 [NULL NULL NULL]\n-3 [\"bb\" 2 \"b\"]\n"; got != want {
		t.Errorf("built %s, want %s", got, want)
	}
	b.Truncate(0)
	row("z", 9)
	b.EndRow(1)
	if again := b.Build(); text(again) != "1 [\"zz\" 9 \"z\"]\n" || again.Weight != nil || again.Cols[0].Valid != nil {
		t.Errorf("the next batch is %s", text(again))
	}
	if text(batch) == "" || batch.N != 3 {
		t.Error("the first batch was changed")
	}
}

func TestBuilderRefusesUnevenRows(t *testing.T) {
	b := zset.NewBuilder([]types.Kind{types.Long, types.Long})
	b.Long(0, 1)
	b.EndRow(1)
	defer func() {
		if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "BUG: column 1 has 0 cells") {
			t.Errorf("panic %q", got)
		}
	}()
	b.Build()
}

// TestBuilderBorrowsDictionaries: cells of dictionary columns keep their codes until another text comes.
func TestBuilderBorrowsDictionaries(t *testing.T) {
	src := zset.NewBuilder([]types.Kind{types.String})
	src.Intern(0)
	for i := range 6 {
		if i == 3 {
			src.Null(0)
		} else {
			src.Text(0, []byte{byte('a' + i%2)})
		}
		src.EndRow(1)
	}
	from := &src.Build().Cols[0]
	b := zset.NewBuilder([]types.Kind{types.String})
	for i := range 6 {
		b.Cell(0, from, i)
		b.EndRow(1)
	}
	batch := b.Build()
	if batch.Cols[0].Dict != from.Dict {
		t.Error("the dictionary is not shared")
	}
	for i := range 6 {
		b.Cell(0, from, i)
		b.EndRow(1)
	}
	b.Text(0, []byte("other"))
	b.EndRow(1)
	mixed := b.Build()
	if got, want := strings.Join(strings.Fields(text(mixed)), " "), `1 ["a"] 1 ["b"] 1 ["a"] 1 [NULL] 1 ["a"] 1 ["b"] 1 ["other"]`; got != want {
		t.Errorf("mixed %s, want %s", got, want)
	}
	// A column that begins with a NULL and goes on with codes.
	b.Null(0)
	b.EndRow(1)
	b.Cell(0, from, 1)
	b.EndRow(1)
	if got, want := text(b.Build()), "1 [NULL]\n1 [\"b\"]\n"; got != want {
		t.Errorf("NULL first: %s, want %s", got, want)
	}
}

func TestOnlyNulls(t *testing.T) {
	b := zset.NewBuilder([]types.Kind{types.String, types.Json})
	b.Intern(0)
	b.Null(0)
	b.Null(1)
	b.EndRow(1)
	batch := b.Build()
	if text(batch) != "1 [NULL NULL]\n" || len(batch.Cols[0].Text(0)) != 0 || len(batch.Cols[1].Text(0)) != 0 {
		t.Errorf("built %s", text(batch))
	}
	if got := zset.Concat(batch, batch); got.N != 2 || len(got.Cols[0].Text(1)) != 0 {
		t.Errorf("joined %s", text(got))
	}
}

func TestRowsWithoutColumns(t *testing.T) {
	b := zset.NewBuilder(nil)
	b.EndRow(2)
	b.EndRow(3)
	batch := b.Build()
	if batch.N != 2 || zset.Consolidate(batch).N != 1 || zset.Consolidate(batch).W(0) != 5 {
		t.Errorf("consolidated %s", text(zset.Consolidate(batch)))
	}
}

func TestAppendJSON(t *testing.T) {
	s := types.Schema{
		{Name: `a"b`, Kind: types.String}, {Name: "d", Kind: types.Double}, {Name: "l", Kind: types.Long}, {Name: "b", Kind: types.Bool},
		{Name: "t", Kind: types.Timestamp}, {Name: "j", Kind: types.Json},
	}
	kinds := make([]types.Kind, len(s))
	for c := range s {
		kinds[c] = s[c].Kind
	}
	b := zset.NewBuilder(kinds)
	b.Text(0, []byte("x\n\"é\\\x01"))
	b.Double(1, 15)
	b.Long(2, math.MinInt64)
	b.Bool(3, true)
	b.Long(4, 1700000000000)
	b.Text(5, []byte(`{"k":[1,null]}`))
	b.EndRow(1)
	for c := range kinds {
		b.Null(c)
	}
	b.EndRow(1)
	b.Text(0, []byte{'a', 0xff})
	b.Double(1, math.NaN())
	b.Long(2, 0)
	b.Bool(3, false)
	b.Long(4, 0)
	b.Text(5, []byte(`"s"`))
	b.EndRow(1)
	b.Text(0, nil)
	b.Double(1, math.Inf(-1))
	b.Long(2, 1)
	b.Bool(3, false)
	b.Long(4, -1)
	b.Text(5, []byte(`1.0`))
	b.EndRow(1)
	batch := b.Build()
	for i, want := range []string{
		`{"a\"b":"x\n\"é\\\u0001","d":15,"l":-9223372036854775808,"b":true,"t":1700000000000,"j":{"k":[1,null]}}`,
		`{"a\"b":null,"d":null,"l":null,"b":null,"t":null,"j":null}`,
		`{"a\"b":"a�","d":null,"l":0,"b":false,"t":0,"j":"s"}`,
		`{"a\"b":"","d":null,"l":1,"b":false,"t":-1,"j":1.0}`,
	} {
		if got := string(zset.AppendJSON(nil, s, batch, i)); got != want {
			t.Errorf("row %d: %s, want %s", i, got, want)
		}
	}
}

// TestInternFollowsTheTexts: a few hundred equally frequent texts keep their dictionary, ids lose it at once, and a
// column whose texts become few gets one again.
func TestInternFollowsTheTexts(t *testing.T) {
	b := zset.NewBuilder([]types.Kind{types.String, types.String, types.String})
	for c := range 3 {
		b.Intern(c)
	}
	r := rng(5)
	coded := func(c int) bool { return false }
	for batch := range 300 {
		for i := range 1000 {
			b.Text(0, fmt.Append(nil, "SYM", r.next()%200))
			b.Text(1, fmt.Append(nil, "id", batch*1000+i))
			if batch < 10 {
				b.Text(2, fmt.Append(nil, "id", batch*1000+i))
			} else {
				b.Text(2, fmt.Append(nil, "few", i%5))
			}
			b.EndRow(1)
		}
		built := b.Build()
		coded = func(c int) bool { return built.Cols[c].Dict != nil }
		if !coded(0) || coded(1) || batch == 5 && coded(2) {
			t.Fatalf("batch %d: dictionaries %v, %v, %v", batch, coded(0), coded(1), coded(2))
		}
		if got := string(built.Cols[1].Text(999)); got != fmt.Sprint("id", batch*1000+999) {
			t.Fatalf("batch %d: last id %s", batch, got)
		}
	}
	if !coded(2) {
		t.Error("the third column has no dictionary in the end")
	}
}
