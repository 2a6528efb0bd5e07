package intake

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/streamsforge/streamsforge/connectors"
	"github.com/streamsforge/streamsforge/connectors/ingest"
	"github.com/streamsforge/streamsforge/engine/decode"
	"github.com/streamsforge/streamsforge/engine/plan"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/view"
)

// Ingest takes the rows that clients push.
type Ingest struct{ in *Intake }

// PushBody takes the body of a push. headerKey is the idempotency key of the request's header; the one of the body
// wins. A refusal is in the result, the error is for faults of the server and for a client that has gone.
func (i *Ingest) PushBody(ctx context.Context, env, source string, body []byte, headerKey string) (view.IngestResult, error) {
	at, r, refusal := i.target(env, source)
	if refusal != nil {
		return *refusal, nil
	}
	req, err := ingest.ParseBody(body)
	if err != nil {
		return view.IngestResult{Outcome: view.IngestInvalid, Error: err.Error()}, nil //nolint:nilerr // the fault is the answer
	}
	if req.IdempotencyKey == "" {
		req.IdempotencyKey = headerKey
	}
	return i.push(ctx, at, r, req)
}

// Push takes rows that were parsed already.
func (i *Ingest) Push(ctx context.Context, env, source string, q view.IngestRequest) (view.IngestResult, error) {
	at, r, refusal := i.target(env, source)
	if refusal != nil {
		return *refusal, nil
	}
	req := ingest.Request{Partial: q.Partial, IdempotencyKey: q.IdempotencyKey, Events: make([][]byte, len(q.Events))}
	for n, e := range q.Events {
		req.Events[n] = e
	}
	return i.push(ctx, at, r, req)
}

// target finds the source of a push, or the refusal.
func (i *Ingest) target(env, source string) (address, *catalog.SourceRecord, *view.IngestResult) {
	at, r, err := i.in.source(env, source)
	switch {
	case err != nil:
		return at, nil, &view.IngestResult{Outcome: view.IngestNotFound, Error: err.Error()}
	case r.Kind != catalog.KindIngest || r.Ingest == nil:
		return at, nil, &view.IngestResult{Outcome: view.IngestWrongKind, Error: fmt.Sprintf(
			"source '%s' is of kind %s: only sources of kind ingest take pushed rows", source, r.Kind)}
	case !r.Enabled:
		return at, nil, &view.IngestResult{Outcome: view.IngestWrongKind, Error: fmt.Sprintf(
			"source '%s' is disabled: enable it to push rows", source)}
	}
	return at, r, nil
}

func (i *Ingest) push(ctx context.Context, at address, r *catalog.SourceRecord, req ingest.Request) (view.IngestResult, error) {
	u, err := i.in.unit(ctx, at, r)
	if err != nil {
		return passing(view.IngestResult{}, err)
	}
	_, b, _ := u.parts()
	rules, err := b.rules(r)
	if err != nil {
		return view.IngestResult{}, err
	}
	defer rules.release()
	run := func() (view.IngestResult, error) { return i.admit(ctx, b, rules, req) }
	if req.IdempotencyKey == "" {
		return passing(run())
	}
	return passing(b.answers.once(ctx, hashKey(req.IdempotencyKey), rules.wait(), i.in.o.Clock.Now, run))
}

// passing turns what is only a passing fault into a result that asks the client to try again.
func passing(r view.IngestResult, err error) (view.IngestResult, error) {
	if view.CodeOf(err) == view.Unavailable {
		return view.IngestResult{Outcome: view.IngestUnavailable, Error: err.Error(), RetryAfterMs: 1000}, nil
	}
	return r, err
}

// admit checks the rows, hands them to the buffer and waits for their position.
func (i *Ingest) admit(ctx context.Context, b *buffer, rules ruleset, req ingest.Request) (view.IngestResult, error) {
	n, cfg := len(req.Events), rules.IngestConfig
	if text := i.tooLarge(cfg, req.Events); text != "" {
		b.rejected(0, n)
		return b.tooLarge(cfg, text), nil
	}
	checked := rules.Check(req.Events, i.in.o.Clock.Now().UnixMilli(), req.Partial, func() string { return i.in.mayRetract(b.at) })
	if checked.Refused {
		b.rejected(checked.Invalid, n-checked.Invalid)
		return view.IngestResult{
			Outcome: view.IngestInvalid, Error: refusalText(checked, n), Invalid: checked.Invalid, RowErrors: checked.Errors, CapacityRows: cfg.CapacityRows,
		}, nil
	}
	a := admission{cfg: cfg, events: n, checked: checked}
	if req.IdempotencyKey != "" {
		a.key = hashKey(req.IdempotencyKey)
	}
	result, p, err := b.admit(ctx, a)
	if err != nil || result.Outcome != view.Accepted {
		return result, err
	}
	if result.Position == 0 {
		result.Position = int64(p.wait(ctx, rules.wait()))
	}
	return result, nil
}

// refusalText names the first row error, so that a client that shows only the error shows what matters.
func refusalText(c ingest.Checked, n int) string {
	text := fmt.Sprintf("%d of %d rows are invalid and nothing was admitted", c.Invalid, n)
	if len(c.Errors) > 0 {
		text += ": " + c.Errors[0]
	}
	return text
}

