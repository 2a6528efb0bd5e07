package intake

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/view"
)

func TestPushIsAcceptedWithItsPosition(t *testing.T) {
	for _, policy := range []string{"Reject", "Block", "DropNewest", "DropOldest", "Inline"} {
		t.Run(policy, func(t *testing.T) {
			r := newRig(t)
			r.source("s", `{"policy":"`+policy+`"}`)
			for want := int64(1); want <= 3; want++ {
				got := r.ids("s", fmt.Sprint("a", want), fmt.Sprint("b", want))
				if got.Outcome != view.Accepted || got.Accepted != 2 || got.Position != want || got.CapacityRows != 10000 || got.Dropped+got.Invalid+got.Duplicate != 0 || got.Replayed {
					t.Fatalf("push %d: %+v", want, got)
				}
			}
			if got := r.stored("s"); strings.Join(got, " ") != "a1 b1 a2 b2 a3 b3" {
				t.Errorf("stored %v", got)
			}
			if s := r.balanced("s"); s.TotalAccepted != 6 || s.TotalPublished != 6 || s.Policy != policy || s.LastPushMs == 0 || s.MaxBatchRows != 1000 || s.InstanceID == "" {
				t.Errorf("status %+v", s)
			}
		})
	}
}

func TestOutcomes(t *testing.T) {
	r := newRig(t)
	r.source("s", `{"maxBatchRows":3,"capacityRows":2}`)
	r.source("off", `{}`, func(s *catalog.Source) { s.Enabled = false })
	gen := catalog.NewSource()
	gen.Name, gen.Fields, gen.GeneratorProfile = "g", []catalog.Field{{Name: "a"}}, "scenario"
	if _, err := r.store.CreateSource(t.Context(), "", "tester", gen); err != nil {
		t.Fatal(err)
	}
	big := `{"events":[{"id":"` + strings.Repeat("x", 9<<20) + `"}]}`
	cases := []struct {
		source, body string
		want         view.Outcome
		says         string
	}{
		{"nope", body("", "a"), view.IngestNotFound, ""},
		{"g", body("", "a"), view.IngestWrongKind, "kind generator"},
		{"off", body("", "a"), view.IngestWrongKind, "disabled"},
		{"s", "", view.IngestInvalid, "empty"},
		{"s", `{"events":[1`, view.IngestInvalid, "not JSON"},
		{"s", `{"events":[7]}`, view.IngestInvalid, "row 0: expected an object"},
		{"s", body("", "a", "b", "c", "d"), view.IngestTooLarge, "maxBatchRows is 3"},
		{"s", body("", "a", "b", "c"), view.IngestTooLarge, "capacityRows is 2"},
		{"s", big, view.IngestTooLarge, "Nats:MaxPayload"},
		{"s", body(""), view.Accepted, ""},
	}
	for _, c := range cases {
		got := r.push(c.source, c.body)
		if got.Outcome != c.want || !strings.Contains(got.Error, c.says) {
			t.Errorf("push of %.40q to %s: %s %q, want %s %q", c.body, c.source, got.Outcome, got.Error, c.want, c.says)
		}
	}
	if got := r.stored("s"); len(got) != 0 {
		t.Errorf("refused pushes stored %v", got)
	}
	if s := r.balanced("s"); s.TotalAccepted != 0 || s.TotalInvalid != 1 || s.TotalRejected != 4+3+1 {
		t.Errorf("status %+v", s)
	}
	if _, err := r.in.Ingest().Status(t.Context(), "", "g"); view.CodeOf(err) != view.Unknown {
		t.Errorf("status of a generator: %v", err)
	}
}

func TestCoercionPoliciesOfAPush(t *testing.T) {
	r := newRig(t)
	const mixed = `{"events":[{"id":"a","n":1},{"id":"b","n":"x"},{"id":"c","n":3}]}`
	for _, c := range []struct {
		policy   string
		outcome  view.Outcome
		accepted int
		invalid  int
		stored   string
	}{
		{"Null", view.Accepted, 3, 0, "a b c"}, {"DropRow", view.Accepted, 2, 1, "a c"}, {"RejectBatch", view.IngestInvalid, 0, 1, ""},
	} {
		r.source(c.policy, `{}`, func(s *catalog.Source) { s.OnCoercionFailure = c.policy })
		got := r.push(c.policy, mixed)
		if got.Outcome != c.outcome || got.Accepted != c.accepted || got.Invalid != c.invalid || len(got.RowErrors) != c.invalid {
			t.Errorf("%s: %+v", c.policy, got)
		}
		if s := strings.Join(r.stored(c.policy), " "); s != c.stored {
			t.Errorf("%s stored %q", c.policy, s)
		}
		if s := r.balanced(c.policy); s.TotalInvalid != int64(c.invalid) || s.TotalAccepted != int64(c.accepted) {
			t.Errorf("%s: %+v", c.policy, s)
		}
	}
}

