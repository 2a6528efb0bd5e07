package runtime

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsforge/streamsforge/engine"
	"github.com/streamsforge/streamsforge/engine/flow"
	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/engine/zset"
	"github.com/streamsforge/streamsforge/server/runtime/clock"
	"github.com/streamsforge/streamsforge/streams"
)

var (
	recoveryRoundsFlag = flag.Int("recovery.rounds", 12, "stops and kills in each run of the recovery test")
	recoverySeeds      = flag.Uint64("recovery.seeds", 2, "runs of the recovery test")
	recoveryFirst      = flag.Uint64("recovery.first", 1, "seed of the first run")
)

// undisturbed is one entity as a run that was never stopped computes it from the recorded log: every epoch by itself.
type undisturbed struct {
	w       *worker
	deltas  map[uint64]*clock.Delta // of a table or pipeline, by epoch
	results []string                // of a pipeline, in order
	late    []string
	sums    map[uint64]map[string]int64 // rows with hidden columns, at each epoch with a change
	now     map[string]int64
	away    []absence
	held    []*zset.Batch // output of epochs that the entity was away for
}

// absence is a time in which an entity did not take part: output of epochs after from comes with epoch to.
type absence struct{ from, to uint64 }

// absences reads from the epoch log who was away when.
func (w *world) absences(head uint64) map[string][]absence {
	w.t.Helper()
	out := map[string][]absence{}
	r := streams.ReadEpochs(w.rt.env.epochs, 0)
	defer r.Stop()
	for at := uint64(0); at < head; {
		recs, err := r.Next(w.ctx())
		if err != nil {
			w.t.Fatal(err)
		}
		for _, rec := range recs {
			at = rec.Epoch
			for _, c := range rec.Joined {
				l := out[c.Kind+"/"+c.Key]
				if len(l) == 0 {
					l = []absence{{}}
				}
				l[len(l)-1].to = rec.Epoch
				out[c.Kind+"/"+c.Key] = l
			}
			for _, c := range rec.Left {
				out[c.Kind+"/"+c.Key] = append(out[c.Kind+"/"+c.Key], absence{from: c.Epoch, to: 1 << 62})
			}
		}
	}
	return out
}

// publish gives out what an epoch brought, now or when the entity is back.
func (u *undisturbed) publish(epoch uint64, b *zset.Batch) {
	for _, a := range u.away {
		if a.from < epoch && epoch < a.to {
			if b != nil && b.N > 0 {
				u.held = append(u.held, b)
			}
			return
		}
	}
	if len(u.held) > 0 {
		if b != nil {
			u.held = append(u.held, b)
		}
		b, u.held = zset.Concat(u.held...), nil
		if !u.w.def.pipeline {
			b = zset.Consolidate(b)
		}
	}
	if b == nil || b.N == 0 {
		return
	}
	u.deltas[epoch] = &clock.Delta{Prev: epoch - 1, Epoch: epoch, Schema: u.w.schema, Batch: b}
	addRows(u.now, u.w.schema, b)
	u.sums[epoch] = maps.Clone(u.now)
}

func jsonRows(s types.Schema, b *zset.Batch) []string {
	out := make([]string, b.N)
	for i := range b.N {
		out[i] = string(zset.AppendJSON(nil, s, b, i))
	}
	return out
}

// runUndisturbed feeds fresh flows with the recorded epochs, one at a time, through the same push rules and without
// anything that could be interrupted.
func (w *world) runUndisturbed() map[string]*undisturbed {
	w.t.Helper()
	ctx := w.ctx()
	env := w.rt.env
	sn, err := w.catalog.Snapshot("")
	if err != nil {
		w.t.Fatal(err)
	}
	var order []string
	all := map[string]*undisturbed{}
	for _, x := range env.wanted(sn) {
		wk, err := env.newWorker(sn, x)
		if err != nil {
			w.t.Fatal(err)
		}
		wk.flow = wk.prog.NewFlow()
		all[x.e.key] = &undisturbed{w: wk, deltas: map[uint64]*clock.Delta{}, sums: map[uint64]map[string]int64{}, now: map[string]int64{}}
		order = append(order, x.e.key)
	}
	cursors := map[string]*sourceCursor{}
	head := env.clk.Head().Epoch
	for key, away := range w.absences(head) {
		if u := all[key]; u != nil {
			u.away = away
		}
	}
	r := streams.ReadEpochs(env.epochs, 0)
	defer r.Stop()
	for at := uint64(0); at < head; {
		recs, err := r.Next(ctx)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, rec := range recs {
			if rec.Epoch > head {
				break
			}
			at = rec.Epoch
			segs := map[string][]*clock.Segment{}
			for _, s := range env.sourceList() {
				seq, ok := rec.Positions[streams.InputKey(s.name, s.stream.Incarnation())]
				if !ok {
					continue
				}
				if cursors[s.name] == nil {
					cursors[s.name] = newSourceCursor(s, 0)
				}
				got, err := cursors[s.name].upTo(ctx, seq)
				if err != nil {
					w.t.Fatal(err)
				}
				if len(got) > 0 {
					segs[s.name] = got
				}
			}
			for _, key := range order {
				all[key].step(w.t, rec, segs, all)
			}
		}
	}
	for _, c := range cursors {
		c.stop()
	}
	return all
}