// tooLarge names the bound that a push breaks, "" for none.
func (i *Ingest) tooLarge(cfg connectors.IngestConfig, events [][]byte) string {
	n := len(events)
	switch {
	case n > cfg.MaxBatchRows:
		return fmt.Sprintf("the push has %d rows: ingest.maxBatchRows is %d", n, cfg.MaxBatchRows)
	case cfg.Policy != connectors.Inline && n > cfg.CapacityRows:
		return fmt.Sprintf("the push has %d rows: ingest.capacityRows is %d", n, cfg.CapacityRows)
	}
	limit := i.in.o.Streams.MaxPayload() - headerRoom - len("[]")
	for k, e := range events {
		if len(e) > limit {
			return fmt.Sprintf("row %d has %d bytes: a row may have %d (Nats:MaxPayload=%d, less %d for headers)", k, len(e), limit, i.in.o.Streams.MaxPayload(), headerRoom+len("[]"))
		}
	}
	return ""
}

// mayRetract says why a row may not take others back, "" when it may: every running table that reads the source
// itself keeps the newest row by key.
func (in *Intake) mayRetract(at address) string {
	sn, err := in.o.Catalog.Snapshot(at.env)
	if err != nil {
		return err.Error()
	}
	if s, ok := sn.Source(at.source); ok && len(s.KeyFields) > 0 {
		return "" // A row with the mark removes its key from every table.
	}
	for _, t := range sn.Tables() {
		if t.Run.Desired != catalog.DesiredRunning || !reads(t.Facts.Inputs, at.source) {
			continue
		}
		p, err := in.o.Catalog.CompileTable(sn, t)
		if err != nil || !latest(p.Query().Root, at.source, false) {
			return fmt.Sprintf("_retract needs LATEST BY in every running table that reads the source, and table '%s' has none", t.Name)
		}
	}
	return ""
}

func reads(inputs []catalog.Input, source string) bool {
	for _, in := range inputs {
		if in.Kind == catalog.InputSource && in.Name == source {
			return true
		}
	}
	return false
}

// latest reports whether every scan of a source is below a LATEST BY that follows retractions.
func latest(n plan.Node, source string, below bool) bool {
	switch n := n.(type) {
	case *plan.Scan:
		return below || n.Relation != source
	case *plan.LatestBy:
		below = below || n.Retract >= 0
	}
	for _, c := range n.Children() {
		if !latest(c, source, below) {
			return false
		}
	}
	return true
}

// Status returns the counters of an ingest source.
func (i *Ingest) Status(ctx context.Context, env, source string) (view.IngestStatus, error) {
	at, r, err := i.in.source(env, source)
	if err != nil {
		return view.IngestStatus{}, err
	}
	if r.Kind != catalog.KindIngest || r.Ingest == nil {
		return view.IngestStatus{}, view.ErrUnknown
	}
	u, err := i.in.unit(ctx, at, r)
	if err != nil {
		return view.IngestStatus{}, err
	}
	d, err := r.Definition()
	if err != nil {
		return view.IngestStatus{}, err
	}
	_, b, _ := u.parts()
	return b.status(*d.Ingest, i.in.o.InstanceID), nil
}

// checkers are the idle checkers of one source. A checker serves one push at a time.
type checkers struct {
	mu   sync.Mutex
	id   string // the layout and settings that the idle ones are for
	idle []*ingest.Checker
}

// maxIdle bounds the idle checkers of a source; each holds the buffers of its last push.
const maxIdle = 4

// take returns a checker for a layout, and a function that gives it back.
func (c *checkers) take(id string, make func() *ingest.Checker) (k *ingest.Checker, giveBack func()) {
	c.mu.Lock()
	if c.id != id {
		c.id, c.idle = id, nil
	}
	if n := len(c.idle); n > 0 {
		k, c.idle = c.idle[n-1], c.idle[:n-1]
	}
	c.mu.Unlock()
	if k == nil {
		k = make()
	}
	return k, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.id == id && len(c.idle) < maxIdle {
			c.idle = append(c.idle, k)
		}
	}
}

var errNoSection = errors.New("the source has no ingest section")

// ruleset is what a push must know of its source.
type ruleset struct {
	connectors.IngestConfig
	*ingest.Checker
	release func() // gives the checker back
}

func (r ruleset) wait() time.Duration { return time.Duration(r.MaxWaitMs) * time.Millisecond }

// rules returns the settings of a push and a checker for its rows.
func (b *buffer) rules(r *catalog.SourceRecord) (ruleset, error) {
	d, err := r.Definition()
	if err != nil {
		return ruleset{}, err
	}
	if d.Ingest == nil {
		return ruleset{}, errNoSection
	}
	l := r.Layout()
	policy, err := decode.ParsePolicy(l.OnCoercionFailure)
	if err != nil {
		return ruleset{}, err
	}
	id := fmt.Sprintf("%d %s", l.Version, d.Ingest.DedupKeyField)
	checker, release := b.checkers.take(id, func() *ingest.Checker {
		return ingest.NewChecker(catalog.Schema(l.Fields), decode.Options{
			OnCoercion: policy, RejectUnknownFields: l.RejectUnknownFields, TimestampField: l.TimestampField,
		}, d.Ingest.DedupKeyField)
	})
	return ruleset{*d.Ingest, checker, release}, nil
}
