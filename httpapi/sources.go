package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/view"
)

// sourceWait bounds how long a create waits for the stream of the source.
const sourceWait = 5 * time.Second

func (a *API) listSources(c *Ctx) error {
	out := []catalog.Source{}
	for _, r := range c.Catalog.Sources() {
		if c.decide("source.read", r.Name, r.Tags).Allowed {
			out = append(out, r.Source.Masked())
		}
	}
	return c.ok(out)
}

func (a *API) getSource(c *Ctx) error { return c.ok(c.Source.Source.Masked()) }

func (a *API) createSource(c *Ctx) error {
	in := catalog.NewSource()
	if err := c.body(&in); err != nil {
		return err
	}
	if err := c.require("source.write", in.Name, in.Tags); err != nil {
		return err
	}
	r, err := a.opt.Catalog.CreateSource(c.Request().Context(), c.Env, c.actor(), in)
	if err != nil {
		return err
	}
	// The answer says that rows can come: whoever publishes right after it finds the stream. A source whose stream is
	// late is stored all the same.
	ctx, cancel := context.WithTimeout(c.Request().Context(), sourceWait)
	defer cancel()
	if err := a.opt.Runtime.AwaitSource(ctx, c.Env, r.Name); err != nil {
		a.opt.Logger.Warn("the stream of a new source is late", "source", r.Name, "error", err)
	}
	c.Response().Header().Set("Location", "/api/sources/"+url.PathEscape(r.Name))
	return c.ok(r.Source.Masked())
}

func (a *API) updateSource(c *Ctx) error {
	in := catalog.NewSource()
	if err := c.body(&in); err != nil {
		return err
	}
	allow := true
	if v := c.QueryParam("allowBreaking"); v != "" {
		var err error
		if allow, err = strconv.ParseBool(v); err != nil {
			return view.Errorf(view.Invalid, "allowBreaking is '%s': true or false is expected", v)
		}
	}
	r, err := a.opt.Catalog.UpdateSource(c.Request().Context(), c.Env, c.actor(), c.Source.Name, in, allow)
	if err != nil {
		return err
	}
	return c.ok(r.Source.Masked())
}

func (a *API) deleteSource(c *Ctx) error {
	if err := a.opt.Catalog.DeleteSource(c.Request().Context(), c.Env, c.Source.Name); err != nil {
		return err
	}
	return c.empty(http.StatusNoContent)
}

func (a *API) sourceStatus(c *Ctx) error {
	switch c.Source.Kind {
	case catalog.KindGenerator, catalog.KindIngest, "crdt":
		return c.empty(http.StatusNoContent)
	}
	s, err := a.opt.Connectors.Status(c.Request().Context(), c.Env, c.Source.Name)
	if err != nil {
		return err
	}
	return c.ok(s)
}

func (a *API) sourceMetrics(c *Ctx) error {
	m, err := a.opt.Runtime.SourceMetrics(c.Env, c.Source.Name)
	if err != nil {
		return err
	}
	return c.ok(m)
}

func (a *API) sourceEvents(c *Ctx) error {
	limit, err := c.clamped("limit", 50, 1, 1000)
	if err != nil {
		return err
	}
	rows, err := a.opt.Runtime.SourceEvents(c.Request().Context(), c.Env, c.Source.Name, limit)
	if err != nil {
		return err
	}
	return c.ok(view.SourceEvents{Events: nonNil(rows)})
}

func (a *API) sourceReplay(c *Ctx) error {
	r, err := a.opt.Runtime.SourceReplay(c.Request().Context(), c.Env, c.Source.Name)
	if err != nil {
		return err
	}
	return c.ok(r)
}

func (a *API) quarantine(c *Ctx) error {
	limit, err := c.clamped("limit", 100, 1, 1000)
	if err != nil {
		return err
	}
	q, err := a.opt.Quarantine.List(c.Request().Context(), c.Env, c.Source.Name, limit)
	if err != nil {
		return err
	}
	q.Entries = nonNil(q.Entries)
	return c.ok(q)
}

// replayRequest asks for entries by their position in the quarantine; absent means all of them.
type replayRequest struct {
	Seqs []int64 `json:"seqs" openapi:"nullable"`
}

func (a *API) replayQuarantine(c *Ctx) error {
	var in replayRequest
	body, err := c.raw()
	if err != nil {
		return err
	}
	if len(body) > 0 { // no body is all entries
		if err := decodeJSON(body, &in); err != nil {
			return err
		}
	}
	out, err := a.opt.Quarantine.Replay(c.Request().Context(), c.Env, c.Source.Name, in.Seqs)
	if err != nil {
		return err
	}
	return c.ok(out)
}

func (a *API) runScenario(c *Ctx) error {
	if c.Source.Kind != catalog.KindGenerator || c.Source.GeneratorProfile != "scenario" {
		return view.Errorf(view.Conflict, "source '%s' is not a generator of profile scenario", c.Source.Name)
	}
	var in view.ScenarioRequest
	if err := c.body(&in); err != nil {
		return err
	}
	out, err := a.opt.Scenarios.Run(c.Request().Context(), c.Env, c.Source.Name, in)
	if err != nil {
		return err
	}
	out.Rows = nonNil(out.Rows)
	return c.ok(out)
}

func nonNil[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}
