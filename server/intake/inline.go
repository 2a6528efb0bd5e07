package intake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"github.com/streamsforge/streamsforge/connectors"
	"github.com/streamsforge/streamsforge/connectors/ingest"
	"github.com/streamsforge/streamsforge/kv"
	"github.com/streamsforge/streamsforge/server/view"
	"github.com/streamsforge/streamsforge/streams"
)

// intent says that an inline push was under way: its messages are above After, if anywhere. It is stored before the
// first append and removed after dedup keys and answer are stored, for pushes that have either.
type intent struct {
	Push   string        `json:"push"`
	Key    string        `json:"key,omitempty"` // hash of the idempotency key
	Parts  int           `json:"parts"`
	After  uint64        `json:"after"`
	Answer ingest.Answer `json:"answer"`
}

func (b *buffer) intentKey() string { return "inline." + streams.Key(b.at.source) }

// inline appends the rows of a push to the source's stream inside the call. The mutex is held: nobody else pushes to
// the source meanwhile, so at most one push is under way and a crash leaves at most one intent.
func (b *buffer) inline(ctx context.Context, a admission, rows []ingest.Row, base ingest.Answer) (view.IngestResult, place, error) {
	base.Accepted = len(rows)
	groups, _ := ingest.Cut(data(rows), b.in.o.Streams.MaxPayload()-headerRoom)
	if len(groups) > 1 && a.key != "" {
		b.totals.Rejected += int64(a.events)
		return b.tooLarge(a.cfg, fmt.Sprintf("the rows of an inline push with an idempotency key must fit one message of Nats:MaxPayload=%d bytes: "+
			"push fewer rows at once, or use a policy with a buffer", b.in.o.Streams.MaxPayload())), place{}, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), appendTimeout)
	defer cancel()
	push := nuid.Next()
	guarded := len(rows) > 0 && (a.key != "" || b.dedup.window != nil)
	if err := b.announce(ctx, intent{push, a.key, len(groups), b.after, base}, guarded); err != nil {
		if errors.Is(err, streams.ErrNotFound) {
			b.fail(err) // the stream has gone; the unit makes it again
		}
		return view.IngestResult{}, place{}, unavailable(err)
	}
	totals := b.totals
	totals.Invalid += int64(base.Invalid)
	totals.Duplicate += int64(base.Duplicate)
	totals.LastPushMs = b.in.o.Clock.Now().UnixMilli()
	out := make([]outgoing, len(groups))
	for i, g := range groups {
		totals.Accepted += int64(len(g))
		mark := fmt.Sprintf("%s:%d/%d", push, i+1, len(groups))
		out[i] = outgoing{data: ingest.Join(g), id: mark, contentType: connectors.ContentJSON, header: nats.Header{
			HeaderPush: {mark}, HeaderTotals: {encodeTotals(totals)},
		}}
	}
	if len(out) > 0 {
		err := b.in.at("inline")
		var seq uint64
		if err == nil {
			seq, err = publishAll(ctx, b.src, out)
		}
		if err == nil {
			err = b.in.at("inlined")
		}
		if err != nil {
			b.fail(err) // recovery finds out what was stored
			return view.IngestResult{}, place{}, unavailable(err)
		}
		b.after, base.Position = max(b.after, seq), seq
	}
	b.dedup.add(rows)
	b.totals = totals
	b.totals.Published += int64(len(rows))
	b.poke()
	p := place{position: base.Position}
	if err := b.settle(ctx, a.key, base, p, guarded); err != nil {
		b.fail(err)
		return view.IngestResult{}, place{}, unavailable(err)
	}
	return answerOf(base), p, nil
}

// announce stores, before the first append, what a recovery must know: that inline pushes are being counted, once
// between two bookkeepings, and the intent of a push that is guarded.
func (b *buffer) announce(ctx context.Context, i intent, guarded bool) error {
	if !b.noted {
		s, err := b.src.State(ctx)
		if err != nil {
			return err
		}
		b.after = s.Last
		if err := b.saveStats(ctx, storedStats{b.created, b.totals, true, b.after}); err != nil {
			return err
		}
		b.saved, b.noted = b.totals, true
	}
	if !guarded {
		return nil
	}
	i.After = b.after
	return b.saveIntent(ctx, i)
}

