package streams_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/streamsforge/streamsforge/streams"
	"github.com/streamsforge/streamsforge/streams/streamstest"
)

// entryOf is what the killed writer stores for an epoch: every third entry is split into an atomic batch.
func entryOf(epoch uint64) streams.Entry {
	size := 1000
	if epoch%3 == 0 {
		size = 300 << 10
	}
	return streams.Entry{Epoch: epoch, Data: bytes.Repeat([]byte{byte(epoch)}, size)}
}

const killedPayload = 64 << 10

// writeUntilKilled appends and says each acknowledged epoch.
func writeUntilKilled(t *testing.T, dir string) {
	s := must(streams.Open(t.Context(), streams.Options{DataDir: dir, MaxPayload: killedPayload}))(t)
	st := must(s.EnsureTable(t.Context(), "default", "t", "t", streams.Limits{}))(t)
	j := must(streams.OpenJournal(t.Context(), st, 0))(t)
	last, _ := j.Last()
	for epoch := last.Epoch + 1; ; epoch++ {
		must(j.Append(t.Context(), entryOf(epoch)))(t)
		fmt.Fprintln(os.Stdout, "acked", epoch)
	}
}

// A process that is killed at any moment loses no acknowledged entry, and leaves no half of one.
func TestKilledWriter(t *testing.T) {
	if dir := os.Getenv("STREAMS_TEST_WRITE"); dir != "" {
		writeUntilKilled(t, dir)
	}
	dir := t.TempDir()
	for round := range 4 {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledWriter$")
		cmd.Env = append(os.Environ(), "STREAMS_TEST_WRITE="+dir)
		out := must(cmd.StdoutPipe())(t)
		ok(t, cmd.Start())
		acked := uint64(0)
		lines := bufio.NewScanner(out)
		kill := time.Time{}
		for lines.Scan() {
			n, is := bytes.CutPrefix(lines.Bytes(), []byte("acked "))
			if !is {
				t.Fatalf("round %d: the writer says %q", round, lines.Text())
			}
			acked = must(strconv.ParseUint(string(n), 10, 64))(t)
			if kill.IsZero() {
				kill = time.Now().Add(time.Duration(30+20*round) * time.Millisecond)
			} else if time.Now().After(kill) {
				ok(t, cmd.Process.Kill())
				kill = time.Now().Add(time.Hour)
			}
		}
		_ = cmd.Wait()

		s := streamstest.OpenDir(t, dir, func(o *streams.Options) { o.MaxPayload = killedPayload })
		st := must(s.EnsureTable(t.Context(), "default", "t", "t", streams.Limits{}))(t)
		j := must(streams.OpenJournal(t.Context(), st, 0))(t)
		last, _ := j.Last()
		if last.Epoch < acked || last.Epoch > acked+1 {
			t.Fatalf("round %d: the journal ends at epoch %d, %d was acknowledged", round, last.Epoch, acked)
		}
		entries := streamstest.Entries(t, st, 1, j.End())
		if len(entries) != int(last.Epoch) {
			t.Fatalf("round %d: %d entries up to epoch %d", round, len(entries), last.Epoch)
		}
		for i, e := range entries {
			if want := entryOf(uint64(i + 1)); e.Epoch != want.Epoch || !bytes.Equal(e.Data, want.Data) {
				t.Fatalf("round %d: entry %d is of epoch %d with %d bytes", round, i, e.Epoch, len(e.Data))
			}
		}
		streamstest.Close(t, s)
	}
}
