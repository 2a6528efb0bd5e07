package changelog_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/streamsforge/streamsforge/engine/changelog"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

var schema = types.Schema{{Name: "k", Kind: types.String}, {Name: "v", Kind: types.Long}}

type row struct {
	k string // "" is NULL
	v int64
	w int64
}

// batch has a hidden column behind the visible ones, which differs from row to row.
func batch(rows ...row) *zset.Batch {
	b := zset.NewBuilder([]types.Kind{types.String, types.Long, types.Long})
	for i, r := range rows {
		if r.k == "" {
			b.Null(0)
		} else {
			b.Text(0, []byte(r.k))
		}
		b.Long(1, r.v)
		b.Long(2, int64(i))
		b.EndRow(r.w)
	}
	return b.Build()
}

func lines(rs []changelog.Record) string {
	var out []string
	for _, r := range rs {
		out = append(out, r.Format(schema.Names()))
	}
	return strings.Join(out, "\n")
}

var (
	byK   = changelog.Identity{Key: []int{0}}
	whole = changelog.Identity{Whole: true}
	one   = changelog.Identity{Key: []int{}}
)

// CHG-005, CHG-007: how a delta reads.
func TestDelta(t *testing.T) {
	for name, c := range map[string]struct {
		id   changelog.Identity
		rows []row
		want string
	}{
		"+ is an insert":               {byK, []row{{"a", 1, 1}}, `insert  k="a"  v=1`},
		"-old +new is an update":       {byK, []row{{"a", 2, 1}, {"a", 1, -1}}, `update  k="a"  v=2`},
		"- is a delete":                {byK, []row{{"a", 1, -1}}, `delete  k="a"  v=1`},
		"by key, NULL first":           {byK, []row{{"b", 1, 1}, {"a", 1, -1}, {"", 3, 1}, {"b", 0, -1}}, "insert  k=NULL  v=3\ndelete  k=\"a\"  v=1\nupdate  k=\"b\"  v=1"},
		"the hidden time is no change": {byK, []row{{"a", 1, -1}, {"a", 1, 1}}, ""},
		"one row":                      {one, []row{{"a", 1, -1}, {"b", 2, 1}}, `update  k="b"  v=2`},
		"the whole row: - before +":    {whole, []row{{"a", 2, 1}, {"a", 1, 3}, {"z", 9, -2}}, "delete  k=\"z\"  v=9  (2 times)\ninsert  k=\"a\"  v=1  (3 times)\ninsert  k=\"a\"  v=2"},
		"a key that is none":           {byK, []row{{"a", 1, -3}, {"a", 2, 1}, {"a", 3, 1}}, "update  k=\"a\"  v=2\nupdate  k=\"a\"  v=3\ndelete  k=\"a\"  v=1"},
	} {
		if got := lines(changelog.Delta(batch(c.rows...), 2, c.id)); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, c.want)
		}
	}
	if changelog.Delta(nil, 2, byK) != nil || changelog.Sequence(nil, 2, byK) != nil {
		t.Error("no delta has records")
	}
}

func TestSequenceKeepsItsOrder(t *testing.T) {
	b := batch(row{"b", 1, 1}, row{"a", 1, 1}, row{"a", 1, -1}, row{"a", 2, 1}, row{"b", 1, -1})
	if got, want := lines(changelog.Sequence(b, 2, byK)), "insert  k=\"b\"  v=1\ninsert  k=\"a\"  v=1\nupdate  k=\"a\"  v=2\ndelete  k=\"b\"  v=1"; got != want {
		t.Errorf("by key: got\n%s\nwant\n%s", got, want)
	}
	if got := changelog.Sequence(b, 2, whole); len(got) != 5 || got[2].Op != changelog.Delete {
		t.Errorf("by row: %s", lines(got))
	}
}

func TestIdentityOf(t *testing.T) {
	for _, c := range []struct {
		mode plan.Changelog
		want changelog.Identity
	}{
		{plan.Changelog{Mode: plan.Append}, whole},
		{plan.Changelog{Mode: plan.Retract}, whole},
		{plan.Changelog{Mode: plan.Upsert, Key: []string{"v", "K"}}, changelog.Identity{Key: []int{1, 0}}},
		{plan.Changelog{Mode: plan.Upsert, Key: []string{}}, one},
		{plan.Changelog{Mode: plan.Upsert, Key: []string{"_ts"}}, whole},
	} {
		got := changelog.IdentityOf(c.mode, schema)
		if got.Whole != c.want.Whole || !slices.Equal(got.Key, c.want.Key) {
			t.Errorf("%s: got %+v, want %+v", c.mode, got, c.want)
		}
	}
}

var anyRows = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) row {
	return row{rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "k"), rapid.Int64Range(0, 3).Draw(t, "v"), rapid.Int64Range(-3, 3).Draw(t, "w")}
}), 0, 12)

