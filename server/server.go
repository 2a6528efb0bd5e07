package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/streamsforge/streamsforge/access"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/config"
	"github.com/streamsforge/streamsforge/server/intake"
	"github.com/streamsforge/streamsforge/server/runtime"
	"github.com/streamsforge/streamsforge/server/view"
	"github.com/streamsforge/streamsforge/streams"

	// The connector kinds and the functions of this build.
	_ "github.com/streamsforge/streamsforge/connectors/standard"
	_ "github.com/streamsforge/streamsforge/engine/pricing"
)

// drainTimeout bounds an ordered stop. What has not stopped by then is left to the
// recovery of the next start, which loses nothing either.
const drainTimeout = 30 * time.Second

// Options configure a Server.
type Options struct {
	// Settings are the configuration; start from config.Default or config.Load.
	Settings config.Settings
	// Logger receives what the server has to say; nil discards it.
	Logger *slog.Logger
	// Started, when set, is called once the server takes requests.
	Started func(Started)
}

// Server is one StreamsForge server. Run it once.
type Server struct {
	settings config.Settings
	logger   *slog.Logger
	started  func(Started)

	gate   *gate
	steps  []step
	passed atomic.Int32 // how many steps of the start are done
	ran    atomic.Bool
	// wasRestored is set once everything that ran before has caught up.
	wasRestored atomic.Bool

	// failed receives the first error of a component that ends by itself.
	failed chan error
	ready  chan struct{}
	report Started

	// What the steps make, in their order.
	listener  net.Listener
	log       *streams.Server
	identity  identity
	buckets   *buckets
	catalog   *catalog.Store
	access    *access.Service
	runtime   *runtime.Runtime
	intake    *intake.Intake
	nats      natsAuth
	lifecycle *lifecycle
	registry  *prometheus.Registry
	startedAt time.Time
	demo      demoLogins
}

// step is one entry of the start. What it starts, its stop ends.
type step struct {
	name  string
	start func(ctx context.Context) error
	stop  func(ctx context.Context) error
}

// New checks the options and touches nothing else.
func New(o Options) (*Server, error) {
	s := &Server{settings: o.Settings, logger: o.Logger, started: o.Started, failed: make(chan error, 1), ready: make(chan struct{})}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	if s.settings.Streams.Storage == "" {
		return nil, errors.New("the settings are empty: start from config.Default()")
	}
	if s.settings.Version == "" {
		s.settings.Version = Version()
	}
	if s.inMemory() {
		s.settings.DataDir = ""
	} else if dir, err := filepath.Abs(s.settings.DataDir); err == nil {
		s.settings.DataDir = dir
	}
	s.gate = newGate(s.checks)
	s.lifecycle = newLifecycle(s.logger)
	s.registry = newRegistry(&s.settings)
	s.steps = []step{
		{"port", s.openPort, nil},
		{"log", s.openLog, nil},
		{"identity", s.openIdentity, nil},
		{"buckets", s.openBuckets, nil},
		{"catalog", s.openCatalog, nil},
		{"access", s.openAccess, nil},
		{"demo world", s.plant, nil},
		{"tables and pipelines", s.startRuntime, nil},
		{"sources", s.startIntake, nil},
		{"requests", s.openGate, s.closeGate},
	}
	return s, nil
}

func (s *Server) inMemory() bool { return s.settings.Streams.Storage == streams.StorageMemory }

// Run starts the server, serves until ctx ends, and drains: no new requests, no new rows,
// every worker commits and checkpoints, the log closes. It returns ctx's error then, the
// cause when the server cannot start or a part of it fails.
func (s *Server) Run(ctx context.Context) error {
	if !s.ran.CompareAndSwap(false, true) {
		return errors.New("a Server runs once; make a new one")
	}
	s.startedAt = time.Now()
	err := s.start(ctx)
	if err == nil {
		close(s.ready)
		if s.started != nil {
			s.started(s.report)
		}
		select {
		case <-ctx.Done():
			err = ctx.Err()
			s.logger.Info("stopping: requests and sources first, then tables and pipelines, then the log")
		case err = <-s.failed:
			s.logger.Error("stopping after a failure", "error", err)
		}
	}
	stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	if stopErr := s.stop(stopCtx); stopErr != nil {
		return errors.Join(err, stopErr)
	}
	return err
}

// Ready is closed once the server takes requests.
func (s *Server) Ready() <-chan struct{} { return s.ready }

// Started says where everything is; it is complete once Ready is closed.
func (s *Server) Started() Started { return s.report }

func (s *Server) start(ctx context.Context) error {
	for _, st := range s.steps {
		began := time.Now()
		if err := st.start(ctx); err != nil {
			var setting *streams.SettingError
			if errors.As(err, &setting) || errors.Is(err, context.Canceled) {
				return err
			}
			return fmt.Errorf("start %s: %w", st.name, err)
		}
		s.logger.Debug("started", "part", st.name, "ms", time.Since(began).Milliseconds())
		s.passed.Add(1)
	}
	return nil
}

// stop ends what was started, in reverse order.
func (s *Server) stop(ctx context.Context) error {
	var errs []error
	for i := int(s.passed.Load()) - 1; i >= 0; i-- {
		st := s.steps[i]
		if st.stop == nil {
			continue
		}
		if err := st.stop(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", st.name, err))
		}
	}
	return errors.Join(errs...)
}

// checks are the parts of the start, and whether tables and pipelines are where they were.
func (s *Server) checks() []view.Check {
	passed := int(s.passed.Load())
	out := make([]view.Check, 0, len(s.steps)+1)
	for i, st := range s.steps {
		c := view.Check{Name: st.name, OK: i < passed}
		if i == passed {
			c.Progress = "starting " + st.name
		}
		out = append(out, c)
	}
	return append(out, s.restored(passed == len(s.steps)))
}

// restored is the check that what ran before runs again. It holds for good once it has
// held: a table that is built later is not a reason to send requests elsewhere.
func (s *Server) restored(started bool) view.Check {
	c := view.Check{Name: "restored", OK: s.wasRestored.Load()}
	if c.OK || !started {
		return c
	}
	done, of := s.runtime.Restored()
	if done == of {
		s.wasRestored.Store(true)
		c.OK = true
		return c
	}
	c.Progress = fmt.Sprintf("%d of %d tables and pipelines restored", done, of)
	return c
}

// background runs a component until its stop, and makes the server fail when it ends
// before. The stop that it returns waits.
func (s *Server) background(name string, run func(ctx context.Context) error) (stop func(ctx context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		err := run(ctx)
		if ctx.Err() == nil {
			if err == nil {
				err = errors.New("it ended by itself")
			}
			s.fail(fmt.Errorf("%s: %w", name, err))
		}
		done <- err
	}()
	var once sync.Once
	var result error
	return func(wait context.Context) error {
		once.Do(func() {
			cancel()
			select {
			case err := <-done:
				if err != nil && !errors.Is(err, context.Canceled) {
					result = err
				}
			case <-wait.Done():
				result = fmt.Errorf("it did not stop in %s", drainTimeout)
			}
		})
		return result
	}
}

func (s *Server) fail(err error) {
	select {
	case s.failed <- err:
	default: // the first failure stops the server; later ones follow from it
	}
}

// stopsWith sets the stop of the step that is being started.
func (s *Server) stopsWith(stop func(ctx context.Context) error) {
	s.steps[s.passed.Load()].stop = stop
}

func closeHTTP(ctx context.Context, srv *http.Server) error {
	if err := srv.Shutdown(ctx); err != nil {
		return errors.Join(err, srv.Close())
	}
	return nil
}
