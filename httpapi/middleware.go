package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"github.com/prometheus/client_golang/prometheus"
)

// slowReader is how long a client may take to read an answer after the handler has begun to write it.
const slowReader = 2 * time.Minute

// readGrace is how much later than its own bound a request ends that is still being sent.
const readGrace = time.Second

// middleware is what every request passes, outermost first.
func (a *API) middleware() {
	a.echo.Use(
		a.observe,
		a.recover,
		a.headers,
		middleware.CORSWithConfig(middleware.CORSConfig{
			AllowOrigins: a.opt.AllowedOrigins, AllowCredentials: !hasStar(a.opt.AllowedOrigins),
			AllowMethods: []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodPatch, http.MethodPost, http.MethodDelete},
			// Every header: the browser's own list is echoed when none is named.
			ExposeHeaders: []string{"Location", "Retry-After", "Content-Disposition"},
			MaxAge:        600,
		}),
		middleware.GzipWithConfig(middleware.GzipConfig{
			MinLength: 4 << 10,
			// The metrics and the console compress by themselves.
			Skipper: func(c echo.Context) bool {
				return !strings.HasPrefix(c.Request().URL.Path, "/api/") && !strings.HasPrefix(c.Request().URL.Path, "/openapi/")
			},
		}),
		a.limit,
	)
}

func hasStar(origins []string) bool {
	for _, o := range origins {
		if o == "*" {
			return true
		}
	}
	return false
}

// recover turns a panic of one request into an answer; the process and every other request go on.
func (a *API) recover(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			r := recover()
			if r == nil {
				return
			}
			if r == http.ErrAbortHandler { //nolint:errorlint // net/http compares this panic value itself
				panic(r)
			}
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}()
		return next(c)
	}
}

// limit bounds the body and the time a client may take to send it and to read the answer.
func (a *API) limit(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		r.Body = http.MaxBytesReader(c.Response(), r.Body, a.opt.MaxBody)
		rc := http.NewResponseController(c.Response())
		deadline := time.Now().Add(a.opt.RequestTimeout)
		// A read deadline that passes ends the request as if its client had left. It comes after the request's own
		// bound, so that a slow answer is told as one.
		if err := rc.SetReadDeadline(deadline.Add(readGrace)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return fmt.Errorf("set the read deadline: %w", err)
		}
		if err := rc.SetWriteDeadline(deadline.Add(slowReader)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return fmt.Errorf("set the write deadline: %w", err)
		}
		return next(c)
	}
}

// headers are those that every answer has.
func (a *API) headers(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("X-Frame-Options", "SAMEORIGIN")
		if strings.HasPrefix(c.Request().URL.Path, "/api/") {
			h.Set("Cache-Control", "no-store")
		}
		return next(c)
	}
}

// requestMetrics are the rate, errors and duration of requests by route.
type requestMetrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	inFlight prometheus.Gauge
}

func newRequestMetrics(r *prometheus.Registry) (*requestMetrics, error) {
	m := &requestMetrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "streamsforge_http_requests_total", Help: "Requests by method, route and status.",
		}, []string{"method", "route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "streamsforge_http_request_seconds", Help: "Time to answer by method and route.",
			Buckets:                         []float64{.001, .005, .025, .1, .5, 2.5, 10},
			NativeHistogramBucketFactor:     1.1,
			NativeHistogramMaxBucketNumber:  100,
			NativeHistogramMinResetDuration: time.Hour,
		}, []string{"method", "route"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "streamsforge_http_requests_in_flight", Help: "Requests that have no answer yet.",
		}),
	}
	for _, c := range []prometheus.Collector{m.requests, m.seconds, m.inFlight} {
		if err := r.Register(c); err != nil {
			return nil, fmt.Errorf("register request metrics: %w", err)
		}
	}
	return m, nil
}

// observe counts a request under its route; a path outside the table is one route, so that strangers cannot make
// labels.
func (a *API) observe(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := time.Now()
		a.metrics.inFlight.Inc()
		defer a.metrics.inFlight.Dec()
		if err := next(c); err != nil {
			c.Error(err)
		}
		route, method := c.Path(), c.Request().Method
		if route == "" || strings.HasSuffix(route, "*") {
			route = "other"
		}
		switch method {
		case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions, http.MethodPatch:
		default:
			method = "other"
		}
		a.metrics.requests.WithLabelValues(method, route, strconv.Itoa(c.Response().Status)).Inc()
		a.metrics.seconds.WithLabelValues(method, route).Observe(time.Since(start).Seconds())
		return nil
	}
}
