package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/streamsforge/streamsforge/access"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/view"
)

// Ctx is one request of a route: who asks, in which environment, about which entity. Handlers see echo only through
// it.
type Ctx struct {
	echo.Context
	api    *API
	Route  *Route
	Rights access.Rights
	Env    string
	// Catalog is the newest snapshot of the environment when the request came in.
	Catalog *catalog.Snapshot

	// The entity of the path, once the guard has passed; a missing one never reaches a handler unless the route says
	// so (lookup).
	Pipeline *catalog.PipelineRecord
	Table    *catalog.TableRecord
	Source   *catalog.SourceRecord
}

// actor is the name that changes are recorded under.
func (c *Ctx) actor() string { return c.Rights.Principal.Username }

// path returns a path parameter as text. Echo keeps the escapes of an escaped path, so that %2F does not split it.
func (c *Ctx) path(name string) string {
	v := c.Param(name)
	if c.Request().URL.RawPath == "" {
		return v
	}
	if plain, err := url.PathUnescape(v); err == nil {
		return plain
	}
	return v
}

// body decodes a JSON body. The refusal says where the body is wrong.
func (c *Ctx) body(into any) error {
	b, err := c.raw()
	if err != nil {
		return err
	}
	return decodeJSON(b, into)
}

// raw reads the body up to the limit.
func (c *Ctx) raw() ([]byte, error) {
	b, err := io.ReadAll(c.Request().Body)
	if err == nil {
		return b, nil
	}
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, view.Errorf(view.TooLarge, "the body is larger than %d bytes", tooLarge.Limit)
	}
	return nil, view.Errorf(view.Invalid, "the body could not be read to its end")
}

func decodeJSON(b []byte, into any) error {
	if len(bytes.TrimSpace(b)) == 0 {
		return view.Errorf(view.Invalid, "the body is empty: a JSON object is expected")
	}
	if !utf8.Valid(b) {
		at := 0
		for at < len(b) {
			r, n := utf8.DecodeRune(b[at:])
			if r == utf8.RuneError && n <= 1 {
				break
			}
			at += n
		}
		return view.Errorf(view.Invalid, "the body is not valid UTF-8 at %s", place(b, int64(at)))
	}
	if t := bytes.TrimSpace(b); t[0] != '{' {
		return view.Errorf(view.Invalid, "the body is not a JSON object: it starts with %q", string(t[:1]))
	}
	err := json.Unmarshal(b, into)
	if err == nil {
		return nil
	}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax) && strings.HasPrefix(syntax.Error(), "unexpected end"): // its offset is the last byte's
		return view.Errorf(view.Invalid, "the body is not JSON at %s: %s", place(b, int64(len(b))), syntax.Error())
	case errors.As(err, &syntax):
		return view.Errorf(view.Invalid, "the body is not JSON at %s: %s", place(b, syntax.Offset-1), syntax.Error())
	case errors.As(err, &kind):
		field := kind.Field
		if field == "" {
			field = "the body"
		}
		return view.Errorf(view.Invalid, "%s is a JSON %s at %s: expected %s", field, kind.Value, place(b, kind.Offset-1), expected(kind))
	}
	return view.Errorf(view.Invalid, "%s", strings.TrimPrefix(err.Error(), "json: "))
}

func expected(e *json.UnmarshalTypeError) string {
	switch e.Type.Kind().String() {
	case "bool":
		return "true or false"
	case "int", "int64", "int32", "uint64":
		return "a whole number in range"
	case "float64":
		return "a number"
	case "string":
		return "text"
	case "slice":
		return "a list"
	default:
		return "an object"
	}
}

// place prints an offset of a body as line and column, from 1.
func place(b []byte, at int64) string {
	at = max(0, min(at, int64(len(b))))
	line := 1 + bytes.Count(b[:at], []byte("\n"))
	column := utf8.RuneCount(b[bytes.LastIndexByte(b[:at], '\n')+1:at]) + 1
	return fmt.Sprintf("line %d, column %d", line, column)
}

// whole reads a whole number from the query; min is the smallest that is accepted.
func (c *Ctx) whole(name string, def, least int) (int, error) {
	v := c.QueryParam(name)
	if v == "" {
		return def, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < least {
		return 0, view.Errorf(view.Invalid, "%s is '%s': a whole number from %d is expected", name, v, least)
	}
	return n, nil
}

// clamped reads a whole number and moves it into a range.
func (c *Ctx) clamped(name string, def, low, high int) (int, error) {
	v := c.QueryParam(name)
	if v == "" {
		return def, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		return 0, view.Errorf(view.Invalid, "%s is '%s': a whole number is expected", name, v)
	}
	return max(low, min(n, high)), nil
}

// json answers with an object. Text is not escaped for HTML: it is not HTML.
func (c *Ctx) json(status int, v any) error {
	b, err := encodeJSON(v)
	if err != nil {
		return err
	}
	return c.Blob(status, "application/json; charset=utf-8", b)
}

func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// ok answers with the route's own status.
func (c *Ctx) ok(v any) error { return c.json(c.Route.success(), v) }

// empty answers without a body.
func (c *Ctx) empty(status int) error { return c.NoContent(status) }
