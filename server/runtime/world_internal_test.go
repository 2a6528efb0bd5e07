package runtime

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/view"
	"github.com/streamsforge/streamsforge/streams"
	"github.com/streamsforge/streamsforge/streams/streamstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bucket keeps the catalog of a test.
type bucket struct {
	mu   sync.Mutex
	rev  uint64
	vals map[string]catalog.Entry
}

func (b *bucket) All(context.Context) ([]catalog.Entry, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []catalog.Entry
	for _, k := range slices.Sorted(maps.Keys(b.vals)) {
		out = append(out, b.vals[k])
	}
	return out, nil
}

func (b *bucket) put(key string, value []byte) (uint64, error) {
	b.rev++
	b.vals[key] = catalog.Entry{Key: key, Value: slices.Clone(value), Revision: b.rev}
	return b.rev, nil
}

func (b *bucket) Create(_ context.Context, key string, value []byte) (uint64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.vals[key]; ok {
		return 0, catalog.ErrRevision
	}
	return b.put(key, value)
}

func (b *bucket) Update(_ context.Context, key string, value []byte, expect uint64) (uint64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.vals[key].Revision != expect {
		return 0, catalog.ErrRevision
	}
	return b.put(key, value)
}

func (b *bucket) Delete(_ context.Context, key string, expect uint64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.vals[key].Revision != expect {
		return catalog.ErrRevision
	}
	delete(b.vals, key)
	return nil
}

// world is a log, a catalog, and a runtime that can be stopped and killed.
type world struct {
	t       testing.TB
	dir     string
	streams *streams.Server
	bucket  *bucket
	catalog *catalog.Store
	rt      *Runtime
	opt     Options
	ids     map[string]string
	idleMs  int64
	// parallelism is that of new tables; 0 is the default.
	parallelism int
}

func newWorld(t testing.TB, change ...func(*Options)) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), bucket: &bucket{vals: map[string]catalog.Entry{}}, ids: map[string]string{}, idleMs: 5000}
	w.streams = streamstest.Open(t)
	w.opt = Options{Checkpoints: filepath.Join(w.dir, "checkpoints"), CheckpointEvery: time.Hour}
	for _, c := range change {
		c(&w.opt)
	}
	w.start()
	t.Cleanup(func() { _ = w.rt.Close(context.Background()) })
	return w
}

