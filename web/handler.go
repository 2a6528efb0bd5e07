package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
)

// contentPolicy lets the console load nothing from elsewhere. Inline style attributes are
// how React sets computed positions; scripts are files only.
const contentPolicy = "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; " +
	"connect-src 'self'; object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"

// Handler serves a console. Files under /assets/ have a hash in their name and are kept
// for a year; every other path is the index page, since routing happens in the browser,
// except that a missing asset is a 404 and not a page.
func Handler(assets fs.FS) http.Handler {
	h := &handler{assets: assets, files: map[string]*file{}}
	return h
}

type handler struct {
	assets fs.FS

	mu    sync.RWMutex
	files map[string]*file
}

// file is one asset ready to be sent. Assets of a running server do not change, so each
// is read and compressed once.
type file struct {
	body, zipped []byte
	contentType  string
	etag         string
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
	f := h.open(name)
	switch {
	case f != nil && name != "" && name != "index.html":
	case strings.HasPrefix(name, "assets/"):
		http.NotFound(w, r)
		return
	default:
		name = "index.html"
		if f = h.open(name); f == nil {
			h.notBuilt(w, r)
			return
		}
	}
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "same-origin")
	if name == "index.html" {
		header.Set("Content-Security-Policy", contentPolicy)
	}
	if strings.HasPrefix(name, "assets/") {
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		header.Set("Cache-Control", "no-cache")
	}
	f.send(w, r)
}

func (h *handler) open(name string) *file {
	if name == "" || strings.HasPrefix(path.Base(name), ".") {
		return nil
	}
	h.mu.RLock()
	f, ok := h.files[name]
	h.mu.RUnlock()
	if ok {
		return f
	}
	f = h.load(name)
	if f == nil {
		return nil // misses are not kept: their names come from outside
	}
	h.mu.Lock()
	h.files[name] = f
	h.mu.Unlock()
	return f
}

func (h *handler) load(name string) *file {
	in, err := h.assets.Open(name)
	if err != nil {
		return nil
	}
	defer in.Close()
	if info, err := in.Stat(); err != nil || info.IsDir() {
		return nil
	}
	body, err := io.ReadAll(in)
	if err != nil {
		return nil
	}
	return newFile(name, body)
}

// zipFrom is the size from which compression pays.
const zipFrom = 1024

func newFile(name string, body []byte) *file {
	sum := sha256.Sum256(body)
	f := &file{body: body, contentType: contentType(name, body), etag: `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`}
	if len(body) >= zipFrom && compressible(f.contentType) {
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
		_, _ = z.Write(body)                                  // a buffer takes everything
		_ = z.Close()
		if b.Len() < len(body) {
			f.zipped = b.Bytes()
		}
	}
	return f
}

func contentType(name string, body []byte) string {
	switch path.Ext(name) {
	case ".js", ".mjs":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".html":
		return "text/html; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".woff2":
		return "font/woff2"
	}
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		return t
	}
	return http.DetectContentType(body)
}

func compressible(contentType string) bool {
	return strings.HasPrefix(contentType, "text/") || strings.Contains(contentType, "json") || strings.Contains(contentType, "xml")
}

func (f *file) send(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("ETag", f.etag)
	header.Set("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("If-None-Match"), f.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := f.body
	if f.zipped != nil && acceptsGzip(r) {
		body = f.zipped
		header.Set("Content-Encoding", "gzip")
	}
	header.Set("Content-Type", f.contentType)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(body) // the client may have gone
	}
}

func acceptsGzip(r *http.Request) bool {
	for _, part := range strings.Split(r.Header.Get("Accept-Encoding"), ",") {
		coding, params, _ := strings.Cut(strings.TrimSpace(part), ";")
		if coding == "gzip" || coding == "*" {
			return !strings.HasPrefix(strings.ReplaceAll(params, " ", ""), "q=0") || strings.Contains(params, "0.")
		}
	}
	return false
}

// notBuilt is the page of a binary that was built without the console. REST works all the same.
func (h *handler) notBuilt(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", contentPolicy)
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodGet {
		_, _ = w.Write(fallback)
	}
}
