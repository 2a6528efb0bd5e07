package streams_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsforge/streamsforge/streams"
	"github.com/streamsforge/streamsforge/streams/streamstest"
)

// refused opens a server that must not start, and returns what the person reads.
func refused(t *testing.T, key string, o streams.Options) string {
	t.Helper()
	s, err := streams.Open(t.Context(), o)
	if err == nil {
		streamstest.Close(t, s)
		t.Fatalf("the server has started, want a refusal that names %s", key)
	}
	var se *streams.SettingError
	if !errors.As(err, &se) || se.Key != key || !strings.Contains(err.Error(), key) || se.Hint == "" {
		t.Fatalf("error %v, want one that names %s and what to do", err, key)
	}
	return err.Error()
}

func TestOpenRefusesALockedDirectory(t *testing.T) {
	dir := t.TempDir()
	streamstest.Open(t, func(o *streams.Options) { o.DataDir = dir })
	text := refused(t, "DataDir", streams.Options{DataDir: dir})
	for _, want := range []string{dir, "process " + strconv.Itoa(os.Getpid())} {
		if !strings.Contains(text, want) {
			t.Errorf("%q does not say %q", text, want)
		}
	}
}

// The lock is held by the process, not by a file that exists: a killed process leaves nothing behind.
func TestOpenTakesADirectoryWhoseOwnerWasKilled(t *testing.T) {
	if os.Getenv("STREAMS_TEST_HOLD") != "" {
		s, err := streams.Open(t.Context(), streams.Options{DataDir: os.Getenv("STREAMS_TEST_HOLD")})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(os.Stdout, "holding")
		<-s.Conn().StatusChanged() // Never: the process is killed.
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOpenTakesADirectoryWhoseOwnerWasKilled$")
	cmd.Env = append(os.Environ(), "STREAMS_TEST_HOLD="+dir)
	out := must(cmd.StdoutPipe())(t)
	ok(t, cmd.Start())
	line := make([]byte, len("holding"))
	if _, err := out.Read(line); err != nil || string(line) != "holding" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	if text := refused(t, "DataDir", streams.Options{DataDir: dir}); !strings.Contains(text, "process "+strconv.Itoa(cmd.Process.Pid)) {
		t.Errorf("%q does not name process %d", text, cmd.Process.Pid)
	}
	ok(t, cmd.Process.Kill())
	_ = cmd.Wait()
	streamstest.Open(t, func(o *streams.Options) { o.DataDir = dir })
}

func TestOpenRefusesATakenPort(t *testing.T) {
	l := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	if text := refused(t, "Nats:Listen", streams.Options{DataDir: t.TempDir(), Listen: l.Addr().String()}); !strings.Contains(text, l.Addr().String()) {
		t.Errorf("%q does not name the address", text)
	}
}

func TestOpenRefusesBadValues(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	ok(t, os.WriteFile(file, nil, 0o600))
	for _, c := range []struct {
		key    string
		change func(*streams.Options)
	}{
		{"Nats:Listen", func(o *streams.Options) { o.Listen = "nonsense" }},
		{"Nats:Listen", func(o *streams.Options) { o.Listen = "127.0.0.1:99999" }},
		{"Streams:Sync", func(o *streams.Options) { o.Sync = "sometimes" }},
		{"Streams:SyncIntervalMs", func(o *streams.Options) { o.SyncInterval = -1 }},
		{"Streams:Storage", func(o *streams.Options) { o.Storage = "tape" }},
		{"Nats:MaxPayload", func(o *streams.Options) { o.MaxPayload = 1 }},
		{"Nats:MaxPayload", func(o *streams.Options) { o.MaxPayload = 1 << 30 }},
		{"DataDir", func(o *streams.Options) { o.DataDir = "" }},
		{"DataDir", func(o *streams.Options) { o.DataDir = filepath.Join(file, "below") }},
	} {
		o := streams.Options{DataDir: t.TempDir()}
		c.change(&o)
		refused(t, c.key, o)
	}
}

func TestOpenRefusesAnUnwritableDirectory(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root writes everywhere")
	}
	dir := t.TempDir()
	ok(t, os.Chmod(dir, 0o500))
	refused(t, "DataDir", streams.Options{DataDir: dir})
}

func TestRestartKeepsMessagesPositionsAndIncarnation(t *testing.T) {
	dir := t.TempDir()
	var incarnation string
	for start := range uint64(3) {
		s := streamstest.Open(t, func(o *streams.Options) { o.DataDir = dir })
		st := must(s.EnsureSource(t.Context(), "default", "a", streams.Limits{}))(t)
		if incarnation == "" {
			incarnation = st.Incarnation()
		}
		if st.Incarnation() != incarnation {
			t.Fatalf("incarnation %s after %d restarts, want %s", st.Incarnation(), start, incarnation)
		}
		if state := must(st.State(t.Context()))(t); state.Last != 10*start {
			t.Fatalf("the stream ends at %d after %d restarts", state.Last, start)
		}
		for i := range uint64(10) {
			if seq := must(st.Publish(t.Context(), []byte("row"), nil))(t); seq != 10*start+i+1 {
				t.Fatalf("position %d, want %d", seq, 10*start+i+1)
			}
		}
		streamstest.Close(t, s)
	}
}

