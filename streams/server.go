package streams

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// headerRoom is added to the payload limit of the server, so that a row of exactly Nats:MaxPayload bytes still fits
// with its headers. It is the largest header block that JetStream stores.
const headerRoom = 64 << 10

// asyncWindow is how many publishes may wait for an acknowledgement on one connection; beyond about a thousand the
// server only queues.
const asyncWindow = 1024

// authTimeout is how long the server waits for a connection to say who it is, in seconds; the check of a password may
// take a while when many come at once.
const authTimeout = 10

// Server is the embedded log: a NATS server, the lock on its directory, and the connections of this process.
//
// Work of different kinds has connections of its own, because one connection is one ordered byte stream: a
// backfill of gigabytes must not stand before the acknowledgement of a commit.
type Server struct {
	opts   Options
	unlock func() error
	ns     *server.Server
	guard  *guard
	gate   *gate // nil without a listener

	overflows struct {
		sync.Mutex
		by map[string]uint64
	}

	system  *nats.Conn // key-value buckets, services, everything of the callers
	commits *nats.Conn // fenced appends and short requests
	ingest  *nats.Conn // rows on their way in
	readers readerPool

	js       jetstream.JetStream // on system
	commitJS jetstream.JetStream
	ingestJS jetstream.JetStream

	quit   chan struct{} // closed when Close begins: waiting readers and appends end
	ending sync.Once
	once   sync.Once
	err    error // of Close
}

// Open locks the data directory, starts the server, waits until it has recovered its streams, and connects to it. A
// failure that a setting can remedy is a [*SettingError].
func Open(ctx context.Context, o Options) (*Server, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	s := &Server{opts: o, unlock: func() error { return nil }, quit: make(chan struct{})}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

func (s *Server) start(ctx context.Context) error {
	storeDir, err := s.prepareDir()
	if err != nil {
		return err
	}
	listener, err := listen(ctx, s.opts.Listen)
	if err != nil {
		return err
	}
	s.guard = newGuard(s.opts)
	if listener != nil {
		s.gate = &gate{listener: listener, guard: s.guard, limit: s.opts.MaxPayload + headerRoom, log: s.opts.Logger}
	}
	so := &server.Options{
		ServerName: "streamsforge", DontListen: true, Port: -1, AuthTimeout: authTimeout,
		NoSigs: true, DisableJetStreamBanner: true,
		MaxPayload: int32(s.opts.MaxPayload + headerRoom),
		JetStream:  true, StoreDir: storeDir,
		JetStreamMaxMemory: s.opts.MaxMemory, JetStreamMaxStore: s.opts.MaxStore,
		JetStreamLimits:            server.JSLimitOpts{DefaultMaxConsumers: -1},
		StreamMaxBufferedMsgs:      s.opts.queue,
		SyncAlways:                 s.opts.Sync == SyncAlways,
		SyncInterval:               s.opts.SyncInterval,
		CustomClientAuthentication: s.guard,
	}
	ns, err := server.NewServer(so)
	if err != nil {
		return fmt.Errorf("configure the NATS server: %w", err)
	}
	s.ns = ns
	log := &serverLog{log: s.opts.Logger, fatal: make(chan string, 1), violation: s.guard.violation, overflow: s.overflow}
	ns.SetLoggerV2(log, s.opts.Logger.Enabled(ctx, slog.LevelDebug), false, false)
	go ns.Start()
	if err := s.awaitReady(ctx, log.fatal); err != nil {
		return err
	}
	if err := s.connect(); err != nil {
		return err
	}
	s.guard.kick = ns.DisconnectClientByID
	if s.gate != nil {
		s.gate.dial = ns.InProcessConn
		s.gate.open()
	}
	return nil
}

// prepareDir creates and locks the data directory. Streams in memory still get a directory from JetStream, for
// consumer files that never come to be; it is a temporary one when the caller has none.
func (s *Server) prepareDir() (string, error) {
	dir := s.opts.DataDir
	if dir == "" {
		tmp, err := os.MkdirTemp("", "streamsforge-")
		if err != nil {
			return "", fmt.Errorf("make a temporary directory: %w", err)
		}
		s.unlock = func() error { return os.RemoveAll(tmp) }
		return tmp, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", &SettingError{"DataDir", dir, err, "make the directory writable, or set another DataDir"}
	}
	unlock, err := lockDir(dir)
	if err != nil {
		return "", err
	}
	s.unlock = unlock
	return dir, nil
}

// listen takes the address before anything else is begun, so that a taken port costs no recovery. Clients wait in the
// queue of the listener until the server is ready.
func listen(ctx context.Context, address string) (net.Listener, error) {
	if address == "" {
		return nil, nil
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, &SettingError{"Nats:Listen", address, err, "use host:port, or nothing for in-process connections only"}
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, &SettingError{"Nats:Listen", address, fmt.Errorf("cannot listen: %w", err), "stop what uses the address, or set another Nats:Listen"}
	}
	return l, nil
}

// awaitReady waits for the recovery of the streams and for the listener: a dial before that loses messages.
func (s *Server) awaitReady(ctx context.Context, fatal <-chan string) error {
	deadline := time.Now().Add(s.opts.ReadyTimeout)
	for !s.ns.ReadyForConnections(50 * time.Millisecond) {
		select {
		case reason := <-fatal:
			return fmt.Errorf("start the NATS server in %s: %s", s.opts.DataDir, reason)
		case <-ctx.Done():
			return ctx.Err()
		default:
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("start the NATS server in %s: the streams are not recovered after %v", s.opts.DataDir, s.opts.ReadyTimeout)
		}
	}
	return nil
}

func (s *Server) connect() (err error) {
	for _, c := range []struct {
		name string
		conn **nats.Conn
		js   *jetstream.JetStream
	}{
		{"system", &s.system, &s.js},
		{"commits", &s.commits, &s.commitJS},
		{"ingest", &s.ingest, &s.ingestJS},
	} {
		if *c.conn, err = s.dial(c.name); err != nil {
			return err
		}
		*c.js, err = jetstream.New(*c.conn, jetstream.WithPublishAsyncMaxPending(asyncWindow),
			jetstream.WithPublishAsyncTimeout(s.opts.AckTimeout), jetstream.WithDefaultTimeout(s.opts.AckTimeout))
		if err != nil {
			return fmt.Errorf("connect to the NATS server: %w", err)
		}
	}
	return s.readers.open(s.dial)
}

// dial opens one more connection of this process, with all rights.
func (s *Server) dial(name string) (*nats.Conn, error) {
	c, err := nats.Connect("", nats.InProcessServer(s.ns), nats.Name("streamsforge-"+name),
		nats.UserInfo(s.guard.systemUser, s.guard.systemPassword),
		nats.NoReconnect(), // The server lives in this process: a lost connection is a closed server.
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) {
			subject := ""
			if sub != nil {
				subject = sub.Subject
			}
			s.opts.Logger.Warn("nats: connection "+name, "subject", subject, "error", err)
		}))
	if err != nil {
		return nil, fmt.Errorf("connect to the NATS server in this process: %w", err)
	}
	return c, nil
}