// net adds up rows with weights.
func net(rows []row) map[string]int64 {
	out := map[string]int64{}
	for _, r := range rows {
		k := r.k + "|" + types.LongOf(r.v).String()
		if out[k] += r.w; out[k] == 0 {
			delete(out, k)
		}
	}
	return out
}

func rowOf(v []types.Value, w int64) row {
	r := row{v: v[1].Int(), w: w}
	if !v[0].IsNull() {
		r.k = v[0].Text()
	}
	return r
}

// TestRecordsAddUpToTheDelta is the law of the package, for every identity and any weights; and the order of rows in
// the batch does not show.
func TestRecordsAddUpToTheDelta(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := anyRows.Draw(t, "rows")
		id := rapid.SampledFrom([]changelog.Identity{byK, whole, one}).Draw(t, "id")
		got := changelog.Delta(batch(rows...), 2, id)
		var back []row
		for _, r := range got {
			if r.Count < 1 || (r.Op == changelog.Update) != (r.Before != nil) || id.Whole && r.Op == changelog.Update {
				t.Fatalf("bad record %+v", r)
			}
			switch r.Op {
			case changelog.Insert:
				back = append(back, rowOf(r.Row, r.Count))
			case changelog.Delete:
				back = append(back, rowOf(r.Row, -r.Count))
			case changelog.Update:
				back = append(back, rowOf(r.Row, r.Count), rowOf(r.Before, -r.Count))
			}
		}
		if a, b := net(back), net(rows); len(a) != len(b) {
			t.Fatalf("records %v, delta %v", a, b)
		} else {
			for k, w := range b {
				if a[k] != w {
					t.Fatalf("records %v, delta %v", a, b)
				}
			}
		}
		shuffled := rapid.Permutation(rows).Draw(t, "shuffled")
		if again := lines(changelog.Delta(batch(shuffled...), 2, id)); again != lines(got) {
			t.Fatalf("another order of rows:\n%s\n--\n%s", again, lines(got))
		}
	})
}

// TestUpsertsKeepTheNewest holds Upserts against a map, with restarts.
func TestUpsertsKeepTheNewest(t *testing.T) {
	kinds := []types.Kind{types.String, types.Long, types.Long}
	rapid.Check(t, func(t *rapid.T) {
		u := changelog.NewUpserts(kinds, []int{0}, -1)
		newest := map[string]int64{}
		shown := map[string]int64{}
		for range rapid.IntRange(1, 5).Draw(t, "steps") {
			rows := anyRows.Draw(t, "rows")
			for i := range rows {
				rows[i].w = 1
				newest[rows[i].k] = rows[i].v
			}
			for _, r := range changelog.Delta(u.Apply(batch(rows...)), 2, byK) {
				k := rowOf(r.Row, 1)
				have, ok := shown[k.k]
				switch {
				case r.Op == changelog.Insert && ok, r.Op == changelog.Delete, r.Count != 1:
					t.Fatalf("bad record %+v", r)
				case r.Op == changelog.Update && (!ok || have != r.Before[1].Int()):
					t.Fatalf("%+v updates %d", r, have)
				}
				shown[k.k] = k.v
			}
			snapshot := u.AppendSnapshot(nil)
			again := changelog.NewUpserts(kinds, []int{0}, -1)
			if err := again.Restore(snapshot); err != nil || !slices.Equal(again.AppendSnapshot(nil), snapshot) {
				t.Fatalf("restore: %v", err)
			}
			u = again
		}
		if len(shown) != len(newest) || u.Len() != len(newest) {
			t.Fatalf("shown %v, newest %v", shown, newest)
		}
		for k, v := range newest {
			if shown[k] != v {
				t.Fatalf("shown %v, newest %v", shown, newest)
			}
		}
	})
}

func TestUpsertsByTime(t *testing.T) {
	u := changelog.NewUpserts([]types.Kind{types.String, types.Long, types.Long}, []int{0}, 2)
	b := zset.NewBuilder([]types.Kind{types.String, types.Long, types.Long})
	for _, r := range [][2]int64{{1, 30}, {2, 10}, {3, 20}} {
		b.Text(0, []byte("a"))
		b.Long(1, r[0])
		b.Long(2, r[1])
		b.EndRow(1)
	}
	if got, want := lines(changelog.Delta(u.Apply(b.Build()), 2, byK)), `insert  k="a"  v=1`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func FuzzUpsertsRestore(f *testing.F) {
	kinds := []types.Kind{types.String, types.Long, types.Long}
	u := changelog.NewUpserts(kinds, []int{0}, -1)
	u.Apply(batch(row{"a", 1, 1}, row{"", 2, 1}))
	f.Add(u.AppendSnapshot(nil))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		u := changelog.NewUpserts(kinds, []int{0}, -1)
		if u.Restore(b) == nil {
			u.Apply(batch(row{"a", 5, 1}, row{"", 5, 1}))
		}
	})
}