// Everything that was acknowledged, or sent before Close, is there afterwards.
func TestCloseDrainsPublishes(t *testing.T) {
	dir := t.TempDir()
	s := streamstest.Open(t, func(o *streams.Options) { o.DataDir = dir })
	st := must(s.EnsureSource(t.Context(), "default", "a", streams.Limits{}))(t)
	const n = 3000
	for range n {
		must(st.PublishAsync(t.Context(), []byte("row"), nil))(t)
	}
	streamstest.Close(t, s)
	s = streamstest.Open(t, func(o *streams.Options) { o.DataDir = dir })
	st = must(s.EnsureSource(t.Context(), "default", "a", streams.Limits{}))(t)
	if state := must(st.State(t.Context()))(t); state.Messages != n {
		t.Fatalf("%d messages, want %d", state.Messages, n)
	}
}

func TestCloseIsIdempotentAndWakesReaders(t *testing.T) {
	s := streamstest.Open(t)
	st := must(s.EnsureSource(t.Context(), "default", "a", streams.Limits{}))(t)
	var wg sync.WaitGroup
	waiting := make(chan struct{})
	wg.Go(func() {
		r := st.Read(1, streams.ReadOptions{})
		close(waiting)
		if _, err := r.Next(context.Background()); !errors.Is(err, streams.ErrClosed) {
			t.Errorf("a waiting reader gets %v, want ErrClosed", err)
		}
	})
	<-waiting
	for range 3 {
		wg.Go(func() { streamstest.Close(t, s) })
	}
	wg.Wait()
	if _, err := st.Publish(t.Context(), nil, nil); !errors.Is(err, streams.ErrClosed) {
		t.Errorf("publish after close: %v, want ErrClosed", err)
	}
}

func TestOpenStopsWhenItsContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	if s, err := streams.Open(ctx, streams.Options{DataDir: dir}); err == nil {
		streamstest.Close(t, s) // The server was ready at the first look.
	}
	streamstest.Open(t, func(o *streams.Options) { o.DataDir = dir }) // The directory is free either way.
}

// A stream has 1,000 consumers by default; an environment has more readers.
func TestMoreThanAThousandConsumers(t *testing.T) {
	s := streamstest.Open(t, func(o *streams.Options) { o.Storage = streams.StorageMemory })
	st := must(s.EnsureSource(t.Context(), "default", "a", streams.Limits{}))(t)
	js := must(s.JetStream().Stream(t.Context(), st.Name()))(t)
	for i := range 1010 {
		_, err := js.CreateConsumer(t.Context(), jetstream.ConsumerConfig{
			Name: fmt.Sprint("c", i), AckPolicy: jetstream.AckNonePolicy, InactiveThreshold: time.Minute, MemoryStorage: true,
		})
		if err != nil {
			t.Fatalf("consumer %d: %v", i+1, err)
		}
	}
}

func TestARowOfMaxPayloadFits(t *testing.T) {
	s := streamstest.Open(t, func(o *streams.Options) { o.MaxPayload = 1 << 20 })
	st := must(s.EnsureSource(t.Context(), "default", "a", streams.Limits{}))(t)
	row := bytes.Repeat([]byte("x"), 1<<20)
	h := nats.Header{"Content-Type": {"application/json"}, "Long": {strings.Repeat("y", 1000)}}
	must(st.Publish(t.Context(), row, h))(t)
	if _, err := st.Publish(t.Context(), append(row, 'x'), nil); !errors.Is(err, streams.ErrTooLarge) || !strings.Contains(err.Error(), "Nats:MaxPayload") {
		t.Fatalf("one byte more: %v, want ErrTooLarge that names Nats:MaxPayload", err)
	}
	msgs, err := readAll(t.Context(), st.Read(1, streams.ReadOptions{Until: 1, MaxBytes: 1000}))
	ok(t, err)
	if len(msgs) != 1 || !bytes.Equal(msgs[0].Data, row) || msgs[0].Header.Get("Content-Type") != "application/json" {
		t.Fatal("the row came back changed")
	}
}

func TestMemoryStorageNeedsNoDirectory(t *testing.T) {
	s := must(streams.Open(t.Context(), streams.Options{Storage: streams.StorageMemory}))(t)
	st := must(s.EnsureSource(t.Context(), "default", "a", streams.Limits{MaxBytes: 1 << 30}))(t)
	if !st.Memory() {
		t.Error("the stream says that it is on disk")
	}
	must(st.Publish(t.Context(), []byte("row"), nil))(t)
	for i := range 50 { // The limits of many streams exceed any memory; what counts is what they hold.
		must(s.EnsureSource(t.Context(), "default", fmt.Sprint("b", i), streams.Limits{MaxBytes: 1 << 30}))(t)
	}
	streamstest.Close(t, s)
}

func TestTheServerHasNoListenerOfItsOwn(t *testing.T) {
	s := streamstest.Open(t, func(o *streams.Options) { o.Listen = "127.0.0.1:0" })
	if s.Address() == "" || strings.HasSuffix(s.Address(), ":0") {
		t.Fatalf("address %q", s.Address())
	}
	if _, err := nats.Connect("nats://" + s.Address()); !errors.Is(err, nats.ErrAuthorization) {
		t.Fatalf("a client without credentials gets %v, want an authorization error", err)
	}
	if quiet := streamstest.Open(t); quiet.Address() != "" {
		t.Fatalf("a server without Nats:Listen listens on %s", quiet.Address())
	}
}

// A start on a fresh directory has nothing to warn of.
func TestAStartIsQuiet(t *testing.T) {
	var log bytes.Buffer
	s := streamstest.Open(t, func(o *streams.Options) {
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelInfo}))
	})
	streamstest.Close(t, s)
	if log.Len() > 0 {
		t.Errorf("the start and the end say:\n%s", log.String())
	}
}
