package server

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/view"
	"github.com/streamsforge/streamsforge/streams"
)

// lifecycleQueue is how many events may wait for the log. Definitions change by hand or by
// an import of some thousands; a full queue drops the newest event and counts it, because
// a write of the catalog must not wait for its announcement.
const lifecycleQueue = 4096

// lifecycleFlush bounds the writing of what is queued when the server stops.
const lifecycleFlush = 2 * time.Second

// lifecycle announces what happens to entities on sf.<env>.lifecycle.
type lifecycle struct {
	queue   chan lifecycleEvent
	dropped atomic.Int64
	logger  *slog.Logger
	log     *streams.Server
	streams map[string]*streams.Stream // by environment; used by run alone
}

type lifecycleEvent struct {
	env   string
	event view.LifecycleEvent
}

// publish queues an event. It never blocks.
func (l *lifecycle) publish(env string, e view.LifecycleEvent) {
	if env == "" {
		env = catalog.DefaultEnvironment
	}
	if e.TimestampMs == 0 {
		e.TimestampMs = time.Now().UnixMilli()
	}
	select {
	case l.queue <- lifecycleEvent{env, e}:
	default:
		if l.dropped.Add(1) == 1 {
			l.logger.Warn("lifecycle events are being dropped: the log does not keep up", "env", env)
		}
	}
}

func newLifecycle(logger *slog.Logger) *lifecycle {
	return &lifecycle{queue: make(chan lifecycleEvent, lifecycleQueue), logger: logger, streams: map[string]*streams.Stream{}}
}

// run writes queued events until ctx ends, and then what is left.
func (l *lifecycle) run(ctx context.Context) error {
	for {
		select {
		case e := <-l.queue:
			l.write(ctx, e)
		case <-ctx.Done():
			flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), lifecycleFlush)
			defer cancel()
			for {
				select {
				case e := <-l.queue:
					l.write(flush, e)
				default:
					return ctx.Err()
				}
			}
		}
	}
}

func (l *lifecycle) write(ctx context.Context, e lifecycleEvent) {
	st, ok := l.streams[e.env]
	if !ok {
		var err error
		if st, err = l.log.EnsureLifecycle(ctx, e.env); err != nil {
			l.logger.Warn("a lifecycle event is lost", "env", e.env, "kind", e.event.Kind, "error", err)
			return
		}
		l.streams[e.env] = st
	}
	data, err := json.Marshal(e.event)
	if err == nil {
		_, err = st.Publish(ctx, data, nil)
	}
	if err != nil {
		l.logger.Warn("a lifecycle event is lost", "env", e.env, "kind", e.event.Kind, "error", err)
	}
}
