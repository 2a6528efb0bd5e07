package intake

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsforge/streamsforge/connectors/connectorstest"
	"github.com/streamsforge/streamsforge/connectors/ingest"
	"github.com/streamsforge/streamsforge/server/view"
)

// TestRetryDuringRecovery: a push ends without an answer although its rows are stored; its client tries again while the
// buffer finds that out. The second try has looked for an answer before there is one, and is admitted after.
func TestRetryDuringRecovery(t *testing.T) {
	for _, policy := range []string{"Reject", "Block", "DropNewest", "DropOldest", "Inline"} {
		t.Run(policy, func(t *testing.T) {
			r := newRig(t)
			r.source("s", `{"policy":"`+policy+`"}`)
			first := r.push("s", body("k", "a", "b"))
			b := r.buffer("s")
			req, err := ingest.ParseBody([]byte(body("k", "a", "b")))
			if err != nil {
				t.Fatal(err)
			}
			_, rec, err := r.in.source("", "s")
			if err != nil {
				t.Fatal(err)
			}
			rules, err := b.rules(rec)
			if err != nil {
				t.Fatal(err)
			}
			defer rules.release()
			got, err := r.in.Ingest().admit(t.Context(), b, rules, req)
			if err != nil || !got.Replayed || got.Accepted != 2 || got.Position != first.Position {
				t.Errorf("%+v, %v", got, err)
			}
			r.walEmpty("s")
			if got := strings.Join(r.stored("s"), " "); got != "a b" {
				t.Errorf("stored %q", got)
			}
		})
	}
}

func TestRepeatedKeyReplaysTheAnswer(t *testing.T) {
	for _, policy := range []string{"Reject", "Inline"} {
		t.Run(policy, func(t *testing.T) {
			r := newRig(t)
			r.source("s", `{"policy":"`+policy+`"}`)
			first := r.push("s", body("k1", "a", "b"))
			if first.Accepted != 2 || first.Position != 1 || first.Replayed {
				t.Fatalf("%+v", first)
			}
			same := func(got view.IngestResult, when string) {
				t.Helper()
				want := first
				want.Replayed = true
				if got.Outcome != want.Outcome || got.Accepted != want.Accepted || got.Position != want.Position || got.DepthRows != want.DepthRows || got.CapacityRows != want.CapacityRows || !got.Replayed {
					t.Errorf("%s: %+v, want %+v", when, got, want)
				}
			}
			same(r.push("s", body("k1", "a", "b")), "again")
			same(r.push("s", body("k1", "something", "else", "entirely")), "with other rows")
			got, err := r.in.Ingest().PushBody(t.Context(), "", "s", []byte(body("", "x")), "k1")
			if err != nil {
				t.Fatal(err)
			}
			same(got, "by the header")
			got, err = r.in.Ingest().PushBody(t.Context(), "", "s", []byte(body("k2", "x")), "k1")
			if err != nil || got.Replayed {
				t.Errorf("the key of the body wins: %+v %v", got, err)
			}
			r.walEmpty("s")
			r.restart()
			same(r.push("s", body("k1", "a")), "after a restart")
			r.crash()
			same(r.push("s", body("k1", "a")), "after a crash")
			if got := strings.Join(r.stored("s"), " "); got != "a b x" {
				t.Errorf("stored %q", got)
			}
			// A key belongs to one source.
			r.source("other", `{}`)
			if got := r.push("other", body("k1", "a")); got.Replayed {
				t.Errorf("another source: %+v", got)
			}
		})
	}
}

func TestRefusedPushLeavesItsKeyFree(t *testing.T) {
	r := newRig(t)
	r.source("s", `{"policy":"Reject","capacityRows":1,"maxWaitMs":20}`)
	if got := r.push("s", `{"idempotencyKey":"k","events":[7]}`); got.Outcome != view.IngestInvalid {
		t.Fatalf("%+v", got)
	}
	r.stall("s")
	if got := r.push("s", body("k", "a")); got.Outcome != view.IngestOverloaded {
		t.Fatalf("%+v", got)
	}
	r.drained("s")
	if got := r.push("s", body("k", "a")); got.Outcome != view.Accepted || got.Replayed {
		t.Errorf("%+v", got)
	}
}

