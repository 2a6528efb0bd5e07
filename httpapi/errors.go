package httpapi

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/streamsforge/streamsforge/access"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/view"
)

// statusOf is the one table from refusals to statuses.
var statusOf = map[view.Code]int{
	view.Internal:    http.StatusInternalServerError,
	view.Invalid:     http.StatusBadRequest,
	view.Unknown:     http.StatusNotFound,
	view.Missing:     http.StatusNotFound,
	view.Conflict:    http.StatusConflict,
	view.Denied:      http.StatusForbidden,
	view.TooLarge:    http.StatusRequestEntityTooLarge,
	view.Overloaded:  http.StatusTooManyRequests,
	view.NotBuilt:    http.StatusNotImplemented,
	view.Unavailable: http.StatusServiceUnavailable,
	view.Timeout:     http.StatusGatewayTimeout,
}

// errUnauthorized is no token or a bad one: 401 without a body.
var errUnauthorized = errors.New("no valid credentials")

// deniedError refuses by permission.
type deniedError struct{ access.Decision }

func (e *deniedError) Error() string { return e.Reason }

// fail writes the answer of an error. It is the only place that picks an error's status.
func (a *API) fail(err error, c echo.Context) {
	if c.Response().Committed {
		a.opt.Logger.Debug("a request failed after its answer had begun", "path", c.Path(), "error", err)
		return
	}
	status, body := a.answerOf(err, c)
	if body == nil {
		_ = c.NoContent(status)
		return
	}
	b, encodeErr := encodeJSON(body)
	if encodeErr != nil {
		_ = c.NoContent(http.StatusInternalServerError)
		return
	}
	_ = c.Blob(status, "application/json; charset=utf-8", b)
}

func (a *API) answerOf(err error, c echo.Context) (int, *ErrorBody) {
	var (
		refusal   *view.Error
		denied    *deniedError
		breaking  *catalog.BreakingError
		throttled *access.ThrottledError
		problems  ProblemsError
		router    *echo.HTTPError
	)
	switch {
	case errors.Is(err, errUnauthorized):
		return http.StatusUnauthorized, nil
	case errors.As(err, &denied):
		return http.StatusForbidden, &ErrorBody{Error: denied.Reason, RequiresApproval: denied.RequiresApproval}
	case errors.As(err, &breaking):
		return http.StatusConflict, &ErrorBody{Error: breaking.Error(), BreakingReasons: breaking.Reasons}
	case errors.As(err, &throttled):
		c.Response().Header().Set("Retry-After", strconv.Itoa(int(throttled.RetryAfter/time.Second)+1))
		return http.StatusTooManyRequests, &ErrorBody{Error: throttled.Error()}
	case errors.As(err, &problems):
		return http.StatusBadRequest, &ErrorBody{Error: strings.Join(problems.Problems(), "; "), Errors: problems.Problems()}
	case errors.As(err, &refusal) && refusal.Code == view.Unknown:
		return http.StatusNotFound, nil
	case errors.As(err, &refusal) && refusal.Code != view.Internal:
		if refusal.Err != nil {
			a.opt.Logger.Debug("a request was refused", "path", c.Path(), "status", statusOf[refusal.Code], "error", err)
		}
		return statusOf[refusal.Code], &ErrorBody{Error: refusal.Text}
	case errors.As(err, &router):
		return a.routerError(router, c)
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout, &ErrorBody{Error: "the request took longer than it may"}
	case errors.Is(err, context.Canceled):
		return 499, &ErrorBody{Error: "the client has gone"} // nobody reads it
	}
	var partial *partialError
	if errors.As(err, &partial) {
		return http.StatusInternalServerError, &ErrorBody{Error: partial.text + " (internal error " + a.logged(err, c) + ")"}
	}
	return http.StatusInternalServerError, &ErrorBody{Error: "internal error " + a.logged(err, c)}
}

// routerError is for paths outside the table.
func (a *API) routerError(e *echo.HTTPError, c echo.Context) (int, *ErrorBody) {
	switch e.Code {
	case http.StatusNotFound:
		return http.StatusNotFound, &ErrorBody{Error: "no such route: " + c.Request().Method + " " + c.Request().URL.Path}
	case http.StatusMethodNotAllowed:
		return http.StatusMethodNotAllowed, &ErrorBody{Error: "the method " + c.Request().Method + " is not allowed here"}
	}
	return e.Code, &ErrorBody{Error: http.StatusText(e.Code)}
}

// logged writes a fault to the log under an id that the caller is given, so that both can be put together.
func (a *API) logged(err error, c echo.Context) string {
	var b [6]byte
	_, _ = rand.Read(b[:])
	id := hex.EncodeToString(b[:])
	a.opt.Logger.Error("a request failed", "id", id, "method", c.Request().Method, "route", c.Path(), "error", err)
	return id
}
