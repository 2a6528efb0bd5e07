package zset_test

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

func TestConsolidateLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := batchGen.Draw(t, "batch")
		before := text(b)
		c := zset.Consolidate(b)
		if text(b) != before {
			t.Fatal("the batch was changed")
		}
		if !zset.IsConsolidated(c) {
			t.Fatalf("not consolidated:\n%s", text(c))
		}
		if !maps.Equal(weights(c), weights(b)) {
			t.Fatalf("other weights:\n%s\nof:\n%s", text(c), text(b))
		}
		if again := zset.Consolidate(c); again != c {
			t.Fatal("consolidating again makes a new batch")
		}
		order := rapid.Permutation(indexes(b.N)).Draw(t, "order")
		if got := text(zset.Consolidate(zset.Gather(b, order))); got != text(c) {
			t.Fatalf("another order gives:\n%s\nwant:\n%s", got, text(c))
		}
		if got := zset.Consolidate(zset.Concat(b, zset.Negate(b))); got.N != 0 {
			t.Fatalf("b - b is not empty:\n%s", text(got))
		}
	})
}

func indexes(n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(i)
	}
	return out
}

func TestSliceAndConcat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := batchGen.Draw(t, "batch")
		i := rapid.IntRange(0, b.N).Draw(t, "i")
		j := rapid.IntRange(i, b.N).Draw(t, "j")
		parts := []*zset.Batch{zset.Slice(b, 0, i), nil, zset.Slice(b, i, j), zset.Slice(b, j, b.N)}
		if got := text(zset.Concat(parts...)); got != text(b) {
			t.Fatalf("cut at %d and %d and joined:\n%s\nwant:\n%s", i, j, got, text(b))
		}
		// A slice of a slice, and its copy row by row.
		mid := parts[2]
		k := rapid.IntRange(0, mid.N).Draw(t, "k")
		part := zset.Slice(mid, k, mid.N)
		build := zset.NewBuilder(b.Kinds())
		for row := range part.N {
			for c := range part.Cols {
				build.Cell(c, &part.Cols[c], row)
			}
			build.EndRow(part.W(row))
		}
		copied := build.Build()
		if text(copied) != text(part) || text(part) != text(zset.Gather(b, indexes(b.N)[i+k:j])) {
			t.Fatalf("rows %d to %d:\n%s\ncopied:\n%s", i+k, j, text(part), text(copied))
		}
	})
}

func TestConcatOfDifferentDictionaries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := []types.Kind{types.String, types.Json}
		var parts []*zset.Batch
		want := ""
		for range rapid.IntRange(1, 4).Draw(t, "parts") {
			b := drawBatch(t, kinds, rapid.IntRange(0, 80).Draw(t, "rows"))
			parts = append(parts, b)
			want += text(b)
		}
		if got := text(zset.Concat(parts...)); got != want {
			t.Fatalf("joined:\n%s\nwant:\n%s", got, want)
		}
	})
}

// TestConcatKeepsDictionary: batches of one interner are joined by copying codes.
func TestConcatKeepsDictionary(t *testing.T) {
	b := zset.NewBuilder([]types.Kind{types.String})
	b.Intern(0)
	var parts []*zset.Batch
	for i := range 3 {
		for j := range 10 {
			b.Text(0, fmt.Append(nil, "v", (i+j)%(i+3)))
			b.EndRow(1)
		}
		parts = append(parts, b.Build())
	}
	joined := zset.Concat(parts...)
	if joined.Cols[0].Dict != parts[2].Cols[0].Dict || !joined.Cols[0].Dict.Extends(parts[0].Cols[0].Dict) {
		t.Error("the dictionary of the last part is not that of the result")
	}
	if parts[0].Cols[0].Dict.Extends(parts[2].Cols[0].Dict) {
		t.Error("an older dictionary says that it extends a newer one")
	}
	picked := zset.Gather(joined, []int32{29, 0})
	if picked.Cols[0].Dict != joined.Cols[0].Dict || text(picked) != "1 [\"v1\"]\n1 [\"v0\"]\n" {
		t.Errorf("gathered %s", text(picked))
	}
}

func TestRecordRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := batchGen.Draw(t, "batch")
		build := zset.NewBuilder(b.Kinds())
		for i := range b.N {
			rec := zset.AppendRecord([]byte("x"), b, i, nil)[1:]
			if got := build.Record(rec, 0); got != len(b.Cols) {
				t.Fatalf("%d columns of %d", got, len(b.Cols))
			}
			build.EndRow(b.W(i))
			values, err := zset.RecordValues(rec, b.Kinds())
			if err != nil || fmt.Sprint(values) != fmt.Sprint(b.Row(i)) {
				t.Fatalf("values %v, %v; want %v", values, err, b.Row(i))
			}
			var boxed []byte
			for c, v := range values {
				if skipped := zset.SkipCells(rec, c); !bytes.Equal(skipped, rec[len(boxed):]) {
					t.Fatalf("after %d cells % x, want % x", c, skipped, rec[len(boxed):])
				}
				boxed = zset.AppendValue(boxed, v)
			}
			if !bytes.Equal(boxed, rec) {
				t.Fatalf("boxed % x, want % x", boxed, rec)
			}
			if len(rec) == 0 {
				continue
			}
			if _, err := zset.RecordValues(rec[:len(rec)-1], b.Kinds()); err == nil {
				t.Fatalf("% x without its last byte is a record", rec)
			}
		}
		if got := build.Build(); text(got) != text(b) {
			t.Fatalf("rebuilt:\n%s\nwant:\n%s", text(got), text(b))
		}
	})
}

// TestRecordOrder: records compare as their cells do, and are equal when their cells are identical.
func TestRecordOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := kindGen.Draw(t, "kind")
		x, y := valueGen(k).Draw(t, "x"), valueGen(k).Draw(t, "y")
		got := bytes.Compare(zset.AppendLongCell(zset.AppendValue(nil, x), 5), zset.AppendLongCell(zset.AppendValue(nil, y), 5))
		want, ok := types.Compare(x, y)
		if !ok {
			switch {
			case x.IsNull() && y.IsNull():
				want = 0
			case x.IsNull():
				want = -1
			default:
				want = 1
			}
		}
		if got != want {
			t.Fatalf("%v against %v: %d, want %d", x, y, got, want)
		}
		if types.Identical(x, y) != (got == 0) {
			t.Fatalf("%v and %v: identical %v, bytes equal %v", x, y, types.Identical(x, y), got == 0)
		}
	})
}

func TestCellsOfDifferentKindsDiffer(t *testing.T) {
	values := []types.Value{
		types.Null(types.Long), types.LongOf(0), types.LongOf(1), types.DoubleOf(0), types.DoubleOf(1), types.BoolOf(false), types.BoolOf(true),
		types.StringOf(""), types.StringOf("1"), types.JsonOf("1"), types.JsonOf(""),
	}
	for i, x := range values {
		for j, y := range values {
			if same := bytes.Equal(zset.AppendValue(nil, x), zset.AppendValue(nil, y)); same != (i == j) {
				t.Errorf("%v %v and %v %v: equal bytes %v", x.Kind(), x, y.Kind(), y, same)
			}
		}
	}
	if !bytes.Equal(zset.AppendValue(nil, types.LongOf(7)), zset.AppendValue(nil, types.TimestampOf(7))) {
		t.Error("a Timestamp does not have the bytes of the same Long")
	}
	negativeNaN := math.Float64frombits(0xfff8000000000123)
	if !bytes.Equal(zset.AppendDoubleCell(nil, negativeNaN), zset.AppendDoubleCell(nil, math.NaN())) ||
		!bytes.Equal(zset.AppendDoubleCell(nil, math.Copysign(0, -1)), zset.AppendDoubleCell(nil, 0)) {
		t.Error("there is more than one NaN or zero")
	}
}

func TestComparableCell(t *testing.T) {
	b := zset.NewBuilder([]types.Kind{types.Double, types.Long})
	for _, r := range []struct {
		f    float64
		i    int64
		same bool
	}{{1, 1, true}, {1.5, 1, false}, {-1 << 63, math.MinInt64, true}, {1 << 63, math.MaxInt64, false}, {0, 0, true}, {math.NaN(), 0, false}} {
		b.Double(0, r.f)
		b.Long(1, r.i)
		b.EndRow(1)
		batch := b.Build()
		got := bytes.Equal(zset.AppendComparableCell(nil, &batch.Cols[0], 0), zset.AppendComparableCell(nil, &batch.Cols[1], 0))
		if got != r.same {
			t.Errorf("%v and %d: equal %v", r.f, r.i, got)
		}
	}
}
