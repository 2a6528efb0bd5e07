package httpapi

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/streamsforge/streamsforge/access"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/view"
)

// handle wraps a route's handler in the guard. The order is fixed: who, where, floor, grant, and only then whether
// the entity exists, so that nobody learns names by asking for them.
func (a *API) handle(r Route) echo.HandlerFunc {
	return func(ec echo.Context) error {
		ctx, cancel := context.WithTimeout(ec.Request().Context(), a.opt.RequestTimeout)
		defer cancel()
		ec.SetRequest(ec.Request().WithContext(ctx))
		c := &Ctx{Context: ec, api: a, Route: &r, Env: catalog.DefaultEnvironment}
		if r.Floor != "" {
			if err := a.authenticate(c); err != nil {
				return err
			}
		}
		if err := a.selectEnvironment(c); err != nil {
			return err
		}
		if r.Floor != "" {
			if err := a.permit(c); err != nil {
				return err
			}
		}
		return r.handler(a, c)
	}
}

// authenticate resolves the bearer token.
func (a *API) authenticate(c *Ctx) error {
	scheme, token, ok := strings.Cut(c.Request().Header.Get(echo.HeaderAuthorization), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return errUnauthorized
	}
	p, err := a.opt.Access.Verify(c.Request().Context(), strings.TrimSpace(token))
	if errors.Is(err, access.ErrToken) {
		a.opt.Logger.Debug("a token was refused", "remote", c.RealIP(), "error", err)
		return errUnauthorized
	}
	if err != nil {
		return fmt.Errorf("authenticate: %w", err)
	}
	c.Rights = a.opt.Access.Rights(c.Request().Context(), p)
	return nil
}

// selectEnvironment reads ?env= or the header; the query wins, and both empty mean the default environment.
func (a *API) selectEnvironment(c *Ctx) error {
	env := ""
	if !c.Route.NoEnvironment {
		env = c.QueryParam("env")
		for _, h := range []string{EnvironmentHeader, oldEnvironmentHeader} {
			if env == "" {
				env = c.Request().Header.Get(h)
			}
		}
	}
	if env == "" {
		env = catalog.DefaultEnvironment
	}
	sn, err := a.opt.Catalog.Snapshot(env)
	if err != nil {
		return err
	}
	c.Env, c.Catalog = env, sn
	return nil
}

// permit checks floor and grant, then resolves the entity of the path.
func (a *API) permit(c *Ctx) error {
	if d := c.Rights.Floor(c.Env, c.Route.Floor); !d.Allowed {
		return &deniedError{d}
	}
	switch c.Route.Scope {
	case Everything:
		if c.Route.Action == "" {
			return nil
		}
		return c.require(c.Route.Action, "*", nil)
	case SourceName:
		return a.permitSource(c)
	case PipelineKey, PipelineID:
		return a.permitPipeline(c)
	case TableKey, TableID:
		return a.permitTable(c)
	case UserName:
		return c.require(c.Route.Action, c.path("username"), nil)
	case InHandler:
		return nil
	}
	return fmt.Errorf("BUG: route %s %s has no scope", c.Route.Method, c.Route.Path)
}

// require asks for one grant.
func (c *Ctx) require(action, scope string, tags []string) error {
	if d := c.decide(action, scope, tags); !d.Allowed {
		return &deniedError{d}
	}
	return nil
}

func (c *Ctx) decide(action, scope string, tags []string) access.Decision {
	return c.Rights.Decide(access.Request{Env: c.Env, Action: action, Scope: scope, Tags: tags})
}

func (a *API) permitSource(c *Ctx) error {
	name := c.path("name")
	src, ok := c.Catalog.Source(name)
	var tags []string
	if ok {
		tags = src.Tags
	}
	if err := c.require(c.Route.Action, name, tags); err != nil {
		return err
	}
	if !ok {
		return view.ErrUnknown
	}
	c.Source = src
	return nil
}

func (a *API) permitPipeline(c *Ctx) error {
	key, found := entityKey(c), []*catalog.PipelineRecord(nil)
	if c.Route.Scope == PipelineKey {
		found = c.Catalog.PipelinesFor(key)
	} else if r, ok := c.Catalog.Pipeline(key); ok {
		found = append(found, r)
	}
	if len(found) == 0 {
		if err := c.require(c.Route.Action, key, nil); err != nil {
			return err
		}
		if c.Route.missingIsEmpty() {
			return nil
		}
		return view.ErrUnknown
	}
	var ids []string
	for _, r := range found {
		if err := c.require(c.Route.Action, r.Name, r.Tags); err != nil {
			return err
		}
		ids = append(ids, r.ID)
	}
	if len(found) > 1 {
		return ambiguous("pipelines", key, ids)
	}
	c.Pipeline = found[0]
	return nil
}

func (a *API) permitTable(c *Ctx) error {
	key, found := entityKey(c), []*catalog.TableRecord(nil)
	if c.Route.Scope == TableKey {
		found = c.Catalog.TablesFor(key)
	} else if r, ok := c.Catalog.Table(key); ok {
		found = append(found, r)
	}
	if len(found) == 0 {
		if err := c.require(c.Route.Action, key, nil); err != nil {
			return err
		}
		return view.ErrUnknown
	}
	var ids []string
	for _, r := range found {
		if err := c.require(c.Route.Action, r.Name, r.Tags); err != nil {
			return err
		}
		ids = append(ids, r.ID)
	}
	if len(found) > 1 {
		return ambiguous("tables", key, ids)
	}
	c.Table = found[0]
	return nil
}

// missingIsEmpty marks the two reads of a pipeline that answer an unknown key with an empty object.
func (r *Route) missingIsEmpty() bool {
	return r.Path == "/api/pipelines/:key/results" || r.Path == "/api/pipelines/:key/metrics"
}

func entityKey(c *Ctx) string { return c.path("key") }

func ambiguous(what, key string, ids []string) error {
	return view.Errorf(view.Conflict, "%d %s are named '%s' — address one by id: %s", len(ids), what, key, strings.Join(ids, ", "))
}
