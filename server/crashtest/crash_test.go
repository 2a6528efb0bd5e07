package crashtest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"github.com/streamsforge/streamsforge/server/servertest"
)

var (
	rounds = flag.Int("crash.rounds", 4, "how often to kill the server")
	seed   = flag.Uint64("crash.seed", 0, "seed of the kill moments and rows; 0 takes a new one")
)

// serverArgs make checkpoints frequent, so that every kind of recovery happens.
// An input never counts as idle, so that windows depend on rows alone. The log keeps everything, because the model is
// a fold over all of it; 200 rounds write more than the default gigabyte.
var serverArgs = []string{"--Tables:CheckpointMs=250", "--Pipelines:IdleMs=86400000", "--Replay:MaxBytesPerStream=0"}

// TestKilledAtAnyMoment kills the server at random moments under load. After each restart: every acknowledged row
// is in the log once, positions are consecutive, and every table, chain of tables and the sum of all results equal
// the recomputation from the raw log. While it runs, readers check that the chain never shows two moments mixed.
func TestKilledAtAnyMoment(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d, %d rounds", *seed, *rounds)
	rnd := rand.New(rand.NewPCG(*seed, 1))
	dir, err := os.MkdirTemp("", "streamsforge-crash-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the data directory is kept for a look: %s", dir)
			return
		}
		os.RemoveAll(dir)
	})
	c := &crash{dir: dir, model: newModel(), acked: map[uint64]int64{}, rnd: rnd, epochs: map[string]int64{}, ids: map[string]string{}}
	p := servertest.Start(t, c.dir, serverArgs...)
	c.define(t, p)
	var slowest time.Duration
	for round := 1; round <= *rounds; round++ {
		l := newLoad(&c.nextID, &c.clock)
		l.start(t, p, 3, *seed+uint64(round))
		readers := c.watchTotal(p)
		moment := time.Duration(30+rnd.IntN(600)) * time.Millisecond
		<-time.After(moment)
		p.Kill(t)
		l.wait(t)
		if err := readers(); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		for seq, id := range l.acked {
			c.acked[seq] = id
		}
		c.damage(t)
		if rnd.IntN(6) == 0 {
			// A second kill while the server is still coming up.
			q := servertest.Launch(t, c.dir, serverArgs...)
			select {
			case <-q.Exited():
				t.Fatalf("round %d: the server refused to start:\n%s", round, q.Output())
			case <-time.After(time.Duration(rnd.IntN(500)) * time.Millisecond):
			}
			q.Kill(t)
		}
		if round%10 == 5 {
			c.inspectLog(t, false)
		}
		p = servertest.Start(t, c.dir, serverArgs...)
		slowest = max(slowest, p.Ready.Sub(p.Started))
		c.verify(t, p, round)
		if round%10 == 0 || round == *rounds {
			if code := p.Stop(t); code != 0 {
				t.Fatalf("SIGTERM: exit code %d\n%s", code, p.Output())
			}
			c.inspectLog(t, true)
			p = servertest.Start(t, c.dir, serverArgs...)
			c.verify(t, p, round)
			t.Logf("round %d: %d rows in the log", round, len(c.model.seen))
		}
	}
	t.Logf("%d rounds, %d rows, %d acknowledged messages, slowest start %s", *rounds, len(c.model.seen), len(c.acked), slowest.Round(time.Millisecond))
}

type crash struct {
	dir    string
	model  *model
	acked  map[uint64]int64
	rnd    *rand.Rand
	nextID atomic.Int64
	clock  atomic.Int64
	epochs map[string]int64  // the last frontier seen of each table
	ids    map[string]string // of tables and pipelines
}

