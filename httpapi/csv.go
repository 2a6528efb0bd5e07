package httpapi

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"
)

// csvWriter writes RFC 4180: comma, CRLF, a cell quoted when it holds a comma, a quote, a line break or a space at
// either end.
type csvWriter struct {
	w   *bufio.Writer
	err error
}

// newCSV begins an answer that a browser saves as <name>.csv.
func newCSV(c *Ctx, name string) (*csvWriter, error) {
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, "text/csv; charset=utf-8")
	h.Set(echo.HeaderContentDisposition, attachment(name+".csv"))
	c.Response().WriteHeader(http.StatusOK)
	return &csvWriter{w: bufio.NewWriterSize(c.Response(), 32<<10)}, nil
}

// attachment names a file: a plain spelling for old clients and the exact one beside it when they differ.
func attachment(name string) string {
	plain := strings.Map(func(r rune) rune {
		if r < 0x20 || r > 0x7e || r == '"' || r == '\\' || r == '/' {
			return '_'
		}
		return r
	}, name)
	v := `attachment; filename="` + plain + `"`
	if plain != name {
		v += "; filename*=UTF-8''" + strings.ReplaceAll(url.QueryEscape(name), "+", "%20")
	}
	return v
}

func (w *csvWriter) record(cells []string) {
	for i, cell := range cells {
		if i > 0 {
			w.text(",")
		}
		if cell == "" || !strings.ContainsAny(cell, ",\"\r\n") && cell[0] != ' ' && cell[len(cell)-1] != ' ' {
			w.text(cell)
			continue
		}
		w.text(`"` + strings.ReplaceAll(cell, `"`, `""`) + `"`)
	}
	w.text("\r\n")
}

func (w *csvWriter) text(s string) {
	if w.err == nil {
		_, w.err = w.w.WriteString(s)
	}
}

func (w *csvWriter) end() error {
	if w.err != nil {
		return w.err
	}
	return w.w.Flush()
}

// members are the members of a row in their order.
type members []member

type member struct {
	name string
	raw  json.RawMessage
}

// parseRow splits a row into its members and keeps their order, which a map would lose.
func parseRow(row json.RawMessage) (members, error) {
	d := json.NewDecoder(bytes.NewReader(row))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("BUG: a row is not a JSON object: %.80q", row)
	}
	var out members
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return nil, fmt.Errorf("BUG: a row is not a JSON object: %.80q", row)
		}
		m := member{name: name}
		if err := d.Decode(&m.raw); err != nil {
			return nil, fmt.Errorf("BUG: a row is not a JSON object: %w", err)
		}
		out = append(out, m)
	}
	return out, nil
}

// cells writes the members of the given columns as CSV cells: text as it is, NULL as nothing, everything else as
// JSON.
func (m members) cells(columns []string) []string {
	out := make([]string, len(columns), len(columns)+1)
	for i, c := range columns {
		for _, v := range m {
			if v.name != c {
				continue
			}
			switch {
			case string(v.raw) == "null":
			case v.raw[0] == '"':
				_ = json.Unmarshal(v.raw, &out[i]) // a token of a decoded document
			default:
				out[i] = string(v.raw)
			}
		}
	}
	return out
}