func (u *undisturbed) step(t testing.TB, rec streams.EpochRecord, segs map[string][]*clock.Segment, all map[string]*undisturbed) {
	t.Helper()
	e := clock.Epoch{Tick: clock.Tick{Epoch: rec.Epoch, TimeMs: rec.TimeMs}}
	for i := range u.w.inputs {
		in := &u.w.inputs[i]
		if in.kind == engine.Source {
			if s := segs[in.name]; s != nil {
				if in.at.Incarnation == "" {
					in.at.Incarnation = s[0].Incarnation
				}
				e.Parts = append(e.Parts, clock.Part{Input: i, Segments: s})
			}
		} else if d := all[in.ent.key].deltas[rec.Epoch]; d != nil {
			e.Parts = append(e.Parts, clock.Part{Input: i, Delta: d})
		}
	}
	if len(e.Parts) == 0 && !u.w.timed {
		u.publish(rec.Epoch, nil)
		return
	}
	if err := u.w.take([]clock.Epoch{e}); err != nil {
		t.Fatal(err)
	}
	out := u.w.flow.Flush()
	if out.Late != nil {
		u.late = append(u.late, jsonRows(u.w.lateSchema, out.Late)...)
	}
	if out.Delta != nil {
		u.results = append(u.results, jsonRows(u.w.schema, out.Delta)...)
	}
	u.publish(rec.Epoch, out.Delta)
}

func addRows(m map[string]int64, s types.Schema, b *zset.Batch) {
	for i, r := range jsonRows(s, b) {
		if m[r] += b.W(i); m[r] == 0 {
			delete(m, r)
		}
	}
}

// at is the rows of a table at an epoch.
func (u *undisturbed) at(epoch uint64) map[string]int64 {
	best := uint64(0)
	for e := range u.sums {
		if e <= epoch && e > best {
			best = e
		}
	}
	return u.sums[best]
}

