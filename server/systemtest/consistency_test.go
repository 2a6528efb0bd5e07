package systemtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/enginetest"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/server/servertest"
	"github.com/streamsforge/streamsforge/streams"
	"github.com/streamsforge/streamsforge/streams/wire"
)

// The world of the consistency test: transfers between accounts, two tables over the source, a third that joins
// them, a fourth over that, tables of other shapes, and a pipeline over the same source.
var transferSchema = types.Schema{
	{Name: "src", Kind: types.String}, {Name: "dst", Kind: types.String}, {Name: "amount", Kind: types.Long}, {Name: "fee", Kind: types.Double},
}

var worldTables = []struct{ name, sql string }{
	{"credits", "SELECT dst AS account, SUM(amount) AS total, COUNT(*) AS n FROM transfers GROUP BY dst"},
	{"debits", "SELECT src AS account, SUM(amount) AS total, MAX(fee) AS top FROM transfers GROUP BY src"},
	{"balance", "SELECT c.account AS account, c.total - d.total AS amount, d.top AS top FROM credits c JOIN debits d ON c.account = d.account"},
	{"total", "SELECT SUM(amount) AS amount, COUNT(*) AS n, MIN(top) AS low FROM balance"},
	{"newest", "SELECT src, dst, amount FROM transfers LATEST BY (src)"},
	{"pairs", "SELECT src, dst, COUNT(*) AS n, AVG(fee) AS fee, MIN(amount) AS lo FROM transfers WHERE amount > 100 GROUP BY src, dst"},
	{"rich", "SELECT account, amount FROM balance WHERE amount > 0"},
}

const worldPipeline = "SELECT src, COUNT(*) AS n, SUM(amount) AS s, MAX(fee) AS top FROM transfers GROUP BY src WINDOW TUMBLING(SIZE 1 SECONDS)"

type sample struct {
	Epoch  uint64                      `json:"epoch"`
	Tables map[string][]servertest.Row `json:"tables"`
}