func TestPartialPush(t *testing.T) {
	r := newRig(t)
	r.source("s", `{"rejectUnknownFields":true}`)
	const rows = `[{"id":"a"},7,{"id":"b","zz":1},{"id":"c"}]`
	if got := r.push("s", `{"events":`+rows+`}`); got.Outcome != view.IngestInvalid || got.Invalid != 2 || len(got.RowErrors) != 2 || !strings.HasPrefix(got.RowErrors[0], "row 1: ") || !strings.HasPrefix(got.RowErrors[1], "row 2: ") {
		t.Errorf("whole: %+v", got)
	}
	if got := r.push("s", `{"partial":true,"events":`+rows+`}`); got.Outcome != view.Accepted || got.Accepted != 2 || got.Invalid != 2 {
		t.Errorf("partial: %+v", got)
	}
	if got := strings.Join(r.stored("s"), " "); got != "a c" {
		t.Errorf("stored %q", got)
	}
	if s := r.balanced("s"); s.TotalInvalid != 4 || s.TotalRejected != 2 || s.TotalAccepted != 2 {
		t.Errorf("status %+v", s)
	}
}

// TestHostileRows pushes what nobody should send; the rows around it arrive, byte for byte.
func TestHostileRows(t *testing.T) {
	r := newRig(t)
	r.source("s", `{}`, func(s *catalog.Source) {
		s.OnCoercionFailure = catalog.CoerceReject
		s.Fields = append(s.Fields, catalog.Field{Name: "d", Type: types.Double}, catalog.Field{Name: "j", Type: types.Json})
	})
	bad := map[string]string{
		"NUL byte": "{\"id\":\"a\x00\"}", "NaN": `{"d":NaN}`, "2^63": `{"n":9223372036854775808}`, "invalid UTF-8": "{\"id\":\"\xff\"}",
		"deep": `{"j":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`, "null row": `null`, "array row": `[]`, "text row": `"x"`,
		"text for a number": `{"n":"one"}`, "1e999": `{"d":1e999}`, "lone surrogate": `{"id":"\ud800"}`, "object for text": `{"n":{}}`, "cut": `{"id":"a"`,
	}
	for name, row := range bad {
		if got := r.push("s", `{"events":[{"id":"good"},`+row+`]}`); got.Outcome != view.IngestInvalid {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := r.stored("s"); len(got) != 0 {
		t.Fatalf("stored %v", got)
	}
	good := "{ \"n\" : 1,\n \"n\":9223372036854775807,\"id\":\"\\u0000é\" , \"j\": [ 1e400 ] }"
	if got := r.push("s", `{"events":[`+good+`,{"id":"2"}]}`); got.Outcome != view.Accepted || got.Accepted != 2 {
		t.Fatalf("%+v", got)
	}
	st, err := r.log.Stream(t.Context(), "SF_default_SRC_s")
	if err != nil {
		t.Fatal(err)
	}
	m, err := st.Get(t.Context(), 1)
	if err != nil || string(m.Data) != `[`+good+`,{"id":"2"}]` {
		t.Errorf("stored %q, %v", m.Data, err)
	}
}

func TestRowsAreSplitOverMessages(t *testing.T) {
	for _, policy := range []string{"Reject", "Inline"} {
		t.Run(policy, func(t *testing.T) {
			r := newRig(t)
			r.source("s", `{"policy":"`+policy+`"}`)
			var rows []string
			for i := range 5 {
				rows = append(rows, fmt.Sprintf(`{"id":"%d%s"}`, i, strings.Repeat("x", 3<<20)))
			}
			got := r.push("s", `{"events":[`+strings.Join(rows, ",")+`]}`)
			if got.Outcome != view.Accepted || got.Accepted != 5 || got.Position != 3 {
				t.Fatalf("%+v", got)
			}
			for i, id := range r.stored("s") {
				if id[0] != byte('0'+i) {
					t.Errorf("row %d is %.2s", i, id)
				}
			}
			r.balanced("s")
		})
	}
}

func TestRetract(t *testing.T) {
	r := newRig(t)
	r.source("s", `{}`)
	const push = `{"events":[{"id":"a","_retract":true},{"id":"b"}]}`
	table := func(name, sql string) string {
		in := catalog.NewTable()
		in.Name, in.SQL = name, sql
		rec, err := r.store.CreateTable(t.Context(), "", "tester", in)
		if err != nil {
			t.Fatal(err)
		}
		return rec.ID
	}
	start := func(id string) {
		if _, err := r.store.StartTable(t.Context(), "", id); err != nil {
			t.Fatal(err)
		}
	}
	total := table("total", "SELECT COUNT(*) AS n FROM s")
	newest := table("newest", "SELECT id, n FROM s LATEST BY (id)")
	if got := r.push("s", push); got.Outcome != view.Accepted {
		t.Errorf("no running table: %+v", got)
	}
	start(newest)
	if got := r.push("s", push); got.Outcome != view.Accepted {
		t.Errorf("only LATEST BY runs: %+v", got)
	}
	start(total)
	got := r.push("s", push)
	if got.Outcome != view.IngestInvalid || len(got.RowErrors) != 1 || !strings.Contains(got.RowErrors[0], "row 0: ") || !strings.Contains(got.RowErrors[0], "'total'") {
		t.Errorf("an aggregate runs: %+v", got)
	}
	if _, err := r.store.StopTable(t.Context(), "", total); err != nil {
		t.Fatal(err)
	}
	if got := r.push("s", push); got.Outcome != view.Accepted {
		t.Errorf("the aggregate has stopped: %+v", got)
	}
}

// TestHundredPushersAtOnce: every row arrives once, each push in order, and each has a position of its own.
func TestHundredPushersAtOnce(t *testing.T) {
	for _, policy := range []string{"Reject", "Inline"} {
		t.Run(policy, func(t *testing.T) {
			r := newRig(t)
			r.source("s", `{"policy":"`+policy+`","dedupKeyField":"id"}`)
			const pushers, pushes = 100, 5
			var wg sync.WaitGroup
			positions := make([]map[int64]bool, pushers)
			for p := range pushers {
				positions[p] = map[int64]bool{}
				wg.Go(func() {
					for i := range pushes {
						got, err := r.in.Ingest().PushBody(context.Background(), "", "s", []byte(body("", fmt.Sprintf("%d-%d-a", p, i), fmt.Sprintf("%d-%d-b", p, i))), "")
						if err != nil || got.Outcome != view.Accepted || got.Accepted != 2 {
							t.Errorf("push: %+v, %v", got, err)
							return
						}
						positions[p][got.Position] = true
					}
				})
			}
			wg.Wait()
			all := map[int64]bool{}
			for _, m := range positions {
				for p := range m {
					all[p] = true
				}
			}
			ids := r.stored("s")
			if len(ids) != pushers*pushes*2 || len(all) != pushers*pushes {
				t.Fatalf("%d rows at %d positions", len(ids), len(all))
			}
			for i := 0; i < len(ids); i += 2 {
				if strings.TrimSuffix(ids[i], "a") != strings.TrimSuffix(ids[i+1], "b") {
					t.Fatalf("rows %d: %s %s are torn apart", i, ids[i], ids[i+1])
				}
			}
			slices.Sort(ids)
			if n := len(slices.Compact(ids)); n != pushers*pushes*2 {
				t.Errorf("%d distinct rows", n)
			}
			if s := r.balanced("s"); s.TotalPublished != pushers*pushes*2 {
				t.Errorf("status %+v", s)
			}
			r.walEmpty("s")
		})
	}
}

func TestPushRequestWithParsedRows(t *testing.T) {
	r := newRig(t)
	r.source("s", `{}`)
	got, err := r.in.Ingest().Push(t.Context(), "default", "s", view.IngestRequest{Events: []json.RawMessage{[]byte(`{"id":"a"}`)}})
	if err != nil || got.Accepted != 1 || got.Position != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := r.in.Ingest().Push(t.Context(), "elsewhere", "s", view.IngestRequest{}); err != nil {
		t.Errorf("unknown environment: %v", err)
	}
}

func TestIntakeThatDoesNotRunIsUnavailable(t *testing.T) {
	r := newRig(t)
	r.source("s", `{}`)
	r.stop()
	if got := r.ids("s", "a"); got.Outcome != view.IngestUnavailable || got.Error == "" {
		t.Errorf("%+v", got)
	}
}
