package intake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	_ "github.com/streamsforge/streamsforge/connectors/standard"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/catalog/catalogtest"
	"github.com/streamsforge/streamsforge/server/view"
	"github.com/streamsforge/streamsforge/streams"
	"github.com/streamsforge/streamsforge/streams/streamstest"
)

// The embedded server leaves the loops of a stream behind that was just being created when the server was told to
// stop, as tests do; everything of our own must be gone.
func TestMain(m *testing.M) {
	const pkg = "github.com/nats-io/nats-server/v2/server"
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(pkg+".(*fileStore).flushStreamStateLoop"), goleak.IgnoreAnyFunction(pkg+"/ats.Register.func1"))
}

// rig is an intake over a real log and a real catalog. Faults are planted by point; a crash makes every point fail,
// so that nothing more reaches the log, and then starts another intake over it.
type rig struct {
	t      testing.TB
	log    *streams.Server
	bucket *catalogtest.Memory
	store  *catalog.Store
	in     *Intake
	opts   Options
	stop   func()

	mu     sync.Mutex
	faults map[string]error
	met    map[string]int // how often a planted fault was met
}

var errPlanted = errors.New("planted fault")

func newRig(t testing.TB, change ...func(*Options)) *rig {
	t.Helper()
	r := &rig{t: t, log: streamstest.Open(t), bucket: catalogtest.NewMemory(), faults: map[string]error{}, met: map[string]int{}}
	r.store = catalogtest.Open(t, r.bucket)
	r.opts = Options{Drain: 5 * time.Millisecond}
	for _, c := range change {
		c(&r.opts)
	}
	r.start()
	t.Cleanup(func() { r.stop() })
	return r
}

func (r *rig) start() {
	o := r.opts
	o.Streams, o.Catalog, o.fault = r.log, r.store, r.faultAt
	r.in = New(o)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	in := r.in
	go func() { done <- in.Run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			r.t.Errorf("Run returned %v", err)
		}
	})
}

func (r *rig) faultAt(point string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.faults["*"]; err != nil {
		return err
	}
	err := r.faults[point]
	if err != nil {
		r.met[point]++
	}
	return err
}

// awaitFault waits until a planted fault was met.
func (r *rig) awaitFault(point string) {
	r.t.Helper()
	r.await("the fault at "+point, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.met[point] > 0
	})
}

// plant makes a point fail until heal; "*" is every point.
func (r *rig) plant(points ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range points {
		r.faults[p] = errPlanted
	}
}

func (r *rig) heal() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.faults)
}

// restart stops the intake in good order and starts another.
func (r *rig) restart() {
	r.t.Helper()
	r.stop()
	r.start()
}

// crash stops the intake without letting it finish anything, and starts another.
func (r *rig) crash() {
	r.t.Helper()
	r.plant("*")
	r.stop()
	r.heal()
	r.start()
}

// source creates an ingest source with a text field id, a Long n, and the given settings.
func (r *rig) source(name string, ingest string, change ...func(*catalog.Source)) {
	r.t.Helper()
	s := catalog.NewSource()
	s.Name, s.Kind = name, catalog.KindIngest
	s.Fields = []catalog.Field{{Name: "id"}, {Name: "n", Type: 2}}
	s.Ingest = &catalog.IngestConfig{}
	if err := json.Unmarshal([]byte(ingest), s.Ingest); err != nil {
		r.t.Fatal(err)
	}
	for _, c := range change {
		c(&s)
	}
	if _, err := r.store.CreateSource(r.t.Context(), "", "tester", s); err != nil {
		r.t.Fatalf("create source %s: %v", name, err)
	}
}

func (r *rig) push(name, body string) view.IngestResult {
	r.t.Helper()
	got, err := r.in.Ingest().PushBody(r.t.Context(), "", name, []byte(body), "")
	if err != nil {
		r.t.Fatalf("push to %s: %v", name, err)
	}
	return got
}

// ids pushes rows with these ids.
func (r *rig) ids(name string, ids ...string) view.IngestResult {
	r.t.Helper()
	return r.push(name, body("", ids...))
}

func body(key string, ids ...string) string {
	type row struct {
		ID string `json:"id"`
	}
	rows := []row{}
	for _, id := range ids {
		rows = append(rows, row{id})
	}
	b, _ := json.Marshal(map[string]any{"events": rows, "idempotencyKey": key})
	return string(b)
}

func (r *rig) status(name string) view.IngestStatus {
	r.t.Helper()
	s, err := r.in.Ingest().Status(r.t.Context(), "", name)
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// stored reads the rows of the source's stream: their ids in order.
func (r *rig) stored(name string) []string {
	r.t.Helper()
	st, err := r.log.Stream(r.t.Context(), streams.SourceStream("default", name))
	if errors.Is(err, streams.ErrNotFound) {
		return nil
	}
	if err != nil {
		r.t.Fatal(err)
	}
	var ids []string
	err = scan(r.t.Context(), st, 1, func(m streams.Msg) {
		for _, row := range rowsOf(r.t, m.Data) {
			ids = append(ids, fmt.Sprint(row["id"]))
		}
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return ids
}

func rowsOf(t testing.TB, payload []byte) []map[string]any {
	t.Helper()
	var rows []map[string]any
	if payload[0] == '[' {
		if err := json.Unmarshal(payload, &rows); err != nil {
			t.Fatal(err)
		}
		return rows
	}
	var row map[string]any
	if err := json.Unmarshal(payload, &row); err != nil {
		t.Fatal(err)
	}
	return append(rows, row)
}

// await polls until a condition holds.
func (r *rig) await(what string, holds func() bool) {
	r.t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	for !holds() {
		select {
		case <-deadline.C:
			r.t.Fatalf("%s: not within 20 s", what)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// balanced fails unless the books of a source balance.
func (r *rig) balanced(name string) view.IngestStatus {
	r.t.Helper()
	s := r.status(name)
	if s.TotalAccepted != s.TotalPublished+s.TotalDropped+int64(s.DepthRows) && s.Policy != "DropNewest" {
		r.t.Errorf("accepted %d is not published %d + evicted %d + depth %d", s.TotalAccepted, s.TotalPublished, s.TotalDropped, s.DepthRows)
	}
	return s
}

// walEmpty waits until the write-ahead stream holds nothing.
func (r *rig) walEmpty(name string) {
	r.t.Helper()
	r.await("write-ahead stream of "+name+" is empty", func() bool {
		st, err := r.log.Stream(r.t.Context(), streams.IngestStream("default", name))
		if err != nil {
			return false
		}
		s, err := st.State(r.t.Context())
		return err == nil && s.Messages == 0
	})
}

// buffer returns the running buffer of a source.
func (r *rig) buffer(name string) *buffer {
	r.t.Helper()
	u := r.in.present()[address{"default", name}]
	if u == nil {
		r.t.Fatalf("source %s has no unit", name)
	}
	_, b, _ := u.parts()
	return b
}