// TestEveryObservableEpochEqualsARecomputation reads all tables at common epochs while publishers keep the workers
// behind, then recomputes each of those epochs from the raw log with the reference evaluator, and the pipeline's
// results over all epochs.
func TestEveryObservableEpochEqualsARecomputation(t *testing.T) {
	dir := t.TempDir()
	p := servertest.Start(t, dir, "--Seed:Demo=false")
	api := p.Login(t, "admin", "admin123!")
	var fields []map[string]any
	for _, f := range transferSchema {
		fields = append(fields, map[string]any{"name": f.Name, "type": f.Kind.String()})
	}
	createSource(t, api, "transfers", fields, nil)
	ids := map[string]string{}
	var names []string
	for _, d := range worldTables {
		ids[d.name] = createTable(t, api, d.name, d.sql)
		names = append(names, d.name)
	}
	var pipe struct {
		ID     string `json:"id"`
		Status string `json:"status"`
	}
	api.Must(t, http.StatusCreated, http.MethodPost, "/api/pipelines", map[string]any{"name": "by source", "description": "", "sql": worldPipeline}, &pipe)
	api.Must(t, http.StatusOK, http.MethodPost, "/api/pipelines/"+pipe.ID+"/start", nil, &pipe)
	if pipe.Status != "Running" {
		t.Fatalf("the pipeline is %s", pipe.Status)
	}

	// Publishers send bursts of very different sizes for a few windows' time, so that epochs are tiny and huge and
	// workers fall behind.
	const samples = 25
	done := make(chan struct{})
	var wg sync.WaitGroup
	end := time.Now().Add(4 * time.Second)
	for n := range 2 {
		js, err := jetstream.New(connect(t, p, "admin", "admin123!"))
		if err != nil {
			t.Fatal(err)
		}
		rnd := rand.New(rand.NewPCG(7, uint64(n)))
		wg.Go(func() {
			for time.Now().Before(end) {
				for range 1 + rnd.IntN(60) {
					if _, err := js.PublishAsync("sf.default.source.transfers", randomTransfers(rnd)); err != nil {
						t.Errorf("publish: %v", err)
						return
					}
				}
				<-js.PublishAsyncComplete()
				<-time.After(time.Duration(rnd.IntN(80)) * time.Millisecond)
			}
		})
	}
	go func() { wg.Wait(); close(done) }()
	seen := map[uint64]sample{}
	for finished := false; !finished; {
		select {
		case <-done:
			finished = true
		case <-time.After(4 * time.Second / samples):
		}
		var s sample
		api.Must(t, http.StatusOK, http.MethodPost, "/api/query/rows", map[string]any{"tables": names, "limit": 1000000}, &s)
		if len(s.Tables) != len(names) {
			t.Fatalf("epoch %d answers %d of %d tables", s.Epoch, len(s.Tables), len(names))
		}
		seen[s.Epoch] = s
	}
	var last struct {
		LastSeq uint64 `json:"lastSeq"`
	}
	api.Must(t, http.StatusOK, http.MethodGet, "/api/sources/transfers/replay", nil, &last)
	for _, n := range names {
		api.Rows(t, n, fmt.Sprintf("transfers:%d", last.LastSeq))
	}
	var final sample
	api.Must(t, http.StatusOK, http.MethodPost, "/api/query/rows", map[string]any{"tables": names, "limit": 1000000}, &final)
	seen[final.Epoch] = final
	if code := p.Stop(t); code != 0 {
		t.Fatalf("exit code %d\n%s", code, p.Output())
	}

	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	s, err := streams.Open(ctx, streams.Options{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.WithoutCancel(ctx))
	log := rawLog(ctx, t, s, "transfers", transferSchema)
	clock := epochs(ctx, t, s, "transfers")
	checked := 0
	for _, sm := range seen {
		upTo := clock.position(sm.Epoch)
		checkSample(t, sm, log.prefix(upTo))
		checked++
	}
	checkPipeline(ctx, t, s, pipe.ID, log, clock)
	t.Logf("%d messages, %d rows, %d epochs; %d observed epochs recomputed", last.LastSeq, len(log.events), len(clock.records), checked)
}

func randomTransfers(rnd *rand.Rand) []byte {
	n := 1
	switch rnd.IntN(10) {
	case 0:
		n = 40 + rnd.IntN(60)
	case 1, 2, 3:
		n = 2 + rnd.IntN(6)
	}
	var b bytes.Buffer
	for range n {
		row := map[string]any{
			"src": fmt.Sprintf("a%d", rnd.IntN(12)), "dst": fmt.Sprintf("a%d", rnd.IntN(12)),
			"amount": rnd.Int64N(1000) - 100, "fee": float64(rnd.IntN(100000)) / 1000,
		}
		if rnd.IntN(20) == 0 {
			row["fee"] = nil
		}
		if rnd.IntN(40) == 0 {
			delete(row, "dst")
		}
		j, _ := json.Marshal(row)
		b.Write(j)
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// rows is the raw log of a source as events of the reference, with the message each row came in.
type rows struct {
	events []enginetest.Event
	seqs   []uint64
}

func (r rows) prefix(seq uint64) []enginetest.Event {
	return r.events[:sort.Search(len(r.seqs), func(i int) bool { return r.seqs[i] > seq })]
}

// rawLog reads a source's NDJSON messages with encoding/json: no decoder of the product takes part.
func rawLog(ctx context.Context, t *testing.T, s *streams.Server, source string, schema types.Schema) rows {
	t.Helper()
	st, err := s.Stream(ctx, streams.SourceStream(streams.DefaultEnv, source))
	if err != nil {
		t.Fatal(err)
	}
	state, err := st.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	r := st.Read(1, streams.ReadOptions{Until: state.Last})
	defer r.Stop()
	var out rows
	for {
		msgs, err := r.Next(ctx)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range msgs {
			for line := range bytes.SplitSeq(bytes.TrimSpace(m.Data), []byte("\n")) {
				var obj map[string]any
				if err := json.Unmarshal(line, &obj); err != nil {
					t.Fatal(err)
				}
				e := enginetest.Event{Relation: source, Ts: m.TimeMs}
				for _, f := range schema {
					v := types.Null(f.Kind)
					switch x := obj[f.Name].(type) {
					case string:
						v = types.StringOf(x)
					case float64:
						v = types.DoubleOf(x)
						if f.Kind == types.Long {
							v = types.LongOf(int64(x))
						}
					}
					e.Values = append(e.Values, v)
				}
				out.events = append(out.events, e)
				out.seqs = append(out.seqs, m.Seq)
			}
		}
	}
}

type epochTable struct {
	records []streams.EpochRecord
	upTo    []uint64 // position of the source at each record
}

func epochs(ctx context.Context, t *testing.T, s *streams.Server, source string) epochTable {
	t.Helper()
	st, err := s.Stream(ctx, streams.EpochsStream(streams.DefaultEnv))
	if err != nil {
		t.Fatal(err)
	}
	state, err := st.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	r := streams.ReadEpochs(st, 0)
	defer r.Stop()
	var out epochTable
	pos := uint64(0)
	for {
		records, err := r.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range records {
			for k, v := range e.Positions {
				if strings.HasPrefix(k, source+"#") {
					pos = v
				}
			}
			out.records = append(out.records, e)
			out.upTo = append(out.upTo, pos)
			if e.Seq >= state.Last {
				return out
			}
		}
	}
}

func (e epochTable) position(epoch uint64) uint64 {
	i := sort.Search(len(e.records), func(i int) bool { return e.records[i].Epoch > epoch })
	if i == 0 {
		return 0
	}
	return e.upTo[i-1]
}

// world is the catalog of the recomputation.
type world map[string]engine.Relation

func (w world) Relations(name string) []engine.Relation {
	if r, ok := w[name]; ok {
		return []engine.Relation{r}
	}
	return nil
}

func (w world) Names() []string {
	var out []string
	for n := range w {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

// checkSample recomputes every table from the events, one table after the other, and compares what was served.
func checkSample(t *testing.T, sm sample, events []enginetest.Event) {
	t.Helper()
	w := world{"transfers": {Name: "transfers", Kind: engine.Source, Schema: transferSchema, AppendOnly: true}}
	history := slices.Clone(events)
	for _, d := range worldTables {
		prog, problems := engine.Compile(d.sql, w, engine.TableMode, engine.Options{})
		if prog == nil {
			t.Fatalf("%s: %v", d.name, problems)
		}
		want, err := enginetest.Evaluate(d.sql, w, engine.TableMode, engine.Options{}, history)
		if err != nil {
			t.Fatalf("%s: %v", d.name, err)
		}
		var wantLines []string
		for _, r := range want.Rows {
			wantLines = append(wantLines, jsonRow(want.Schema, r.Values, r.Weight))
			history = append(history, enginetest.Event{Relation: d.name, Values: r.Values, Ts: r.Ts, Weight: r.Weight})
		}
		var got []string
		for _, r := range sm.Tables[d.name] {
			var vals []any
			for _, f := range want.Schema {
				vals = append(vals, r.Row[f.Name])
			}
			got = append(got, lineOf(vals, r.Weight))
		}
		slices.Sort(wantLines)
		slices.Sort(got)
		if !slices.Equal(got, wantLines) {
			t.Fatalf("epoch %d (%d rows of the source): table %s\n got %.1500s\nwant %.1500s", sm.Epoch, len(events), d.name, strings.Join(got, "\n     "), strings.Join(wantLines, "\n     "))
		}
		w[d.name] = prog.Relation(d.name)
	}
}

func jsonRow(s types.Schema, values []types.Value, weight int64) string {
	var vals []any
	for i := range s {
		vals = append(vals, boxed(values[i]))
	}
	return lineOf(vals, weight)
}

// boxed is a value as encoding/json would read it back.
func boxed(v types.Value) any {
	switch {
	case v.IsNull():
		return nil
	case v.Kind() == types.Double:
		return v.Float()
	case v.Kind() == types.String:
		return v.Text()
	default:
		return float64(v.Int())
	}
}

func lineOf(vals []any, weight int64) string {
	j, _ := json.Marshal(vals)
	return fmt.Sprintf("%s x%d", j, weight)
}

// checkPipeline replays the recorded epochs through the reference and compares all results.
func checkPipeline(ctx context.Context, t *testing.T, s *streams.Server, id string, log rows, clock epochTable) {
	t.Helper()
	var history []enginetest.Event
	at := 0
	for i, r := range clock.records {
		for at < len(log.seqs) && log.seqs[at] <= clock.upTo[i] {
			history = append(history, log.events[at])
			at++
		}
		history = append(history, enginetest.Event{EpochMs: r.TimeMs})
	}
	w := world{"transfers": {Name: "transfers", Kind: engine.Source, Schema: transferSchema, AppendOnly: true}}
	want, err := enginetest.Evaluate(worldPipeline, w, engine.PipelineMode, engine.Options{}, history)
	if err != nil {
		t.Fatal(err)
	}
	var wantLines, got []string
	for _, r := range want.Rows {
		wantLines = append(wantLines, jsonRow(want.Schema, r.Values, 1))
	}
	st, err := s.Stream(ctx, streams.ResultStream(streams.DefaultEnv, id))
	if err != nil {
		t.Fatal(err)
	}
	state, err := st.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if state.Messages == 0 {
		t.Fatal("no window closed: the run was too short to say anything")
	}
	r := st.Entries(0, streams.ReadOptions{Until: state.Last})
	defer r.Stop()
	for {
		entries, err := r.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if len(e.Data) == 0 {
				continue
			}
			_, b, err := wire.Decode(e.Data)
			if err != nil {
				t.Fatal(err)
			}
			for i := range b.N {
				got = append(got, jsonRow(want.Schema, b.Row(i), 1))
			}
		}
	}
	// Groups of one window may come in any order.
	slices.Sort(got)
	slices.Sort(wantLines)
	if !slices.Equal(got, wantLines) {
		n := min(len(got), len(wantLines))
		first := n
		for i := range n {
			if got[i] != wantLines[i] {
				first = i
				break
			}
		}
		t.Fatalf("the pipeline gave %d rows, the reference %d; first difference at %d\n got %v\nwant %v", len(got), len(wantLines), first, clip(got, first), clip(wantLines, first))
	}
}

func clip(lines []string, from int) []string {
	return lines[min(from, len(lines)):min(from+3, len(lines))]
}
