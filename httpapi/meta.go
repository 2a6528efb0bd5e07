package httpapi

import (
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/view"
)

// flavor names this runtime on the wire.
const flavor = "nats"

func (a *API) environments(c *Ctx) error { return c.ok(a.opt.Catalog.Environments()) }

func (a *API) instance(c *Ctx) error {
	i := a.opt.Instance(c.Request().Context())
	scheme, host := a.origin(c)
	out := view.InstanceInfo{
		InstanceID: i.ID, Name: i.Name, Flavor: flavor, Version: i.Version,
		Endpoints:    view.Endpoints{Rest: scheme + "://" + host},
		Capabilities: nonNil(i.Capabilities), Plugins: nonNil(i.Plugins), PluginVersions: i.PluginVersions,
		CatalogCounts: view.CatalogCounts{
			Sources: len(c.Catalog.Sources()), Pipelines: len(c.Catalog.Pipelines()), Tables: len(c.Catalog.Tables()),
		},
		CatalogWarnings: append(c.Catalog.Warnings(), i.Warnings...),
		StartedAtMs:     i.StartedAtMs,
	}
	if out.PluginVersions == nil {
		out.PluginVersions = map[string]string{}
	}
	if i.GrpcPort > 0 {
		name := host
		if h, _, err := net.SplitHostPort(host); err == nil {
			name = h
		}
		out.Endpoints.Grpc = scheme + "://" + net.JoinHostPort(name, strconv.Itoa(i.GrpcPort))
	}
	return c.ok(out)
}

func (a *API) lineage(c *Ctx) error {
	return c.ok(c.Catalog.Lineage(func(kind catalog.InputKind, name string, tags []string) bool {
		return c.decide(string(kind)+".read", name, tags).Allowed
	}))
}

// HealthAnswer says that the process lives.
type HealthAnswer struct {
	Status string `json:"status"`
	Flavor string `json:"flavor"`
	Time   string `json:"time"` // ISO-8601
}

func (a *API) healthz(c *Ctx) error {
	out := HealthAnswer{Status: "ok", Flavor: flavor, Time: a.opt.Now().UTC().Format(time.RFC3339Nano)}
	status := http.StatusOK
	if a.opt.Health.Phase() == Starting {
		out.Status, status = string(Starting), http.StatusServiceUnavailable
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.json(status, out)
}

// ReadyAnswer says whether requests should be sent here, and which checks pass.
type ReadyAnswer struct {
	Status string       `json:"status"` // ready, starting, draining or failing
	Checks []view.Check `json:"checks"`
}

func (a *API) readyz(c *Ctx) error {
	out := ReadyAnswer{Status: string(a.opt.Health.Phase()), Checks: nonNil(a.opt.Health.Checks())}
	for _, check := range out.Checks {
		if !check.OK && out.Status == string(Ready) {
			out.Status = "failing"
		}
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	if out.Status != string(Ready) {
		return c.json(http.StatusServiceUnavailable, out)
	}
	return c.json(http.StatusOK, out)
}

func (a *API) prometheus(c *Ctx) error {
	promhttp.HandlerFor(a.opt.Registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}).
		ServeHTTP(c.Response(), c.Request())
	return nil
}

func (a *API) openapi(c *Ctx) error {
	return c.Blob(http.StatusOK, "application/json; charset=utf-8", a.document)
}
