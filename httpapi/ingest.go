package httpapi

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/streamsforge/streamsforge/access"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/view"
)

// PushRequest is the body of a push, for the document; the intake reads the bytes as they came.
type PushRequest struct {
	Events         []json.RawMessage `json:"events"`
	Partial        bool              `json:"partial"`
	IdempotencyKey *string           `json:"idempotencyKey"`
}

// PushAnswer is the answer to a push that was taken.
type PushAnswer struct {
	Accepted     int   `json:"accepted"`
	Dropped      int   `json:"dropped"`
	Invalid      int   `json:"invalid"`
	DepthRows    int   `json:"depthRows"`
	CapacityRows int   `json:"capacityRows"`
	Duplicate    int   `json:"duplicate"`
	Replayed     bool  `json:"replayed"`
	Position     int64 `json:"position"` // 0 while the rows wait in the buffer
}

// PushRefusal is the answer to a push that was not.
type PushRefusal struct {
	Error        string   `json:"error"`
	RetryAfterMs int      `json:"retryAfterMs"`
	RowErrors    []string `json:"rowErrors"`
}

var pushStatus = map[view.Outcome]int{
	view.IngestInvalid:     http.StatusBadRequest,
	view.IngestWrongKind:   http.StatusConflict,
	view.IngestTooLarge:    http.StatusRequestEntityTooLarge,
	view.IngestOverloaded:  http.StatusTooManyRequests,
	view.IngestUnavailable: http.StatusServiceUnavailable,
}

// push admits with a key of the source or with a token that may. The key is looked at first; a wrong key beside a
// good token is not held against the caller.
func (a *API) push(c *Ctx) error {
	name := c.path("name")
	key := c.Request().Header.Get(IngestKeyHeader)
	if key == "" || !a.opt.Catalog.MatchIngestKey(c.Request().Context(), c.Env, name, key) {
		if err := a.authenticate(c); err != nil {
			return err
		}
		if d := c.Rights.Floor(c.Env, access.Editor); !d.Allowed {
			return &deniedError{d}
		}
		var tags []string
		if r, ok := c.Catalog.Source(name); ok {
			tags = r.Tags
		}
		if err := c.require("source.ingest", name, tags); err != nil {
			return err
		}
	}
	if _, ok := c.Catalog.Source(name); !ok {
		return view.ErrUnknown
	}
	body, err := c.raw()
	if view.CodeOf(err) == view.TooLarge {
		return c.json(http.StatusRequestEntityTooLarge, PushRefusal{Error: err.Error(), RowErrors: []string{}})
	}
	if err != nil {
		return err
	}
	r, err := a.opt.Ingest.PushBody(c.Request().Context(), c.Env, name, body, c.Request().Header.Get(IdempotencyHeader))
	if err != nil {
		return err
	}
	switch r.Outcome {
	case view.Accepted:
		return c.ok(PushAnswer{
			Accepted: r.Accepted, Dropped: r.Dropped, Invalid: r.Invalid, DepthRows: r.DepthRows, CapacityRows: r.CapacityRows,
			Duplicate: r.Duplicate, Replayed: r.Replayed, Position: r.Position,
		})
	case view.IngestNotFound:
		return view.ErrUnknown
	}
	status, ok := pushStatus[r.Outcome]
	if !ok {
		return view.Errorf(view.Internal, "the intake answered with outcome '%s'", r.Outcome)
	}
	refusal := PushRefusal{Error: r.Error, RowErrors: nonNil(r.RowErrors)}
	if status == http.StatusTooManyRequests {
		seconds := max(1, min((r.RetryAfterMs+999)/1000, 30))
		c.Response().Header().Set("Retry-After", strconv.Itoa(seconds))
		refusal.RetryAfterMs = seconds * 1000
	}
	return c.json(status, refusal)
}

func (a *API) ingestStatus(c *Ctx) error {
	if c.Source.Kind != catalog.KindIngest {
		return c.empty(http.StatusNoContent)
	}
	s, err := a.opt.Ingest.Status(c.Request().Context(), c.Env, c.Source.Name)
	if err != nil {
		return err
	}
	return c.ok(s)
}

// KeyInfo is an ingest key as it is listed.
type KeyInfo struct {
	ID          string `json:"id"`
	Label       string `json:"label"`
	CreatedAtMs int64  `json:"createdAtMs"`
	LastUsedMs  int64  `json:"lastUsedMs"`
}

// NewKey is the one answer that shows a key's secret.
type NewKey struct {
	ID          string `json:"id"`
	Label       string `json:"label"`
	Secret      string `json:"secret"`
	CreatedAtMs int64  `json:"createdAtMs"`
}

type keyRequest struct {
	Label string `json:"label"`
}

func (a *API) listKeys(c *Ctx) error {
	keys, err := a.opt.Catalog.IngestKeys(c.Env, c.Source.Name)
	if err != nil {
		return err
	}
	out := []KeyInfo{}
	for _, k := range keys {
		out = append(out, KeyInfo{ID: k.ID, Label: k.Label, CreatedAtMs: k.CreatedAtMs, LastUsedMs: k.LastUsedMs})
	}
	return c.ok(out)
}

func (a *API) addKey(c *Ctx) error {
	var in keyRequest
	if err := c.body(&in); err != nil {
		return err
	}
	k, secret, err := a.opt.Catalog.AddIngestKey(c.Request().Context(), c.Env, c.actor(), c.Source.Name, in.Label)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.ok(NewKey{ID: k.ID, Label: k.Label, Secret: secret, CreatedAtMs: k.CreatedAtMs})
}

func (a *API) deleteKey(c *Ctx) error {
	if err := a.opt.Catalog.DeleteIngestKey(c.Request().Context(), c.Env, c.actor(), c.Source.Name, c.path("keyId")); err != nil {
		return err
	}
	return c.empty(http.StatusNoContent)
}
