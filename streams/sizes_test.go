package streams_test

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsforge/streamsforge/streams"
)

func TestSizesOfStreams(t *testing.T) {
	s, st := newSource(t)
	must(s.EnsureTable(t.Context(), "default", "id", "none", streams.Limits{}))(t)
	must(s.JetStream().CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "others"}))(t)
	for i := range 3 {
		must(st.Publish(t.Context(), row(i), nil))(t)
	}
	sizes := must(s.Sizes(t.Context()))(t)
	if got := sizes[st.Name()]; got.Messages != 3 || got.Bytes == 0 {
		t.Errorf("after 3 messages the stream has %+v", got)
	}
	if got, ok := sizes[streams.TableStream("default", "id")]; !ok || got != (streams.Size{}) {
		t.Errorf("an empty stream has %+v (%v)", got, ok)
	}
	if len(sizes) != 2 {
		t.Errorf("sizes of %v, want those of the two streams of entities", sizes)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := s.Sizes(ctx); err == nil {
		t.Errorf("a listing that was cut short is taken for %v", got)
	}
}
