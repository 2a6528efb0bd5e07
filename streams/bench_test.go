package streams_test

import (
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsforge/streamsforge/streams"
	"github.com/streamsforge/streamsforge/streams/streamstest"
)

// BenchmarkRead reads a stream that was just written, from the start to its end.
func BenchmarkRead(b *testing.B) {
	for _, size := range []int{150, 1 << 10, 16 << 10, 128 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := streamstest.Open(b)
			st := must(s.EnsureSource(b.Context(), "default", "a", streams.Limits{}))(b)
			data := make([]byte, size)
			n := min(200_000, (256<<20)/size)
			streamstest.Publish(b.Context(), b, st, n, func(int) []byte { return data })
			b.SetBytes(int64(n * size))
			for b.Loop() {
				msgs := 0
				r := st.Read(1, streams.ReadOptions{Until: uint64(n)})
				for msgs < n {
					m, err := r.Next(b.Context())
					ok(b, err)
					msgs += len(m)
				}
				r.Stop()
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "msgs/s")
		})
	}
}

// BenchmarkAppend stores entries one after the other, and pipelined.
func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{150, 16 << 10, 128 << 10} {
		for _, pipelined := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/pipelined=%v", size, pipelined), func(b *testing.B) {
				s := streamstest.Open(b)
				st := must(s.EnsureTable(b.Context(), "default", "t", "t", streams.Limits{}))(b)
				j := must(streams.OpenJournal(b.Context(), st, 1))(b)
				e := streams.Entry{Inputs: []streams.Position{{"trades", st.Incarnation(), 1}}, Data: make([]byte, size), ContentType: "application/x-sf-batch"}
				b.SetBytes(int64(size))
				for b.Loop() {
					e.Epoch++
					if pipelined {
						must(j.AppendAsync(b.Context(), e))(b)
					} else {
						must(j.Append(b.Context(), e))(b)
					}
				}
				ok(b, j.Settle(b.Context()))
			})
		}
	}
}

// BenchmarkEpoch is what a tick of the clock costs.
func BenchmarkEpoch(b *testing.B) {
	s := streamstest.Open(b)
	st := must(s.EnsureEpochs(b.Context(), "default"))(b)
	l := must(streams.OpenEpochs(b.Context(), st, 0))(b)
	r := streams.EpochRecord{Positions: map[string]uint64{streams.InputKey("trades", "x"): 0}}
	for b.Loop() {
		r.Epoch++
		r.TimeMs++
		r.Positions["trades#x"] += 5
		must(l.Append(b.Context(), r))(b)
	}
}

// BenchmarkClient is an external client over TCP, through the gate.
func BenchmarkClient(b *testing.B) {
	s := streamstest.Open(b, func(o *streams.Options) {
		o.Listen, o.Auth = "127.0.0.1:0", basic{streams.Identity{User: "ann", Publish: []string{"sf.default.source.*"}}}
	})
	st := must(s.EnsureSource(b.Context(), "default", "a", streams.Limits{}))(b)
	for name, url := range map[string]func() (*nats.Conn, error){
		"gate": func() (*nats.Conn, error) {
			return nats.Connect("nats://"+s.Address(), nats.CustomInboxPrefix(streams.InboxPrefix("ann")))
		},
		"in process": func() (*nats.Conn, error) { return s.Conn(), nil },
	} {
		b.Run(name, func(b *testing.B) {
			c := must(url())(b)
			if c != s.Conn() {
				defer c.Close()
			}
			js := must(jetstream.New(c, jetstream.WithPublishAsyncMaxPending(1024)))(b)
			data := make([]byte, 150)
			b.SetBytes(150)
			for b.Loop() {
				if _, err := js.PublishAsync(st.Subject(), data, jetstream.WithStallWait(10e9)); err != nil {
					b.Fatal(err)
				}
			}
			<-js.PublishAsyncComplete()
		})
	}
}
