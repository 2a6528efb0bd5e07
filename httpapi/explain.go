package httpapi

import (
	"net/http"
	"strings"

	"github.com/streamsforge/streamsforge/server/catalog"
)

func (a *API) explainTable(c *Ctx) error {
	e, running, err := a.opt.Runtime.Explain(c.Request().Context(), c.Env, catalog.InputTable, c.Table.ID)
	if err == nil && !running {
		e, err = a.opt.Catalog.ExplainTable(c.Catalog, c.Table)
	}
	return c.explained(e, err)
}

func (a *API) explainPipeline(c *Ctx) error {
	e, running, err := a.opt.Runtime.Explain(c.Request().Context(), c.Env, catalog.InputPipeline, c.Pipeline.ID)
	if err == nil && !running {
		e, err = a.opt.Catalog.ExplainPipeline(c.Catalog, c.Pipeline)
	}
	return c.explained(e, err)
}

func (a *API) explainTableQuery(c *Ctx) error { return a.explainQuery(c, catalog.InputTable) }

func (a *API) explainPipelineQuery(c *Ctx) error { return a.explainQuery(c, catalog.InputPipeline) }

func (a *API) explainQuery(c *Ctx, what catalog.InputKind) error {
	var in validateRequest
	if err := c.body(&in); err != nil {
		return err
	}
	return c.explained(a.opt.Catalog.ExplainQuery(c.Env, in.SQL, what))
}

// explained answers with JSON, or with text when the caller asks for it.
func (c *Ctx) explained(e catalog.Explanation, err error) error {
	if err != nil {
		return err
	}
	if c.QueryParam("format") == "text" || strings.HasPrefix(c.Request().Header.Get("Accept"), "text/plain") {
		return c.Blob(http.StatusOK, "text/plain; charset=utf-8", []byte(e.String()))
	}
	return c.ok(e)
}
