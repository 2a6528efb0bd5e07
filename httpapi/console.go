package httpapi

import (
	"strings"

	"github.com/labstack/echo/v4"
)

// ownPrefixes are the paths of the surface; the console never answers below them, so that a mistyped route is a 404
// and not a page.
var ownPrefixes = []string{"/api", "/openapi", "/metrics", "/healthz", "/readyz", "/hubs", "/scalar", "/docs", "/ui-plugins"}

// console hands every other path to the console.
func (a *API) console() {
	serve := func(c echo.Context) error {
		p := c.Request().URL.Path
		for _, own := range ownPrefixes {
			if p == own || strings.HasPrefix(p, own+"/") {
				return echo.ErrNotFound
			}
		}
		if a.opt.Console == nil {
			return echo.ErrNotFound
		}
		a.opt.Console.ServeHTTP(c.Response(), c.Request())
		return nil
	}
	a.echo.GET("/*", serve)
	a.echo.HEAD("/*", serve)
}
