package intake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/streamsforge/streamsforge/connectors/ingest"
	"github.com/streamsforge/streamsforge/server/view"
	"github.com/streamsforge/streamsforge/streams"
)

// Bounds of the idempotency answers of a source.
const (
	maxAnswers = 1000
	answerTTL  = 10 * time.Minute
)

// answers are the answers to pushes with an idempotency key: the newest thousand of a source, for ten minutes. Only an
// accepted push leaves one; after a refusal the key is free again.
type answers struct {
	mu      sync.Mutex
	byKey   map[string]*answer
	order   []*answer // oldest first
	next    int64     // number of the next answer; its place in the bucket is next % maxAnswers
	running map[string]chan struct{}
}

type answer struct {
	key    string
	number int64
	at     time.Time
	answer ingest.Answer
	place  place
}

// storedAnswer is an answer in the bucket.
type storedAnswer struct {
	Key    string        `json:"key"`
	Number int64         `json:"number"`
	AtMs   int64         `json:"atMs"`
	Answer ingest.Answer `json:"answer"`
}

// hashKey keeps keys of any text and length out of subjects and headers.
func hashKey(key string) string {
	h := sha256.Sum256([]byte(key))
	return hex.EncodeToString(h[:16])
}

// once runs a push unless its key has an answer. While a push with the key runs, others with it wait and then get its
// answer; when it was refused, the next one runs.
func (a *answers) once(ctx context.Context, key string, wait time.Duration, now func() time.Time, push func() (view.IngestResult, error)) (view.IngestResult, error) {
	for {
		a.mu.Lock()
		if r, p, ok := a.find(key, now()); ok {
			a.mu.Unlock()
			if r.Position == 0 {
				r.Position = int64(p.wait(ctx, wait))
			}
			return r, nil
		}
		done, ok := a.running[key]
		if !ok {
			done = make(chan struct{})
			if a.running == nil {
				a.running = map[string]chan struct{}{}
			}
			a.running[key] = done
			a.mu.Unlock()
			defer func() {
				a.mu.Lock()
				delete(a.running, key)
				close(done)
				a.mu.Unlock()
			}()
			return push()
		}
		a.mu.Unlock()
		select {
		case <-done:
		case <-ctx.Done():
			return view.IngestResult{}, ctx.Err()
		}
	}
}

// replay returns the answer that a key has, and where the rows of its push are.
func (a *answers) replay(key string, now time.Time) (view.IngestResult, place, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.find(key, now)
}

func (a *answers) find(key string, now time.Time) (view.IngestResult, place, bool) {
	for len(a.order) > 0 && now.Sub(a.order[0].at) >= answerTTL {
		a.dropOldest()
	}
	found := a.byKey[key]
	if found == nil {
		return view.IngestResult{}, place{}, false
	}
	r := answerOf(found.answer)
	r.Replayed = true
	return r, found.place, true
}

func (a *answers) dropOldest() {
	old := a.order[0]
	a.order[0] = nil
	a.order = a.order[1:]
	if a.byKey[old.key] == old {
		delete(a.byKey, old.key)
	}
}

// keep remembers an answer and forgets the oldest one beyond the bound.
func (a *answers) keep(key string, v ingest.Answer, p place, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.put(&answer{key: key, number: a.next, at: now, answer: v, place: p})
}

func (a *answers) put(v *answer) {
	if a.byKey == nil {
		a.byKey = map[string]*answer{}
	}
	a.byKey[v.key] = v
	a.order = append(a.order, v)
	a.next = max(a.next, v.number+1)
	for len(a.order) > maxAnswers {
		a.dropOldest()
	}
}

// has reports whether a key has an answer, of any age.
func (a *answers) has(key string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.byKey[key] != nil
}

// encode returns what is to be stored of the answer to a key, nil when it is forgotten.
func (a *answers) encode(source, key string) (place string, value []byte, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	v := a.byKey[key]
	if v == nil {
		return "", nil, nil
	}
	s := storedAnswer{Key: key, Number: v.number, AtMs: v.at.UnixMilli(), Answer: v.answer}
	for _, e := range v.place.entries {
		s.Answer.Position = max(s.Answer.Position, e.position)
	}
	value, err = json.Marshal(s)
	return fmt.Sprintf("idem.%s.%d", streams.Key(source), v.number%maxAnswers), value, err
}

// load restores the stored answers.
func (b *buffer) loadAnswers(ctx context.Context) error {
	stored, err := b.kv.All(ctx, "idem."+streams.Key(b.at.source)+".>")
	if err != nil {
		return err
	}
	list := make([]storedAnswer, 0, len(stored))
	for _, e := range stored {
		var s storedAnswer
		if err := json.Unmarshal(e.Value, &s); err != nil {
			return fmt.Errorf("stored answer %s: %w", e.Key, err)
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(x, y storedAnswer) int { return int(x.Number - y.Number) })
	b.answers.mu.Lock()
	defer b.answers.mu.Unlock()
	b.answers.byKey, b.answers.order = nil, nil
	for _, s := range list {
		b.answers.put(&answer{key: s.Key, number: s.Number, at: time.UnixMilli(s.AtMs), answer: s.Answer})
	}
	return nil
}

// saveAnswers stores the answers to keys.
func (b *buffer) saveAnswers(ctx context.Context, keys []string) error {
	for _, k := range keys {
		place, value, err := b.answers.encode(b.at.source, k)
		if err != nil {
			return err
		}
		if value == nil {
			continue
		}
		if _, err := b.kv.Put(ctx, place, value); err != nil {
			return err
		}
	}
	return nil
}
