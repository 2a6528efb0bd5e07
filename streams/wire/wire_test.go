package wire_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
	"github.com/streamsforge/streamsforge/streams/wire"
)

var kindGen = rapid.SampledFrom([]types.Kind{types.String, types.Double, types.Long, types.Bool, types.Timestamp, types.Json})

// batchGen draws batches of both forms whose columns meet every encoding.
var batchGen = rapid.Custom(func(t *rapid.T) *zset.Batch {
	kinds := rapid.SliceOfN(kindGen, 0, 6).Draw(t, "kinds")
	b := zset.NewBuilder(kinds)
	for c, k := range kinds {
		if k.IsText() && rapid.Bool().Draw(t, "dict") {
			b.Intern(c)
		}
	}
	rows := rapid.SampledFrom([]int{0, 1, 2, 15, 16, 17, 64, 65, 200}).Draw(t, "rows")
	nulls := rapid.IntRange(0, 3).Draw(t, "nulls")
	span := rapid.SampledFrom([]int64{0, 1, 255, 256, 70000, 1 << 33, math.MaxInt64}).Draw(t, "span")
	scale := rapid.SampledFrom([]float64{1, 100, 3}).Draw(t, "scale")
	weight := rapid.SampledFrom([]int64{0, 1, 1 << 40}).Draw(t, "weights")
	for i := range rows {
		for c, k := range kinds {
			x := rapid.Int64Range(-span-1, span).Draw(t, "x")
			switch {
			case nulls > 0 && (i+c)%(nulls+1) == 0:
				b.Null(c)
			case k == types.Double:
				b.Double(c, rapid.SampledFrom([]float64{float64(x) / scale, float64(x) / scale, 0, math.Inf(1), math.NaN()}).Draw(t, "f"))
			case k == types.Bool:
				b.Bool(c, x&1 == 1)
			case k.IsText():
				b.Text(c, []byte(strings.Repeat("x", int(uint64(x)%9))+fmt.Sprint(x%5)))
			default:
				b.Long(c, x)
			}
		}
		w := int64(1)
		if weight > 0 {
			w = rapid.Int64Range(-weight, weight).Draw(t, "w")
		}
		b.EndRow(w)
	}
	return b.Build()
})

// text prints a batch with its weights.
func text(b *zset.Batch) string {
	var s strings.Builder
	fmt.Fprintln(&s, b.Kinds(), b.N, b.Weight)
	for i := range b.N {
		fmt.Fprintln(&s, b.Row(i))
	}
	return s.String()
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := batchGen.Draw(t, "batch")
		p := wire.Encode([]byte("before"), b.Kinds(), b)
		if string(p[:6]) != "before" {
			t.Fatal("the bytes before were changed")
		}
		kinds, got, err := wire.Decode(p[6:])
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(kinds, b.Kinds()) || text(got) != text(b) {
			t.Fatalf("decoded:\n%s\nwant:\n%s", text(got), text(b))
		}
		// A slice of a batch encodes by itself.
		if b.N > 2 {
			part := zset.Slice(b, 1, b.N-1)
			_, got, err := wire.Decode(wire.Encode(nil, part.Kinds(), part))
			if err != nil || text(got) != text(part) {
				t.Fatalf("slice: %v\n%s\nwant:\n%s", err, got2(got), text(part))
			}
		}
		// Encoding what was decoded gives the same bytes, so that a relay changes nothing.
		if again := wire.Encode(nil, kinds, got); !bytes.Equal(again, p[6:]) {
			t.Fatal("encoding again gives other bytes")
		}
	})
}

func got2(b *zset.Batch) string {
	if b == nil {
		return "nil"
	}
	return text(b)
}

var update = flag.Bool("update", false, "write the golden blobs")

// TestGolden: what an older program wrote must be read, and this one writes the same.
func TestGolden(t *testing.T) {
	for name, rows := range map[string]int{"rows-v1": 3, "block-v1": 20, "rows-v2": 3, "block-v2": 20} {
		path := filepath.Join("testdata", name+".hex")
		b := goldenBatch(rows)
		var evicted []bool
		if strings.HasSuffix(name, "v2") {
			evicted = make([]bool, rows)
			for i := range evicted {
				evicted[i] = i%2 == 1 && i != 5
			}
		}
		p := wire.EncodeMarked(nil, b.Kinds(), b, evicted)
		if *update {
			if err := os.WriteFile(path, []byte(hex.Dump(p)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := hex.Dump(p); got != string(want) {
			t.Errorf("%s: encoded\n%s\nwant\n%s", name, got, want)
		}
		_, got, marks, err := wire.DecodeMarked(p)
		if err != nil || text(got) != text(b) || !slices.Equal(marks, evicted) {
			t.Errorf("%s: decoded %v, marks %v\n%s", name, err, marks, got2(got))
		}
	}
}

func goldenBatch(rows int) *zset.Batch {
	b := zset.NewBuilder([]types.Kind{types.String, types.Double, types.Long, types.Bool, types.Timestamp, types.Json, types.String, types.Double})
	b.Intern(0)
	for i := range rows {
		b.Text(0, []byte([]string{"BUY", "SELL"}[i%2]))
		b.Double(1, float64(1000+i)/100)
		b.Long(2, int64(i)*1000-5)
		b.Bool(3, i%3 == 0)
		b.Long(4, 1700000000000+int64(i))
		b.Text(5, fmt.Appendf(nil, `{"i":%d}`, i))
		if i%4 == 1 {
			b.Null(6)
		} else {
			b.Text(6, []byte(strings.Repeat("é\x00", i%3)))
		}
		b.Double(7, 1/float64(i+3))
		b.EndRow(int64(1 - 2*(i%2)))
	}
	return b.Build()
}

func TestDamage(t *testing.T) {
	b := goldenBatch(20)
	damage(t, wire.Encode(nil, b.Kinds(), b))
	damage(t, wire.EncodeMarked(nil, b.Kinds(), b, make([]bool, b.N)))
}

func damage(t *testing.T, p []byte) {
	t.Helper()
	for i := range p {
		for _, bit := range []byte{1, 0x80} {
			bad := slices.Clone(p)
			bad[i] ^= bit
			if _, _, err := wire.Decode(bad); !errors.Is(err, wire.ErrFormat) {
				t.Fatalf("byte %d changed: %v", i, err)
			}
		}
		if _, _, err := wire.Decode(p[:i]); !errors.Is(err, wire.ErrFormat) {
			t.Fatalf("cut off at %d: %v", i, err)
		}
	}
}

// TestReferenceSize is the goal of at most 50 bytes a row for the reference row.
func TestReferenceSize(t *testing.T) {
	b := tradeBatch(1000)
	if n := len(wire.Encode(nil, b.Kinds(), b)); n > 50*b.N {
		t.Errorf("%d rows take %d bytes, %d a row", b.N, n, n/b.N)
	}
}
