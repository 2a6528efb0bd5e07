package servertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"
)

// Client is a logged-in REST client.
type Client struct {
	Base  string
	Token string
	http  *http.Client
}

// Login logs in and fails the test when that is refused.
func (p *Process) Login(t testing.TB, user, password string) *Client {
	t.Helper()
	c := &Client{Base: p.HTTP, http: &http.Client{Timeout: 60 * time.Second}}
	var out struct {
		Token string `json:"token"`
	}
	if code, body := c.Do(t, http.MethodPost, "/api/auth/login", map[string]string{"username": user, "password": password}, &out); code != http.StatusOK {
		t.Fatalf("login as %s: %d %s", user, code, body)
	}
	c.Token = out.Token
	return c
}

// Do sends a request with a JSON body (a []byte or json.RawMessage is sent as it is) and decodes a 2xx answer into
// out. It returns the status and the answer's text; only a failing transport fails the test.
func (c *Client) Do(t testing.TB, method, path string, body, out any) (int, string) {
	t.Helper()
	code, text, err := c.Try(method, path, body, out)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return code, text
}

// Try is Do for callers that expect the server to go away under them.
func (c *Client) Try(method, path string, body, out any) (int, string, error) {
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case []byte:
		r = bytes.NewReader(b)
	default:
		j, err := json.Marshal(b)
		if err != nil {
			return 0, "", err
		}
		r = bytes.NewReader(j)
	}
	req, err := http.NewRequest(method, c.Base+path, r)
	if err != nil {
		return 0, "", err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	h := c.http
	if h == nil {
		h = http.DefaultClient
	}
	res, err := h.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, "", err
	}
	if out != nil && res.StatusCode/100 == 2 {
		if err := json.Unmarshal(text, out); err != nil {
			return 0, "", fmt.Errorf("%s %s: answer %.200q: %w", method, path, text, err)
		}
	}
	return res.StatusCode, string(text), nil
}

// Must is Do that fails the test on any status but want.
func (c *Client) Must(t testing.TB, want int, method, path string, body, out any) {
	t.Helper()
	if code, text := c.Do(t, method, path, body, out); code != want {
		t.Fatalf("%s %s: status %d, want %d: %s", method, path, code, want, text)
	}
}

// Row is one row of a table as REST serves it.
type Row struct {
	Row    map[string]any `json:"row"`
	Weight int64          `json:"weight"`
}

// Rows is the answer of GET /api/tables/{key}/rows.
type Rows struct {
	Rows      []Row  `json:"rows"`
	TotalRows int    `json:"totalRows"`
	Seq       int64  `json:"seq"`
	Position  int64  `json:"position"`
	Epoch     *int64 `json:"frontierEpoch"`
}

// Rows reads all rows of a table that reflect at least the given positions ("source:seq").
func (c *Client) Rows(t testing.TB, table string, minPositions ...string) Rows {
	t.Helper()
	q := url.Values{"limit": {"10000000"}}
	for _, p := range minPositions {
		q.Add("minPosition", p)
	}
	if len(minPositions) > 0 {
		q.Set("timeoutMs", "30000")
	}
	var out Rows
	c.Must(t, http.StatusOK, http.MethodGet, "/api/tables/"+url.PathEscape(table)+"/rows?"+q.Encode(), nil, &out)
	return out
}