// compareWithUndisturbed reads every journal from its beginning and compares each state it shows with the one that an
// undisturbed run has at the same epoch, then the counters.
func (w *world) compareWithUndisturbed() {
	w.t.Helper()
	ctx := w.ctx()
	env := w.rt.env
	// Everything comes to rest first.
	for _, e := range env.entityList() {
		head := env.clk.Head().Epoch
		if err := env.clk.AwaitEpoch(ctx, e.node, head); err != nil {
			w.t.Fatalf("%s does not reach epoch %d: %v (%+v)", e.key, head, err, e.observed())
		}
	}
	all := w.runUndisturbed()
	sn, _ := w.catalog.Snapshot("")
	for _, x := range env.wanted(sn) {
		key, u := x.e.key, all[x.e.key]
		e := env.entities[key]
		st := e.stream
		end, err := st.State(ctx)
		if err != nil {
			w.t.Fatal(err)
		}
		now := map[string]int64{}
		var results []string
		epoch, next := uint64(0), uint64(1)
		err = readEntries(ctx, st, 1, end.Last, func(s streams.Stored) error {
			if s.Kind != streams.Delta {
				return nil
			}
			if s.Epoch <= epoch {
				return fmt.Errorf("epoch %d at position %d follows epoch %d", s.Epoch, s.Last, epoch)
			}
			epoch = s.Epoch
			d, err := deltaOf(s, u.w.schema)
			if err != nil {
				return err
			}
			if s.SeqNo != next {
				return fmt.Errorf("Sf-Seq is %d at position %d, want %d", s.SeqNo, s.Last, next)
			}
			if u.w.def.pipeline {
				next += uint64(d.Batch.N)
				results = append(results, jsonRows(u.w.schema, d.Batch)...)
				return nil
			}
			next++
			addRows(now, u.w.schema, d.Batch)
			if want := u.at(epoch); !maps.Equal(now, want) {
				return fmt.Errorf("rows at epoch %d: %v, an undisturbed run has %v", epoch, now, want)
			}
			return nil
		})
		if err != nil {
			w.describe(all)
			w.t.Fatalf("journal of %s (%s): %v", e.label(), key, err)
		}
		if u.w.def.pipeline {
			if !reflect.DeepEqual(results, u.results) {
				w.t.Fatalf("results of %s: %d, an undisturbed run has %d; first difference at %d", e.label(), len(results), len(u.results), firstDifference(results, u.results))
			}
			late, err := w.rt.PipelineLate(ctx, "", e.id, 1<<20)
			if err != nil {
				w.t.Fatal(err)
			}
			if len(late) != len(u.late) {
				for i := range late {
					if i == len(u.late) || string(late[i]) != u.late[i] {
						w.t.Errorf("late row %d is %s", i, late[i])
						break
					}
				}
				w.t.Fatalf("%s has %d late rows, an undisturbed run %d", e.label(), len(late), len(u.late))
			}
			for i := range late {
				if string(late[i]) != u.late[i] {
					w.t.Fatalf("late row %d of %s is %s, want %s", i, e.label(), late[i], u.late[i])
				}
			}
		} else {
			if !maps.Equal(now, u.now) {
				w.t.Fatalf("rows of %s: %v, an undisturbed run has %v", e.label(), now, u.now)
			}
			want := map[string]int64{}
			for r, n := range u.now {
				var m map[string]json.RawMessage
				_ = json.Unmarshal([]byte(r), &m)
				want[visibleJSON(u.w.prog.Output(), m)] += n
			}
			maps.DeleteFunc(want, func(_ string, n int64) bool { return n <= 0 })
			same(w.t, "served rows of "+e.label(), w.rows(e.label(), "", 0), want)
		}
		got, want := counters(e.worker()), u.w.flow.Counters()
		if u.w.def.pipeline || !reads(u.w) {
			// What a step coalesces of another table's deltas is not counted twice, so only direct readers agree.
			if got.Late != want.Late || got.WindowsClosed != want.WindowsClosed || !reflect.DeepEqual(got.RowsIn, want.RowsIn) || got.Filtered != want.Filtered {
				w.t.Fatalf("counters of %s: %+v, an undisturbed run has %+v", e.label(), got, want)
			}
		}
	}
}

// describe logs what the logs hold, for a failed comparison.
func (w *world) describe(all map[string]*undisturbed) {
	w.t.Helper()
	sn, _ := w.catalog.Snapshot("")
	for _, x := range w.rt.env.wanted(sn) {
		var b strings.Builder
		end, _ := x.e.stream.State(w.ctx())
		_ = readEntries(w.ctx(), x.e.stream, 1, end.Last, func(s streams.Stored) error {
			fmt.Fprintf(&b, " %d(%d,%d]t%d", s.Last, prevOf(s.Entry), s.Epoch, s.Term)
			for _, p := range s.Inputs {
				fmt.Fprintf(&b, " %s=%d", p.Input, p.Seq)
			}
			b.WriteByte(';')
			return nil
		})
		w.t.Logf("%s: away %v, entries%s", x.e.label(), all[x.e.key].away, b.String())
	}
}

func reads(w *worker) bool { return w.readsOthers() }

