package server

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/streamsforge/streamsforge/httpapi"
	"github.com/streamsforge/streamsforge/server/view"
)

func ask(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
	return w
}

func TestGate(t *testing.T) {
	g := newGate(func() []view.Check {
		return []view.Check{{Name: "log", OK: true}, {Name: "catalog", Progress: "starting catalog"}}
	})
	inside, leave := make(chan struct{}, 1), make(chan struct{})
	surface := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			inside <- struct{}{}
			<-leave
		}
		w.WriteHeader(http.StatusTeapot)
	})

	// Starting: nobody comes in, and probes say why.
	for path, status := range map[string]int{"/": 503, "/api/tables": 503, "/healthz": 503, "/readyz": 503} {
		if w := ask(g, path); w.Code != status || w.Header().Get("Retry-After") == "" {
			t.Errorf("starting: %s answers %d %v", path, w.Code, w.Header())
		}
	}
	var ready httpapi.ReadyAnswer
	if err := json.Unmarshal(ask(g, "/readyz").Body.Bytes(), &ready); err != nil || ready.Status != "starting" || len(ready.Checks) != 2 || ready.Checks[1].Progress == "" {
		t.Errorf("readyz: %+v, %v", ready, err)
	}

	// The surface answers probes as soon as it is there, and everything once the gate is open.
	g.attach(surface)
	if ask(g, "/readyz").Code != http.StatusTeapot || ask(g, "/api/tables").Code != http.StatusServiceUnavailable {
		t.Error("an attached surface is not asked for probes only")
	}
	g.open()
	if ask(g, "/api/tables").Code != http.StatusTeapot {
		t.Error("an open gate keeps requests out")
	}

	// Draining waits for the request in flight and lets no other in.
	slow := make(chan int, 1)
	go func() { slow <- ask(g, "/slow").Code }()
	<-inside
	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := g.drain(short, time.Hour); err == nil {
		t.Error("drain does not wait for a request in flight")
	}
	if w := ask(g, "/api/tables"); w.Code != http.StatusServiceUnavailable || w.Body.String() != `{"error":"the server is shutting down"}`+"\n" {
		t.Errorf("draining: %d %s", w.Code, w.Body)
	}
	if ask(g, "/healthz").Code != http.StatusTeapot {
		t.Error("probes are not answered while draining")
	}
	close(leave)
	if err := g.drain(t.Context(), time.Hour); err != nil || <-slow != http.StatusTeapot {
		t.Errorf("the request in flight was cut off: %v", err)
	}
}

func TestDrainCutsOffWhatOutstaysIt(t *testing.T) {
	g := newGate(func() []view.Check { return nil })
	inside := make(chan struct{})
	g.attach(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(inside)
		<-r.Context().Done()
	}))
	g.open()
	srv := httptest.NewUnstartedServer(g)
	srv.Config.BaseContext = func(net.Listener) context.Context { return g.base }
	srv.Start()
	defer srv.Close()
	go func() {
		if r, err := srv.Client().Get(srv.URL); err == nil {
			r.Body.Close()
		}
	}()
	<-inside
	if err := g.drain(t.Context(), time.Millisecond); err != nil {
		t.Errorf("a request that waits for ever holds the drain up: %v", err)
	}
}