func (c *crash) define(t *testing.T, p *servertest.Process) {
	t.Helper()
	api := p.Login(t, "admin", "admin123!")
	field := func(name, kind string) map[string]any { return map[string]any{"name": name, "type": kind} }
	api.Must(t, http.StatusCreated, http.MethodPost, "/api/sources", map[string]any{
		"name": sourceName, "kind": "ingest", "ingest": map[string]any{"policy": "Inline"},
		"fields": []any{field("id", "Long"), field("src", "String"), field("dst", "String"), field("amount", "Long"), field("p", "Long"), field("i", "Long")},
	}, nil)
	for _, d := range tables {
		var out struct {
			ID string `json:"id"`
		}
		api.Must(t, http.StatusCreated, http.MethodPost, "/api/tables", map[string]any{"name": d.name, "description": "", "sql": d.sql}, &out)
		c.ids[d.name] = out.ID
		startEntity(t, api, "tables", out.ID)
	}
	var out struct {
		ID string `json:"id"`
	}
	api.Must(t, http.StatusCreated, http.MethodPost, "/api/pipelines", map[string]any{"name": "amounts", "description": "", "sql": windowSQL}, &out)
	c.ids["amounts"] = out.ID
	startEntity(t, api, "pipelines", out.ID)
	// The first message touches every account on both sides, so that the join has all of them from the start.
	var rows []any
	for i := range accounts {
		id := c.nextID.Add(1)
		rows = append(rows, transfer{ID: id, Src: account(i), Dst: account(i + 1), Amount: 5, P: 0, I: id, Ts: c.clock.Add(1)})
	}
	api.Must(t, http.StatusAccepted, http.MethodPost, "/api/sources/"+sourceName+"/events", map[string]any{"events": rows}, nil)
}

func startEntity(t *testing.T, api *servertest.Client, kind, id string) {
	t.Helper()
	var out struct {
		Status string  `json:"status"`
		Error  *string `json:"error"`
	}
	api.Must(t, http.StatusOK, http.MethodPost, "/api/"+kind+"/"+id+"/start", nil, &out)
	if out.Status != "Running" {
		t.Fatalf("start %s %s: %s %v", kind, id, out.Status, out.Error)
	}
}

// watchTotal reads the end of the chain until the server goes away. The returned function ends it and reports the
// first read that showed two moments mixed.
func (c *crash) watchTotal(p *servertest.Process) func() error {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var bad atomic.Pointer[error]
	wg.Go(func() {
		api := &servertest.Client{Base: p.HTTP}
		var login struct {
			Token string `json:"token"`
		}
		if code, _, err := api.Try(http.MethodPost, "/api/auth/login", map[string]string{"username": "viewer", "password": "viewer123!"}, &login); err != nil || code != http.StatusOK {
			return
		}
		api.Token = login.Token
		for {
			select {
			case <-stop:
				return
			default:
			}
			var rows servertest.Rows
			if _, _, err := api.Try(http.MethodGet, "/api/tables/total/rows", nil, &rows); err != nil {
				return
			}
			for _, r := range rows.Rows {
				if r.Row["amount"] != float64(0) || r.Row["n"] != float64(accounts) {
					err := fmt.Errorf("a reader saw the total %v over %v accounts, want 0 over %d", r.Row["amount"], r.Row["n"], accounts)
					bad.CompareAndSwap(nil, &err)
				}
			}
			var balances servertest.Rows
			if _, _, err := api.Try(http.MethodGet, "/api/tables/balance/rows", nil, &balances); err != nil {
				return
			}
			sum := 0.0
			for _, r := range balances.Rows {
				v, _ := r.Row["amount"].(float64)
				sum += v
			}
			if sum != 0 {
				err := fmt.Errorf("a reader saw balances that sum to %v, want 0", sum)
				bad.CompareAndSwap(nil, &err)
			}
		}
	})
	return func() error {
		close(stop)
		wg.Wait()
		if e := bad.Load(); e != nil {
			return *e
		}
		return nil
	}
}

