package httpapi

import (
	"net/http"

	"github.com/streamsforge/streamsforge/access"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/view"
)

// editorRequest is a statement that is being written, with the place of the cursor.
type editorRequest struct {
	SQL string `json:"sql"`
	// Offset counts UTF-16 code units from the start, as the strings of a browser do. One outside of the text is moved
	// to its nearest end.
	Offset int `json:"offset"`
	// Mode is table or pipeline; "" is table.
	Mode string `json:"mode"`
}

// formatRequest is a statement to lay out.
type formatRequest struct {
	SQL  string `json:"sql"`
	Mode string `json:"mode"`
}

func editorRoutes() []Route {
	unreadable := refused("the body is not a JSON object, or mode is neither table nor pipeline")
	nothing := Status{Code: http.StatusNoContent, Doc: "there is nothing to say about the place"}
	route := func(what, summary string, request, response any, handler func(*API, *Ctx) error, also ...Status) Route {
		return Route{
			Method: http.MethodPost, Path: "/api/sql/" + what, Tag: "query", Summary: summary,
			Floor: access.Viewer, Action: "catalog.read", Request: request, Response: response, handler: handler,
			Also: append([]Status{unreadable}, also...),
		}
	}
	return []Route{
		route("complete", "Lists what can be written at an offset (UTF-16 code units) of a statement, of the entities that the caller may read.", editorRequest{}, view.SqlCompletion{}, (*API).complete),
		route("format", "Lays a statement out, with its comments; sql is null and diagnostics say why when it has errors.", formatRequest{}, view.SqlFormatted{}, (*API).format),
		route("hover", "Says what the word at an offset (UTF-16 code units) of a statement is.", editorRequest{}, view.SqlHover{}, (*API).hover, nothing),
		route("signature", "Describes the call around an offset (UTF-16 code units) of a statement and its active parameter.", editorRequest{}, view.SqlSignature{}, (*API).signature, nothing),
	}
}

// readable asks for the caller's right to read an entity.
func (c *Ctx) readable(kind catalog.InputKind, name string, tags []string) bool {
	action := map[catalog.InputKind]string{catalog.InputSource: "source.read", catalog.InputTable: "table.read", catalog.InputPipeline: "pipeline.read"}[kind]
	return c.decide(action, name, tags).Allowed
}

func (a *API) complete(c *Ctx) error {
	var in editorRequest
	if err := c.body(&in); err != nil {
		return err
	}
	out, err := catalog.Complete(c.Catalog, c.readable, in.SQL, in.Offset, in.Mode)
	if err != nil {
		return err
	}
	return c.ok(out)
}

func (a *API) hover(c *Ctx) error {
	var in editorRequest
	if err := c.body(&in); err != nil {
		return err
	}
	out, found, err := catalog.Hover(c.Catalog, c.readable, in.SQL, in.Offset, in.Mode)
	if err != nil {
		return err
	}
	if !found {
		return c.empty(http.StatusNoContent)
	}
	return c.ok(out)
}

func (a *API) signature(c *Ctx) error {
	var in editorRequest
	if err := c.body(&in); err != nil {
		return err
	}
	out, found, err := catalog.Signature(in.SQL, in.Offset, in.Mode)
	if err != nil {
		return err
	}
	if !found {
		return c.empty(http.StatusNoContent)
	}
	return c.ok(out)
}

func (a *API) format(c *Ctx) error {
	var in formatRequest
	if err := c.body(&in); err != nil {
		return err
	}
	out, err := catalog.FormatSQL(in.SQL, in.Mode)
	if err != nil {
		return err
	}
	return c.ok(out)
}
