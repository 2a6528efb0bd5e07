package intake

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/server/view"
)

// BenchmarkPush measures a push from its body to the answer with a position: decode, write-ahead, move to the
// source's stream. Run with -cpu to see pushers beside each other.
func BenchmarkPush(b *testing.B) {
	for _, policy := range []string{"Reject", "Inline"} {
		for _, rows := range []int{1, 100, 1000} {
			b.Run(fmt.Sprintf("%s/rows=%d", policy, rows), func(b *testing.B) {
				r := newRig(b)
				r.source("s", `{"policy":"`+policy+`","capacityRows":100000}`)
				row := `{"id":"` + strings.Repeat("x", 100) + `","n":12345}`
				body := []byte(`{"events":[` + strings.TrimSuffix(strings.Repeat(row+",", rows), ",") + `]}`)
				b.SetBytes(int64(len(body)))
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						got, err := r.in.Ingest().PushBody(context.Background(), "", "s", body, "")
						if err != nil || got.Outcome != view.Accepted {
							b.Errorf("%+v, %v", got, err)
						}
					}
				})
				b.ReportMetric(float64(b.N*rows)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}