func (w *world) start() {
	w.t.Helper()
	ctx := context.Background()
	var err error
	if w.catalog, err = catalog.Open(ctx, catalog.Options{Bucket: w.bucket, IdleMs: w.idleMs, LatenessMs: 1000}); err != nil {
		w.t.Fatal(err)
	}
	o := w.opt
	o.Streams, o.Catalog = w.streams, w.catalog
	if testing.Verbose() {
		o.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	if w.rt, err = Open(ctx, o); err != nil {
		w.t.Fatal(err)
	}
	w.catalog.Observe(w.rt)
}

// stop ends the runtime in order, kill as a kill would. Both start another one on the same log.
func (w *world) stop() {
	w.t.Helper()
	if err := w.rt.Close(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	w.start()
}

func (w *world) kill() {
	w.t.Helper()
	w.rt.abandon()
	w.start()
}

func (w *world) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	w.t.Cleanup(cancel)
	return ctx
}

func field(name string, k types.Kind) catalog.Field { return catalog.Field{Name: name, Type: k} }

func (w *world) source(name string, fields ...catalog.Field) {
	w.t.Helper()
	s := catalog.NewSource()
	s.Name, s.Kind, s.Fields = name, catalog.KindIngest, fields
	s.GeneratorProfile = ""
	s.Ingest = &catalog.IngestConfig{Policy: catalog.PolicyInline, CapacityRows: 100, MaxWaitMs: 1000, MaxBatchRows: 1000}
	if _, err := w.catalog.CreateSource(w.ctx(), "", "test", s); err != nil {
		w.t.Fatal(err)
	}
	w.await("source "+name, func() bool { return w.rt.env.source(name) != nil })
}

func (w *world) table(name, sql string) string {
	w.t.Helper()
	d := catalog.NewTable()
	d.Name, d.SQL = name, sql
	if w.parallelism > 0 {
		d.Parallelism = w.parallelism
	}
	r, err := w.catalog.CreateTable(w.ctx(), "", "test", d)
	if err != nil {
		w.t.Fatal(err)
	}
	w.ids[name] = r.ID
	w.startTable(name)
	return r.ID
}

func (w *world) startTable(name string) {
	w.t.Helper()
	r, err := w.catalog.StartTable(w.ctx(), "", w.ids[name])
	if err != nil {
		w.t.Fatal(err)
	}
	w.running(catalog.InputTable, r.ID, r.Run.Revision)
}

func (w *world) running(kind catalog.InputKind, id string, revision int64) {
	w.t.Helper()
	st, err := w.rt.Await(w.ctx(), "", kind, id, revision)
	if err != nil || st.Status != view.Running {
		w.t.Fatalf("%s %s is %s (%s), %v", kind, id, st.Status, st.Error, err)
	}
}

func (w *world) pipeline(name, sql string) string {
	w.t.Helper()
	d := catalog.NewPipeline()
	d.Name, d.SQL = name, sql
	r, err := w.catalog.CreatePipeline(w.ctx(), "", "test", d)
	if err != nil {
		w.t.Fatal(err)
	}
	w.ids[name] = r.ID
	if r, err = w.catalog.StartPipeline(w.ctx(), "", r.ID); err != nil {
		w.t.Fatal(err)
	}
	w.running(catalog.InputPipeline, r.ID, r.Run.Revision)
	return r.ID
}

// publish appends a message with rows, each a map or a struct, and returns its position.
func (w *world) publish(source string, rows ...any) uint64 {
	w.t.Helper()
	b, err := json.Marshal(rows)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.raw(source, b)
}

func (w *world) raw(source string, b []byte) uint64 {
	w.t.Helper()
	seq, err := w.rt.env.source(source).stream.Publish(w.ctx(), b, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return seq
}

// rows reads a table once it reflects a position of a source.
func (w *world) rows(table, source string, seq uint64) map[string]int64 {
	w.t.Helper()
	q := view.RowsQuery{Limit: 1 << 30}
	if seq > 0 {
		q.MinPositions = map[string]uint64{source: seq}
	}
	r, err := w.rt.TableRows(w.ctx(), "", w.ids[table], q)
	if err != nil {
		w.stuck()
		w.t.Fatalf("rows of %s at %s %d: %v (status %+v)", table, source, seq, err, w.rt.Observed("", catalog.InputTable, w.ids[table]))
	}
	out := map[string]int64{}
	for _, x := range r.Rows {
		out[string(x.Row)] += x.Weight
	}
	if r.TotalRows != len(out) {
		w.t.Fatalf("%s: totalRows %d, %d rows", table, r.TotalRows, len(out))
	}
	return out
}

// await waits for a condition.
func (w *world) await(what string, ok func() bool) {
	w.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case err := <-w.rt.Failed():
			w.t.Fatalf("waiting for %s: the runtime has ended: %v", what, err)
		default:
		}
		if time.Now().After(deadline) {
			for name, id := range w.ids {
				w.t.Logf("%s is %s: %+v %+v", name, id, w.rt.Observed("", catalog.InputTable, id), w.rt.Observed("", catalog.InputPipeline, id))
			}
			w.stuck()
			w.t.Fatalf("timed out waiting for %s\n%s", what, w.rt.env.clk)
		}
		<-tick.C
	}
}

// stuck logs what every goroutine waits for.
func (w *world) stuck() {
	buf := make([]byte, 1<<20)
	w.t.Logf("%s\n%s", w.rt.env.clk, buf[:runtime.Stack(buf, true)])
}

func same(t testing.TB, what string, got, want map[string]int64) {
	t.Helper()
	if maps.Equal(got, want) {
		return
	}
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if got[k] != want[k] {
			t.Errorf("%s: %s has weight %d, want %d", what, k, got[k], want[k])
		}
	}
	for _, k := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[k]; !ok {
			t.Errorf("%s: %s (weight %d) should not be there", what, k, got[k])
		}
	}
	t.FailNow()
}