func TestOneKeyAtOnce(t *testing.T) {
	r := newRig(t)
	r.source("s", `{}`)
	const n = 100
	var wg sync.WaitGroup
	results := make([]view.IngestResult, n)
	for i := range n {
		wg.Go(func() {
			got, err := r.in.Ingest().PushBody(context.Background(), "", "s", []byte(body("k", fmt.Sprint("row", i))), "")
			if err != nil {
				t.Error(err)
			}
			results[i] = got
		})
	}
	wg.Wait()
	fresh := 0
	for _, got := range results {
		if got.Outcome != view.Accepted || got.Accepted != 1 || got.Position != 1 {
			t.Fatalf("%+v", got)
		}
		if !got.Replayed {
			fresh++
		}
	}
	if stored := r.stored("s"); fresh != 1 || len(stored) != 1 {
		t.Errorf("%d pushes won, %d rows stored", fresh, len(stored))
	}
}

// TestWaiterRunsWhenTheWinnerIsRefused: the others of a key do not inherit a refusal.
func TestWaiterRunsWhenTheWinnerIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a answers
		order := make(chan string, 3)
		run := func(name string, out view.Outcome) {
			_, err := a.once(t.Context(), "k", time.Second, time.Now, func() (view.IngestResult, error) {
				time.Sleep(time.Second) //nolint:forbidigo // of the bubble's own time: the other is waiting now
				order <- name
				if out == view.Accepted {
					a.keep("k", ingest.Answer{Accepted: 1}, place{position: 7}, time.Now())
				}
				return view.IngestResult{Outcome: out}, nil
			})
			if err != nil {
				t.Error(err)
			}
		}
		go run("refused", view.IngestOverloaded)
		synctest.Wait()
		go run("taken", view.Accepted)
		time.Sleep(1500 * time.Millisecond) //nolint:forbidigo // of the bubble's own time: the second one runs now
		if got, err := a.once(t.Context(), "k", time.Second, time.Now, func() (view.IngestResult, error) {
			t.Error("a third push ran")
			return view.IngestResult{}, nil
		}); err != nil || !got.Replayed || got.Position != 7 {
			t.Errorf("%+v, %v", got, err)
		}
		if x, y := <-order, <-order; x != "refused" || y != "taken" {
			t.Errorf("order %s, %s", x, y)
		}
	})
}

func TestAnswersAreBounded(t *testing.T) {
	clock := connectorstest.NewClock()
	clock.Auto = true
	r := newRig(t, func(o *Options) { o.Clock = clock })
	r.source("s", `{}`)
	for i := range maxAnswers + 5 {
		r.push("s", body(fmt.Sprint("k", i), "a"))
	}
	r.walEmpty("s")
	for _, restarted := range []bool{false, true} {
		if restarted {
			r.restart()
		}
		if got := r.push("s", body("k5", "x")); !got.Replayed {
			t.Errorf("restarted %v: the thousandth newest is forgotten", restarted)
		}
	}
	if got := r.push("s", body("k4", "x")); got.Replayed {
		t.Error("an answer beyond the bound is remembered")
	}
	keys, err := r.in.buckets["SF_default_ingest"].Keys(t.Context(), "idem.s.>")
	if err != nil || len(keys) > maxAnswers {
		t.Errorf("%d answers are stored, %v", len(keys), err)
	}
	clock.Advance(answerTTL)
	if got := r.push("s", body("k900", "x")); got.Replayed {
		t.Error("an answer is remembered beyond ten minutes")
	}
}

func TestLargeInlinePushCannotHaveAKey(t *testing.T) {
	r := newRig(t)
	r.source("s", `{"policy":"Inline"}`)
	big := strings.Repeat("x", 5<<20)
	got := r.push("s", body("k", big+"1", big+"2"))
	if got.Outcome != view.IngestTooLarge || !strings.Contains(got.Error, "Nats:MaxPayload") {
		t.Errorf("%s %.200s", got.Outcome, got.Error)
	}
	if got := r.push("s", body("", big+"1", big+"2")); got.Outcome != view.Accepted {
		t.Errorf("without a key: %s %.200s", got.Outcome, got.Error)
	}
}