func firstDifference(a, b []string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// counters stops the worker from moving while they are read: the goroutine that owns the flow is asked between steps.
func counters(w *worker) flow.Counters {
	ch := make(chan flow.Counters, 1)
	w.probe <- func() { ch <- w.flow.Counters() }
	return <-ch
}

func visibleJSON(s types.Schema, m map[string]json.RawMessage) string {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range s {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%s", f.Name, m[f.Name])
	}
	b.WriteByte('}')
	return b.String()
}

type tick struct {
	Symbol string `json:"symbol"`
	Qty    int64  `json:"qty"`
	Ts     int64  `json:"_ts"`
}

// ticks publishes messages whose event time goes on, with some rows out of order and some that are too late.
func (w *world) ticks(r *rand.Rand, now *int64, messages int) uint64 {
	var last uint64
	for range messages {
		var rows []any
		for range 1 + r.IntN(6) {
			*now += r.Int64N(120)
			ts := *now
			if r.IntN(10) == 0 {
				ts -= r.Int64N(4000)
			}
			rows = append(rows, tick{fmt.Sprintf("s%d", r.IntN(5)), r.Int64N(100) - 20, ts})
		}
		last = w.publish("ticks", rows...)
	}
	return last
}

// damage makes the newest checkpoint of some entities unreadable, or takes all of them away.
func (w *world) damage(r *rand.Rand) {
	for _, name := range slices.Sorted(maps.Keys(w.ids)) {
		id := w.ids[name]
		key := kindTable + "/" + id
		if name == "windows" {
			key = kindPipeline + "/" + id
		}
		have, err := w.rt.checkpoints.List(key)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(have) == 0 || r.IntN(3) > 0 {
			continue
		}
		if r.IntN(4) == 0 && name != "windows" {
			if err := w.rt.checkpoints.Remove(key); err != nil {
				w.t.Fatal(err)
			}
			continue
		}
		b, err := os.ReadFile(have[0].Path)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(b) > 0 {
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		}
		if r.IntN(3) == 0 && len(b) > 0 {
			b = b[:r.IntN(len(b))]
		}
		if err := os.WriteFile(have[0].Path, b, 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
}

// TestRecoveryEqualsAnUndisturbedRun stops and kills the runtime at random moments under load, with old, damaged and
// missing checkpoints. Every state that any journal ever showed, the results of the pipeline byte for byte, the late
// rows and the counters equal a run over the same recorded log that was never disturbed.
func TestRecoveryEqualsAnUndisturbedRun(t *testing.T) {
	rounds := *recoveryRoundsFlag
	if testing.Short() {
		rounds = 4
	}
	for i := range *recoverySeeds {
		seed := *recoveryFirst + i
		t.Run(fmt.Sprint(seed), func(t *testing.T) { recoveryRounds(t, seed, rounds, 1) })
	}
}

// TestRecoveryInPartitions is the same with tables in several partitions on several goroutines, compared with a run in
// one partition. TBL-020, TBL-021: every delta is that of its epoch.
func TestRecoveryInPartitions(t *testing.T) {
	recoveryRounds(t, *recoveryFirst+100, 4, 4)
}

func recoveryRounds(t *testing.T, seed uint64, rounds, parallelism int) {
	r := rand.New(rand.NewPCG(seed, 7))
	w := newWorld(t, func(o *Options) { o.CheckpointEvery, o.spreadRows = 4*time.Millisecond, 1 })
	w.parallelism = parallelism
	w.bank()
	w.source("ticks", field("symbol", types.String), field("qty", types.Long))
	w.table("sums", "SELECT symbol, COUNT(*) AS n, SUM(qty) AS total, MIN(qty) AS low, MAX(qty) AS high FROM ticks WHERE qty > 0 GROUP BY symbol")
	w.table("newest", "SELECT symbol, qty FROM ticks LATEST BY (symbol)")
	w.table("over", "SELECT n, COUNT(*) AS symbols, SUM(total) AS total FROM sums GROUP BY n")
	w.pipeline("windows", "SELECT symbol, COUNT(*) AS n, SUM(qty) AS total FROM ticks GROUP BY symbol WINDOW TUMBLING(SIZE 1 SECONDS)")
	w.table("folded", "SELECT symbol, SUM(total) AS total, COUNT(*) AS windows FROM windows GROUP BY symbol")
	w.await("everything to join", func() bool { done, of := w.rt.Restored(); return done == of })
	now := time.Now().UnixMilli()
	var ticks, transfers uint64
	for range rounds {
		for range 1 + r.IntN(3) {
			ticks = w.ticks(r, &now, r.IntN(40))
			for range r.IntN(20) {
				transfers = w.publish("transfers", randomTransfers(r, 1+r.IntN(5))...)
			}
		}
		switch r.IntN(6) {
		case 4, 5: // one of them fails for a while, and its dependents go on with its last state
			name := []string{"credits", "debits", "balances", "sums", "newest"}[r.IntN(5)]
			e := w.rt.env.entity(kindTable, w.ids[name])
			w.await(name+" to be there", func() bool { wk := e.worker(); return wk != nil && wk.stats.live.Load() })
			w.failWorker(name)
			transfers = w.publish("transfers", randomTransfers(r, 3)...)
			ticks = w.ticks(r, &now, 3)
			if r.IntN(2) == 0 {
				w.rt.abandon()
				w.damage(r)
				w.start()
			} else {
				w.startTable(name)
			}
		case 0:
			w.stop()
		case 1:
			w.kill()
		case 2:
			w.rt.abandon()
			w.damage(r)
			w.start()
		case 3: // twice in a row, while it is still recovering
			w.kill()
			w.kill()
		}
	}
	transfers = max(transfers, w.publish("transfers", randomTransfers(r, 3)...))
	ticks = max(ticks, w.ticks(r, &now, 5))
	w.rows("sums", "ticks", ticks)
	w.rows("folded", "ticks", ticks)
	w.rows("total", "transfers", transfers)
	w.compareWithUndisturbed()
}
