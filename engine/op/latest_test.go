package op_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/engine/op"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
)

var latestColumns = types.Schema{
	{Name: "k", Kind: types.String}, {Name: "v", Kind: types.Long}, {Name: "_ts", Kind: types.Long}, {Name: "_retract", Kind: types.Bool},
}

// latestRows reads rows such as "a 1 @5", "-a 1 @5" (a retraction) and "a 0 @6 retract", one a line.
func latestRows(text string) *zset.Batch {
	b := zset.NewBuilder([]types.Kind{types.String, types.Long, types.Long, types.Bool})
	for _, line := range strings.Split(text, ",") {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		w := int64(1)
		if strings.HasPrefix(line, "-") {
			w, line = -1, line[1:]
		}
		var k string
		var v, ts int64
		if _, err := fmt.Sscanf(line, "%s %d @%d", &k, &v, &ts); err != nil {
			panic(err)
		}
		b.Text(0, []byte(k))
		b.Long(1, v)
		b.Long(2, ts)
		b.Bool(3, strings.HasSuffix(line, "retract"))
		b.EndRow(w)
	}
	return b.Build()
}

func emitted(n *op.LatestBy) string {
	var out []string
	n.Flush(func(d op.Delta) {
		for k := range d.Len() {
			i := d.At(k)
			sign := "+"
			if d.B.W(i) < 0 {
				sign = "-"
			}
			out = append(out, fmt.Sprintf("%s%s %d @%d", sign, d.B.Cols[0].Text(i), d.B.Cols[1].I64[i], d.B.Cols[2].I64[i]))
		}
	})
	return strings.Join(out, ", ")
}

func TestLatestBy(t *testing.T) {
	for _, tt := range []struct {
		name     string
		updating bool
		steps    []string
		want     []string
		ignored  int64
	}{
		{name: "the first row appears", steps: []string{"a 1 @5"}, want: []string{"+a 1 @5"}},
		{name: "newer replaces", steps: []string{"a 1 @5", "a 2 @6"}, want: []string{"+a 1 @5", "-a 1 @5, +a 2 @6"}},
		{name: "equal time replaces", steps: []string{"a 1 @5", "a 2 @5"}, want: []string{"+a 1 @5", "-a 1 @5, +a 2 @5"}},
		{name: "older is ignored", steps: []string{"a 1 @5", "a 2 @4"}, want: []string{"+a 1 @5", ""}, ignored: 1},
		{name: "net of a flush", steps: []string{"a 1 @5, a 2 @6, a 3 @7, b 1 @1"}, want: []string{"+a 3 @7, +b 1 @1"}},
		{name: "there and back", steps: []string{"a 1 @5", "a 2 @5, a 1 @5"}, want: []string{"+a 1 @5", ""}},
		{name: "retract removes the key", steps: []string{"a 1 @5", "a 0 @6 retract"}, want: []string{"+a 1 @5", "-a 1 @5"}},
		{name: "retract of nothing", steps: []string{"a 0 @6 retract"}, want: []string{""}},
		{name: "an old retract is ignored", steps: []string{"a 1 @5", "a 0 @4 retract"}, want: []string{"+a 1 @5", ""}, ignored: 1},
		{name: "a key can come back", steps: []string{"a 1 @5", "a 0 @6 retract", "a 2 @1"}, want: []string{"+a 1 @5", "-a 1 @5", "+a 2 @1"}},
		{name: "retraction of the retained row", updating: true, steps: []string{"a 1 @5", "-a 1 @5"}, want: []string{"+a 1 @5", "-a 1 @5"}},
		{name: "no fallback to an older row", updating: true, steps: []string{"a 1 @5", "a 2 @6", "-a 2 @6"},
			want: []string{"+a 1 @5", "-a 1 @5, +a 2 @6", "-a 2 @6"}},
		{name: "retraction of another row", updating: true, steps: []string{"a 1 @5", "-a 2 @5"}, want: []string{"+a 1 @5", ""}, ignored: 1},
		{name: "an update to an older time", updating: true, steps: []string{"a 1 @5", "a 2 @4, -a 1 @5"},
			want: []string{"+a 1 @5", "-a 1 @5, +a 2 @4"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := op.NewLatestBy(latestColumns, []int{0}, 2, 3, !tt.updating)
			for i, step := range tt.steps {
				n.Apply(0, op.Delta{B: latestRows(step)}, nil)
				n.Advance(0, nil)
				if got := emitted(n); got != tt.want[i] {
					t.Errorf("step %d: got %q, want %q", i, got, tt.want[i])
				}
				// A restart between steps changes nothing.
				again := op.NewLatestBy(latestColumns, []int{0}, 2, 3, !tt.updating)
				if err := again.Restore(n.AppendSnapshot(nil)); err != nil {
					t.Fatal(err)
				}
				n = again
			}
			if n.Ignored != tt.ignored {
				t.Errorf("%d rows ignored, want %d", n.Ignored, tt.ignored)
			}
		})
	}
}
