package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/streamsforge/streamsforge/access"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/view"
)

// Options are what the surface is made of. Catalog, Access, Runtime, Ingest, Scenarios, Quarantine, Connectors,
// Health and Instance are required.
type Options struct {
	Catalog    *catalog.Store
	Access     *access.Service
	Runtime    Runtime
	Ingest     Ingest
	Scenarios  Scenarios
	Quarantine Quarantine
	Connectors Connectors
	Health     Health
	Instance   func(ctx context.Context) Instance

	// Registry is what /metrics shows; the surface adds its own request metrics to it. nil makes a new one.
	Registry *prometheus.Registry
	// Console answers every path outside the route table; nil answers 404.
	Console http.Handler
	// AllowedOrigins of browsers; nil means http://localhost:5173, the console's development server.
	AllowedOrigins []string
	// ForwardedHeaders trusts X-Forwarded-For, -Proto and -Host.
	ForwardedHeaders bool

	// MaxBody bounds a request body; 32 MiB when 0.
	MaxBody int64
	// RequestTimeout bounds a request; 60 s when 0. A read that waits for a position has its own bound within it.
	RequestTimeout time.Duration
	// ApplyTimeout bounds how long a start or stop waits for the runtime; 10 s when 0.
	ApplyTimeout time.Duration

	Now    func() time.Time
	Logger *slog.Logger
}

// Instance is who this server is, for /api/meta/instance and the advertised addresses.
type Instance struct {
	ID, Name, Version string
	GrpcPort          int // 0 while that port is not open
	Capabilities      []string
	Plugins           []string
	PluginVersions    map[string]string
	Warnings          []string // beyond those of the catalog
	StartedAtMs       int64
}

// Phase is where a server is in its life.
type Phase string

// The phases.
const (
	Starting Phase = "starting"
	Ready    Phase = "ready"
	Draining Phase = "draining"
)

// Health answers the probes. Both calls are cheap and never block.
type Health interface {
	Phase() Phase
	// Checks lists every readiness check.
	Checks() []view.Check
}

// API is the REST surface.
type API struct {
	opt      Options
	echo     *echo.Echo
	routes   []Route
	document []byte
	metrics  *requestMetrics
}

// New builds the surface from the route table.
func New(o Options) (*API, error) {
	switch {
	case o.Catalog == nil, o.Access == nil, o.Runtime == nil, o.Ingest == nil, o.Scenarios == nil,
		o.Quarantine == nil, o.Connectors == nil, o.Health == nil, o.Instance == nil:
		return nil, errors.New("BUG: httpapi.New: a required option is missing")
	}
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
	}
	if o.AllowedOrigins == nil {
		o.AllowedOrigins = []string{"http://localhost:5173"}
	}
	if o.MaxBody == 0 {
		o.MaxBody = 32 << 20
	}
	if o.RequestTimeout == 0 {
		o.RequestTimeout = time.Minute
	}
	if o.ApplyTimeout == 0 {
		o.ApplyTimeout = 10 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	a := &API{opt: o}
	a.routes = Routes()
	doc, err := buildDocument(a.routes)
	if err != nil {
		return nil, err
	}
	a.document = doc
	if a.metrics, err = newRequestMetrics(o.Registry); err != nil {
		return nil, err
	}
	a.echo = echo.New()
	a.echo.HideBanner, a.echo.HidePort = true, true
	a.echo.HTTPErrorHandler = a.fail
	a.echo.IPExtractor = echo.ExtractIPDirect()
	if o.ForwardedHeaders {
		a.echo.IPExtractor = echo.ExtractIPFromXFFHeader()
	}
	a.middleware()
	for _, r := range a.routes {
		a.echo.Add(r.Method, r.Path, a.handle(r))
	}
	a.console()
	return a, nil
}

// Handler serves the surface.
func (a *API) Handler() http.Handler { return a.echo }

// Server returns an HTTP server with the limits that keep a slow or hostile client from holding it: header bytes and
// time, and idle connections. Bodies and answers are bounded per request.
func (a *API) Server() *http.Server {
	return &http.Server{
		Handler:           a.echo,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(a.opt.Logger.Handler(), slog.LevelDebug),
	}
}

// Document is the OpenAPI document of the surface.
func (a *API) Document() []byte { return a.document }
