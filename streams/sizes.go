package streams

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// Size is how much a stream holds.
type Size struct{ Messages, Bytes uint64 }

// Sizes reads the size of every stream of the product, by name, KV buckets not included. It asks on the connection of the
// callers, page by page: appends have connections of their own and do not wait behind it. A listing that does not end
// within ctx is an error and not a part of the answer.
func (s *Server) Sizes(ctx context.Context) (map[string]Size, error) {
	sizes := map[string]Size{}
	l := s.js.ListStreams(ctx, jetstream.WithStreamListSubject("sf.>"))
	for info := range l.Info() {
		sizes[info.Config.Name] = Size{Messages: info.State.Msgs, Bytes: info.State.Bytes}
	}
	if err := l.Err(); err != nil {
		return nil, fmt.Errorf("sizes of the streams: %w", err)
	}
	return sizes, nil
}
