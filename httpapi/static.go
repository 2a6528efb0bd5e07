package httpapi

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/labstack/echo/v4"
)

//go:embed unbuilt.html
var unbuiltPage []byte

// consolePolicy lets the console load only what this server sends.
const consolePolicy = "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self' ws: wss:; frame-ancestors 'self'; base-uri 'self'; form-action 'self'"

// static serves the console. Every path outside the API that is no file is the console's own route and gets its
// start page.
func (a *API) static() error {
	index := unbuiltPage
	files := a.opt.Console
	if files != nil {
		b, err := fs.ReadFile(files, "index.html")
		switch {
		case err == nil:
			index = b
		case errors.Is(err, fs.ErrNotExist):
			files = nil
		default:
			return fmt.Errorf("read the console's start page: %w", err)
		}
	}
	start := func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("Content-Security-Policy", consolePolicy)
		h.Set("Cache-Control", "no-cache")
		return c.Blob(http.StatusOK, "text/html; charset=utf-8", index)
	}
	serve := func(c echo.Context) error {
		p := c.Request().URL.Path
		for _, own := range []string{"/api", "/openapi", "/metrics", "/healthz", "/readyz", "/hubs", "/scalar", "/docs", "/ui-plugins"} {
			if p == own || strings.HasPrefix(p, own+"/") {
				return echo.ErrNotFound
			}
		}
		name := strings.TrimPrefix(path.Clean("/"+p), "/")
		if files == nil || name == "" || name == "index.html" {
			return start(c)
		}
		info, err := fs.Stat(files, name)
		if err != nil || info.IsDir() {
			if path.Ext(name) != "" && strings.HasPrefix(name, "assets/") {
				return echo.ErrNotFound // a stale page asks for a file of another build
			}
			return start(c)
		}
		if strings.HasPrefix(name, "assets/") {
			// The build names these files by their contents.
			c.Response().Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		}
		http.ServeFileFS(c.Response(), c.Request(), files, name)
		return nil
	}
	a.echo.GET("/*", serve)
	a.echo.HEAD("/*", serve)
	return nil
}
