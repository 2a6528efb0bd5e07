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
	if guarded {
		if err := b.saveIntent(ctx, intent{push, a.key, len(groups), b.after, base}); err != nil {
			return view.IngestResult{}, place{}, unavailable(err)
		}
	}
	out := make([]outgoing, len(groups))
	for i, g := range groups {
		mark := fmt.Sprintf("%s:%d/%d", push, i+1, len(groups))
		out[i] = outgoing{data: ingest.Join(g), id: mark, contentType: connectors.ContentJSON, header: nats.Header{HeaderPush: {mark}}}
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
			if guarded {
				b.fail(err) // recovery finds out what was stored
			}
			return view.IngestResult{}, place{}, unavailable(err)
		}
		b.after, base.Position = max(b.after, seq), seq
	}
	b.dedup.add(rows)
	b.totals.Accepted += int64(len(rows))
	b.totals.Published += int64(len(rows))
	b.totals.Invalid += int64(base.Invalid)
	b.totals.Duplicate += int64(base.Duplicate)
	b.totals.LastPushMs = b.in.o.Clock.Now().UnixMilli()
	b.poke()
	p := place{position: base.Position}
	if err := b.settle(ctx, a.key, base, p, guarded); err != nil {
		b.fail(err)
		return view.IngestResult{}, place{}, unavailable(err)
	}
	return answerOf(base), p, nil
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
