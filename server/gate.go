package server

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamsforge/streamsforge/httpapi"
	"github.com/streamsforge/streamsforge/server/view"
)

// gate stands before the REST surface. While the server starts there is no surface yet,
// and while it drains nothing new may begin; the probes are answered all the time, so that
// whoever watches sees which of the two it is.
type gate struct {
	phase   atomic.Pointer[httpapi.Phase]
	surface atomic.Pointer[http.Handler]
	checks  func() []view.Check

	// base is the context of every request; cut ends those that outstay a drain.
	base context.Context //nolint:containedctx // net/http asks for it by a function
	cut  context.CancelFunc

	mu       sync.Mutex
	inFlight int
	idle     chan struct{} // closed when draining and nothing is in flight
	draining bool
}

// drainGrace is how long requests in flight may go on before they are cut off: a read that
// waits for a position would hold a stop up for most of a minute.
const drainGrace = 5 * time.Second

func newGate(checks func() []view.Check) *gate {
	g := &gate{checks: checks, idle: make(chan struct{})}
	g.base, g.cut = context.WithCancel(context.Background())
	g.setPhase(httpapi.Starting)
	return g
}

func (g *gate) setPhase(p httpapi.Phase) { g.phase.Store(&p) }

// Phase implements httpapi.Health.
func (g *gate) Phase() httpapi.Phase { return *g.phase.Load() }

// Checks implements httpapi.Health.
func (g *gate) Checks() []view.Check { return g.checks() }

var _ httpapi.Health = (*gate)(nil)

// attach gives the gate the surface; probes go to it from then on.
func (g *gate) attach(h http.Handler) { g.surface.Store(&h) }

// open lets requests in.
func (g *gate) open() { g.setPhase(httpapi.Ready) }

// drain refuses new requests, waits for those in flight, and cuts off what is still there
// after the grace time.
func (g *gate) drain(ctx context.Context, grace time.Duration) error {
	g.setPhase(httpapi.Draining)
	g.mu.Lock()
	g.draining = true
	if g.inFlight == 0 {
		g.closeIdle()
	}
	g.mu.Unlock()
	late := time.AfterFunc(grace, g.cut)
	defer late.Stop()
	select {
	case <-g.idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// closeIdle is called with mu held; drain and the last request may both come to it.
func (g *gate) closeIdle() {
	select {
	case <-g.idle:
	default:
		close(g.idle)
	}
}

func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.draining || g.Phase() != httpapi.Ready {
		return false
	}
	g.inFlight++
	return true
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inFlight--; g.draining && g.inFlight == 0 {
		g.closeIdle()
	}
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	surface := g.surface.Load()
	if probe(r.URL.Path) {
		if surface != nil {
			(*surface).ServeHTTP(w, r)
			return
		}
		g.early(w, r)
		return
	}
	if surface == nil || !g.enter() {
		g.early(w, r)
		return
	}
	defer g.leave()
	(*surface).ServeHTTP(w, r)
}

func probe(path string) bool {
	switch path {
	case "/healthz", "/api/healthz", "/readyz", "/metrics":
		return true
	}
	return false
}

// early is the answer of a server that takes no requests: not yet, or no more.
func (g *gate) early(w http.ResponseWriter, r *http.Request) {
	phase := g.Phase()
	if phase == httpapi.Ready {
		phase = httpapi.Draining // it closed between the look and the entry
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Retry-After", "1")
	h.Set("Content-Type", "application/json")
	h.Set("Connection", "close")
	w.WriteHeader(http.StatusServiceUnavailable)
	var body any
	switch {
	case r.URL.Path == "/readyz":
		body = httpapi.ReadyAnswer{Status: string(phase), Checks: g.checks()}
	case probe(r.URL.Path):
		body = httpapi.HealthAnswer{Status: string(phase), Flavor: "nats"}
	case phase == httpapi.Draining:
		body = httpapi.ErrorBody{Error: "the server is shutting down"}
	default:
		body = httpapi.ErrorBody{Error: "the server is starting"}
	}
	_ = json.NewEncoder(w).Encode(body) // the client may have gone
}
