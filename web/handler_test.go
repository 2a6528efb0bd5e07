package web_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/streamsforge/streamsforge/web"
)

var built = fstest.MapFS{
	"index.html":         {Data: []byte("<!doctype html><title>console</title>")},
	"favicon.svg":        {Data: []byte("<svg/>")},
	"assets/app-abc1.js": {Data: []byte(strings.Repeat("console.log(1);", 200))},
	".gitkeep":           {},
}

func get(t *testing.T, h http.Handler, method, path string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	var in io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		in = z
	}
	b, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestHandler(t *testing.T) {
	h := web.Handler(built)
	for _, c := range []struct {
		path, contentType, cache, has string
		status                        int
	}{
		{"/", "text/html; charset=utf-8", "no-cache", "console", 200},
		{"/index.html", "text/html; charset=utf-8", "no-cache", "console", 200},
		{"/tables/positions", "text/html; charset=utf-8", "no-cache", "console", 200},
		{"/favicon.svg", "image/svg+xml", "no-cache", "<svg/>", 200},
		{"/assets/app-abc1.js", "text/javascript; charset=utf-8", "public, max-age=31536000, immutable", "console.log", 200},
		{"/assets/app-old.js", "text/plain; charset=utf-8", "", "404", 404},
		{"/.gitkeep", "text/html; charset=utf-8", "no-cache", "console", 200},
		{"/../../etc/passwd", "text/html; charset=utf-8", "no-cache", "console", 200},
	} {
		r := get(t, h, http.MethodGet, "http://x/"+strings.TrimPrefix(c.path, "/"))
		if r.StatusCode != c.status || r.Header.Get("Content-Type") != c.contentType || r.Header.Get("Cache-Control") != c.cache || !strings.Contains(body(t, r), c.has) {
			t.Errorf("%s: %d %v", c.path, r.StatusCode, r.Header)
		}
	}
}

func TestCompressionAndRevalidation(t *testing.T) {
	h := web.Handler(built)
	r := get(t, h, http.MethodGet, "/assets/app-abc1.js", "Accept-Encoding", "br, gzip")
	if r.Header.Get("Content-Encoding") != "gzip" || r.ContentLength > 500 || !strings.HasPrefix(body(t, r), "console.log(1);") {
		t.Errorf("not compressed: %v", r.Header)
	}
	for _, refuse := range []string{"", "br", "gzip;q=0"} {
		if r := get(t, h, http.MethodGet, "/assets/app-abc1.js", "Accept-Encoding", refuse); r.Header.Get("Content-Encoding") != "" {
			t.Errorf("compressed for a client that accepts %q", refuse)
		}
	}
	again := get(t, h, http.MethodGet, "/assets/app-abc1.js", "If-None-Match", r.Header.Get("ETag"))
	if again.StatusCode != http.StatusNotModified {
		t.Errorf("revalidation answers %d", again.StatusCode)
	}
	if head := get(t, h, http.MethodHead, "/"); head.StatusCode != 200 || body(t, head) != "" {
		t.Error("HEAD has a body")
	}
	if post := get(t, h, http.MethodPost, "/"); post.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST answers %d", post.StatusCode)
	}
}

func TestNotBuilt(t *testing.T) {
	r := get(t, web.Handler(fstest.MapFS{".gitkeep": {}}), http.MethodGet, "/tables")
	if text := body(t, r); r.StatusCode != 200 || !strings.Contains(text, "go tool task build") {
		t.Errorf("%d %s", r.StatusCode, text)
	}
}