// Conn is the connection for services and core messages of the callers.
func (s *Server) Conn() *nats.Conn { return s.system }

// JetStream is the API for key-value buckets and object stores of the callers.
func (s *Server) JetStream() jetstream.JetStream { return s.js }

// MaxPayload is the largest row in bytes: Nats:MaxPayload.
func (s *Server) MaxPayload() int { return s.opts.MaxPayload }

// Storage is the storage of the server's streams: file or memory.
func (s *Server) Storage() string { return s.opts.Storage }

// Address is where the listener accepts external clients; empty when there is none.
func (s *Server) Address() string {
	if s.gate == nil {
		return ""
	}
	return s.gate.listener.Addr().String()
}

// Recheck makes the live connections of a user, or of all users when it is empty, prove their rights again. The
// server cannot change the rights of a connection, so one that has lost a right is closed; a client reconnects by
// itself and gets its new rights, or is refused. One that would only gain rights stays, and gets them when it
// connects again. See [Refresher].
func (s *Server) Recheck(user string) { s.guard.recheck(user) }

// Overflows counts, for each stream, the reports of the server that it was sent more than it could store and that
// messages were refused. A report stands for any number of messages, and comes at most every few seconds. A publisher
// that waits for acknowledgements gets ErrBusy for each of them; a core publisher learns nothing.
func (s *Server) Overflows() map[string]uint64 {
	s.overflows.Lock()
	defer s.overflows.Unlock()
	return maps.Clone(s.overflows.by)
}

func (s *Server) overflow(stream string) {
	s.overflows.Lock()
	defer s.overflows.Unlock()
	if s.overflows.by == nil {
		s.overflows.by = map[string]uint64{}
	}
	s.overflows.by[stream]++
}

// Close drains the connections of this process, shuts the server down with its index files written, and releases
// the directory. It can be called more than once; every call waits. When ctx ends first, the drain is cut short.
func (s *Server) Close(ctx context.Context) error {
	s.once.Do(func() {
		s.drain(ctx)
		s.err = s.stop()
	})
	return s.err
}

// drain lets what was published reach the server.
func (s *Server) drain(ctx context.Context) {
	for _, js := range []jetstream.JetStream{s.commitJS, s.ingestJS, s.js} {
		if js == nil {
			continue
		}
		select {
		case <-js.PublishAsyncComplete():
		case <-ctx.Done():
		}
	}
	for _, c := range []*nats.Conn{s.commits, s.ingest, s.system} {
		if c != nil && ctx.Err() == nil {
			_ = c.FlushWithContext(ctx)
		}
	}
}

// stop ends everything that start has begun, in reverse order.
func (s *Server) stop() error {
	s.ending.Do(func() { close(s.quit) })
	s.readers.close()
	for _, c := range []*nats.Conn{s.ingest, s.commits, s.system} {
		if c != nil {
			c.Close()
		}
	}
	if s.ns != nil {
		s.ns.Shutdown()
		s.ns.WaitForShutdown()
	}
	if s.gate != nil {
		s.gate.close()
	}
	if s.guard != nil {
		s.guard.close()
	}
	return s.unlock()
}

func (s *Server) isClosed() bool {
	select {
	case <-s.quit:
		return true
	default:
		return false
	}
}