func encodeTotals(t ingest.Totals) string {
	v, err := json.Marshal(t)
	if err != nil {
		panic("BUG: intake: counters: " + err.Error())
	}
	return string(v)
}

// countInline adds the counters of inline pushes that were not stored yet when the process ended.
func (b *buffer) countInline(ctx context.Context, stats storedStats, r *recovered) error {
	if !stats.Inline {
		return nil
	}
	var failed error
	err := scan(ctx, b.src, stats.After+1, func(m streams.Msg) {
		text := m.Header.Get(HeaderTotals)
		if text == "" {
			return
		}
		var t ingest.Totals
		if err := json.Unmarshal([]byte(text), &t); err != nil {
			failed = fmt.Errorf("counters of message %d of stream %s: %w", m.Seq, b.src.Name(), err)
			return
		}
		r.totals = r.totals.Max(t)
	})
	return errors.Join(err, failed)
}

func unavailable(err error) error {
	return &view.Error{Code: view.Unavailable, Text: "the rows could not be stored; it is not known whether they will be found in the log", Err: err}
}

// settle stores the dedup keys and the answer of a finished push, and then removes its intent.
func (b *buffer) settle(ctx context.Context, key string, base ingest.Answer, p place, guarded bool) error {
	if err := b.remember(ctx, key, base, p); err != nil {
		return err
	}
	if !guarded {
		return nil
	}
	if err := b.in.at("settle"); err != nil {
		return err
	}
	if err := b.saveChunks(ctx, &b.dedup); err != nil {
		return err
	}
	return b.saveIntent(ctx, intent{})
}

func (b *buffer) saveChunks(ctx context.Context, d *dedup) error {
	chunks, upTo := d.unsaved(b.at.source)
	for _, c := range chunks {
		if _, err := b.dkv.Put(ctx, c.key, c.value); err != nil {
			return err
		}
	}
	d.saved = upTo
	return nil
}

func (b *buffer) saveIntent(ctx context.Context, i intent) error {
	v, err := json.Marshal(i)
	if err != nil {
		return err
	}
	_, err = b.kv.Put(ctx, b.intentKey(), v)
	return err
}

// recoverInline finishes an inline push that a crash interrupted: what it has stored is counted by its keys, and it
// has an answer when all of it is there. A push with an answer is one message, so it is there or not. Of a push of
// several messages a part may be there: its client has no answer and pushes again, and the dedup keys of the stored
// part are known.
func (b *buffer) recoverInline(ctx context.Context, r *recovered, c *ingest.Checker) error {
	e, err := b.kv.Get(ctx, b.intentKey())
	if errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	var i intent
	if err := json.Unmarshal(e.Value, &i); err != nil {
		return fmt.Errorf("stored intent of source %q: %w", b.at.source, err)
	}
	if i.Push == "" {
		return nil
	}
	parts, last := 0, uint64(0)
	var failed error
	err = scan(ctx, b.src, i.After+1, func(m streams.Msg) {
		rest, ok := strings.CutPrefix(m.Header.Get(HeaderPush), i.Push+":")
		if n, _, cut := strings.Cut(rest, "/"); !ok || !cut || !isNumber(n) {
			return
		}
		parts, last = parts+1, m.Seq
		failed = errors.Join(failed, r.dedup.addPayload(c, m.Data, m.TimeMs))
	})
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	if parts == i.Parts && i.Key != "" && !b.answers.has(i.Key) {
		i.Answer.Position = last
		b.answers.keep(i.Key, i.Answer, place{position: last}, b.in.o.Clock.Now())
		if err := b.saveAnswers(ctx, []string{i.Key}); err != nil {
			return err
		}
	}
	if err := b.saveChunks(ctx, &r.dedup); err != nil {
		return err
	}
	return b.saveIntent(ctx, intent{})
}

func isNumber(s string) bool {
	_, err := strconv.Atoi(s)
	return err == nil
}