// damage flips a byte or cuts the end of a random checkpoint file now and then: recovery must fall back, never
// serve wrong rows.
func (c *crash) damage(t *testing.T) {
	t.Helper()
	if c.rnd.IntN(8) != 0 {
		return
	}
	var files []string
	_ = filepath.WalkDir(filepath.Join(c.dir, "checkpoints"), func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, path)
		}
		return nil
	})
	if len(files) == 0 {
		return
	}
	slices.Sort(files)
	f := files[c.rnd.IntN(len(files))]
	b, err := os.ReadFile(f)
	if err != nil || len(b) == 0 {
		return
	}
	if c.rnd.IntN(2) == 0 {
		b[c.rnd.IntN(len(b))] ^= 0x40
	} else {
		b = b[:c.rnd.IntN(len(b))]
	}
	if err := os.WriteFile(f, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// verify folds what is new in the log into the model and compares every table.
func (c *crash) verify(t *testing.T, p *servertest.Process, round int) {
	t.Helper()
	last := c.readLog(t, p)
	for seq := range c.acked {
		if seq > last {
			t.Fatalf("round %d: message %d was acknowledged but the log ends at %d", round, seq, last)
		}
	}
	api := p.Login(t, "viewer", "viewer123!")
	for _, d := range tables {
		c.awaitPosition(t, p, api, d.name, last)
		got := api.Rows(t, d.name, sourceName+":"+strconv.FormatUint(last, 10))
		lines := make([]string, 0, len(got.Rows))
		for _, r := range got.Rows {
			if r.Weight != 1 {
				t.Errorf("round %d: table %s: row %v has weight %d", round, d.name, r.Row, r.Weight)
			}
			var cells []string
			for _, col := range columns[d.name] {
				cells = append(cells, cell(r.Row[col]))
			}
			lines = append(lines, strings.Join(cells, "|"))
		}
		slices.Sort(lines)
		if want := c.model.expect(d.name); !slices.Equal(lines, want) {
			t.Fatalf("round %d (seed %d): table %s\n got %s\nwant %s", round, *seed, d.name, clip(lines), clip(want))
		}
		if got.Epoch != nil {
			if *got.Epoch < c.epochs[d.name] {
				t.Errorf("round %d: table %s went back from epoch %d to %d", round, d.name, c.epochs[d.name], *got.Epoch)
			}
			c.epochs[d.name] = *got.Epoch
		}
	}
}

// awaitPosition waits until a table reflects the log. When it does not, what every table says of itself and the
// stacks of the server go into the failure.
func (c *crash) awaitPosition(t *testing.T, p *servertest.Process, api *servertest.Client, table string, last uint64) {
	t.Helper()
	code, text := api.Do(t, http.MethodGet, fmt.Sprintf("/api/tables/%s/rows?limit=1&minPosition=%s:%d&timeoutMs=60000", table, sourceName, last), nil, nil)
	if code == http.StatusOK {
		return
	}
	for _, d := range tables {
		_, m := api.Do(t, http.MethodGet, "/api/tables/"+d.name+"/metrics", nil, nil)
		_, s := api.Do(t, http.MethodGet, "/api/tables/"+d.name, nil, nil)
		t.Logf("%s: %s\n%s", d.name, m, s)
	}
	p.Dump(t)
	t.Fatalf("table %s does not reach position %d (seed %d): %d %s\n%s", table, last, *seed, code, text, p.Output())
}

func cell(v any) string {
	switch v := v.(type) {
	case float64:
		return strconv.FormatInt(int64(v), 10)
	case nil:
		return "NULL"
	default:
		return fmt.Sprint(v)
	}
}

func clip(lines []string) string {
	s := strings.Join(lines, " ; ")
	if len(s) > 1500 {
		s = s[:1500] + "..."
	}
	return s
}

// readLog folds the messages that the model has not seen, read like any external client reads: by direct get.
func (c *crash) readLog(t *testing.T, p *servertest.Process) uint64 {
	t.Helper()
	var info struct {
		FirstSeq uint64 `json:"firstSeq"`
		LastSeq  uint64 `json:"lastSeq"`
	}
	p.Login(t, "viewer", "viewer123!").Must(t, http.StatusOK, http.MethodGet, "/api/sources/"+url.PathEscape(sourceName)+"/replay", nil, &info)
	if info.FirstSeq != 1 {
		t.Fatalf("the log starts at %d", info.FirstSeq)
	}
	nc, err := connect(p, "admin", "admin123!")
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	for c.model.next <= info.LastSeq {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		msgs, err := jetstreamext.GetBatch(ctx, js, "SF_default_SRC_"+sourceName, 500, jetstreamext.GetBatchSeq(c.model.next))
		if err != nil {
			t.Fatalf("read the log from %d: %v", c.model.next, err)
		}
		for m, err := range msgs {
			if errors.Is(err, jetstreamext.ErrNoMessages) || errors.Is(err, nats.ErrTimeout) {
				break
			}
			if err != nil {
				t.Fatalf("read the log from %d: %v", c.model.next, err)
			}
			if err := c.model.fold(m.Sequence, m.Data); err != nil {
				t.Fatalf("the log is not what was published (seed %d): %v", *seed, err)
			}
			if id, ok := c.acked[m.Sequence]; ok {
				rows, _ := rowsOf(m.Data)
				if len(rows) == 0 || rows[0].ID != id {
					t.Fatalf("message %d was acknowledged for row %d, the log holds %s", m.Sequence, id, m.Data)
				}
			}
		}
		cancel()
	}
	return info.LastSeq
}
