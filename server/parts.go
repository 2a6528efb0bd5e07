package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/streamsforge/streamsforge/access"
	"github.com/streamsforge/streamsforge/connectors"
	"github.com/streamsforge/streamsforge/httpapi"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/config"
	"github.com/streamsforge/streamsforge/server/intake"
	"github.com/streamsforge/streamsforge/server/runtime"
	"github.com/streamsforge/streamsforge/server/seed"
	"github.com/streamsforge/streamsforge/streams"
	"github.com/streamsforge/streamsforge/web"
)

// openPort takes the REST port first: it is the quickest thing to refuse, and from here on
// probes are told that the server is starting.
func (s *Server) openPort(ctx context.Context) error {
	l, err := listenHTTP(ctx, &s.settings)
	if err != nil {
		return err
	}
	scheme := "http"
	secure, err := loadTLS(&s.settings)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	if secure != nil {
		l, scheme = tls.NewListener(l, secure), "https"
	}
	s.listener = l
	s.report.REST = scheme + "://" + reachable(l.Addr().String())
	s.report.Version = s.settings.Version
	srv := httpServer(s.gate, s.logger)
	srv.BaseContext = func(net.Listener) context.Context { return s.gate.base }
	served := s.background("REST", func(context.Context) error { return srv.Serve(l) })
	s.stopsWith(func(ctx context.Context) error {
		err := closeHTTP(ctx, srv)
		if serr := served(ctx); serr != nil && !errors.Is(serr, http.ErrServerClosed) {
			err = errors.Join(err, serr)
		}
		return err
	})
	return nil
}

// reachable is an address that a browser on this machine can open.
func reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip := net.ParseIP(host); ip != nil && (ip.IsUnspecified() || ip.IsLoopback()) {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}

// openLog locks the data directory and starts the embedded NATS server.
func (s *Server) openLog(ctx context.Context) error {
	sync := streams.SyncInterval
	if s.settings.Streams.SyncAlways() {
		sync = streams.SyncAlways
	}
	log, err := streams.Open(ctx, streams.Options{
		DataDir: s.settings.DataDir, Listen: s.settings.Nats.Listen, MaxPayload: s.settings.Nats.MaxPayload,
		Sync: sync, SyncInterval: s.settings.Streams.SyncInterval, Storage: s.settings.Streams.Storage,
		Auth: &s.nats, Violations: s.violation, Logger: s.logger,
	})
	if err != nil {
		return err
	}
	s.log = log
	s.report.NATS, s.report.DataDir = log.Address(), s.settings.DataDir
	s.stopsWith(log.Close)
	return nil
}

func (s *Server) violation(v streams.Violation) {
	op := "subscribe"
	if v.Publish {
		op = "publish"
	}
	s.logger.Warn("nats: refused by permission", "user", v.User, "remote", v.Remote, "operation", op, "subject", v.Subject)
}

func (s *Server) openIdentity(context.Context) (err error) {
	s.identity, err = loadIdentity(s.settings.DataDir)
	return err
}

func (s *Server) openBuckets(ctx context.Context) (err error) {
	if s.buckets, err = openBuckets(ctx, s.log); err != nil {
		return err
	}
	s.lifecycle.log = s.log
	s.stopsWith(s.background("lifecycle events", s.lifecycle.run))
	return nil
}

func (s *Server) openCatalog(ctx context.Context) (err error) {
	s.catalog, err = catalog.Open(ctx, catalog.Options{
		Bucket: catalog.KV(s.buckets.definitions), IdleMs: s.settings.Pipelines.Idle.Milliseconds(),
		StrictNotIn: s.settings.SQL.StrictNotIn, Publish: s.lifecycle.publish, Logger: s.logger,
	})
	return err
}

func (s *Server) openAccess(ctx context.Context) error {
	key, err := signingKey(s.settings.DataDir, s.settings.JWT.Key)
	if err != nil {
		return err
	}
	s.access, err = access.New(access.Options{
		Users: records[access.UserRecord]{s.buckets.users}, Document: records[access.Document]{s.buckets.document},
		Key: key, Issuer: s.settings.JWT.Issuer, Audience: s.settings.JWT.Audience,
		Legacy: isLegacy(s.settings.Auth.Mode), LaxViewer: !s.settings.Auth.StrictViewer, PolicyCache: s.settings.Auth.PolicyCache,
		Changed: s.log.Recheck, Logger: s.logger,
	})
	if err != nil {
		return err
	}
	if _, err := s.access.Seed(ctx, seed.Users()); err != nil {
		return err
	}
	s.nats.attach(s.access, s.catalog)
	// A new or deleted entity changes what connected clients may do.
	s.stopsWith(s.background("NATS rights", func(ctx context.Context) error {
		changes, end := s.catalog.Changes()
		defer end()
		for {
			select {
			case <-changes:
				s.log.Recheck("")
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}))
	return nil
}

// plant seeds the demo world. A file marks a seeding under way, so that one that was cut
// short is completed by the next start instead of being taken for somebody's work.
func (s *Server) plant(ctx context.Context) error {
	if !s.settings.Seed.Demo {
		return nil
	}
	sn, err := s.catalog.Snapshot(catalog.DefaultEnvironment)
	if err != nil {
		return err
	}
	mark := filepath.Join(s.settings.DataDir, seedingFile)
	if !seed.Empty(sn) && (s.settings.DataDir == "" || !exists(mark)) {
		return nil
	}
	if s.settings.DataDir != "" {
		if err := writeFile(mark, nil); err != nil {
			return inDataDir(s.settings.DataDir, err)
		}
	}
	report, err := seed.Plant(ctx, s.catalog)
	if err != nil {
		return err
	}
	for _, l := range report.LeftOut {
		s.logger.Debug("not in the demo world yet", "kind", l.Kind, "name", l.Name, "reason", l.Why)
	}
	s.report.Seeded = Seeded{len(report.Sources), len(report.Pipelines), len(report.Tables), len(report.LeftOut)}
	if s.settings.DataDir != "" {
		return inDataDir(s.settings.DataDir, os.Remove(mark))
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// startRuntime takes over the clock and starts what should run. It returns once every
// journal has been looked at; entities recover on their own from there.
func (s *Server) startRuntime(ctx context.Context) error {
	checkpoints := ""
	if s.settings.DataDir != "" {
		checkpoints = filepath.Join(s.settings.DataDir, "checkpoints")
	}
	rt, err := runtime.Open(ctx, runtime.Options{
		Streams: s.log, Catalog: s.catalog, Checkpoints: checkpoints, CheckpointEvery: s.settings.Tables.Checkpoint,
		Limits: streams.Limits{
			MaxBytes: s.settings.Replay.MaxBytesPerStream, MaxAge: s.settings.Replay.Retain, MaxEntries: s.settings.Replay.MaxEntries,
		},
		QuarantineRetain: s.settings.Quarantine.Retain, QuarantineMaxBytes: s.settings.Quarantine.MaxBytes,
		Publish: s.lifecycle.publish, Logger: s.logger,
	})
	if err != nil {
		return err
	}
	s.runtime = rt
	s.catalog.Observe(rt)
	watched := s.background("tables and pipelines", func(ctx context.Context) error {
		select {
		case err := <-rt.Failed():
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	answers, err := rt.Answer(s.settings.Version)
	if err != nil {
		return errors.Join(err, watched(ctx), rt.Close(ctx))
	}
	s.stopsWith(func(ctx context.Context) error {
		answers.Close()
		return errors.Join(watched(ctx), rt.Close(ctx))
	})
	return nil
}

func (s *Server) startIntake(context.Context) error {
	s.intake = intake.New(intake.Options{
		Streams: s.log, Catalog: s.catalog, SourceLimits: s.runtime.SourceLimits,
		QuarantineLimits: streams.Limits{MaxBytes: s.settings.Quarantine.MaxBytes, MaxAge: s.settings.Quarantine.Retain},
		Decoded: func(env, source string) (coerced, quarantined int64) {
			m, err := s.runtime.SourceMetrics(env, source)
			if err != nil {
				return 0, 0
			}
			return m.CoercedTotal, m.QuarantinedTotal
		},
		Drain: s.settings.Ingest.Drain, InstanceID: s.identity.InstanceID, Logger: s.logger,
	})
	s.stopsWith(s.background("sources", s.intake.Run))
	return nil
}

// openGate builds the REST surface over the parts and lets requests in.
func (s *Server) openGate(ctx context.Context) error {
	console, err := s.console()
	if err != nil {
		return err
	}
	if err := s.registry.Register(&entityMetrics{catalog: s.catalog, runtime: s.runtime, ingest: s.intake.Ingest(), log: s.log, max: maxEntities}); err != nil {
		return err
	}
	api, err := httpapi.New(httpapi.Options{
		Catalog: s.catalog, Access: s.access, Runtime: s.runtime,
		Ingest: s.intake.Ingest(), Scenarios: s.intake.Scenarios(), Quarantine: s.intake.Quarantine(), Connectors: s.intake.Connectors(),
		Health: s.gate, Instance: s.instance, Registry: s.registry, Console: web.Handler(console),
		AllowedOrigins: s.settings.CORS.AllowedOrigins, ForwardedHeaders: s.settings.HTTP.ForwardedHeaders, Logger: s.logger,
	})
	if err != nil {
		return err
	}
	demo, err := s.access.DemoPasswords(ctx)
	if err != nil {
		return err
	}
	s.report.Console, s.report.Demo, s.report.Open = web.Built(console), demo, !config.LoopbackOnly(s.settings.HTTP.Host)
	if len(demo) > 0 {
		s.logger.Warn(demoWarning(demo, &s.settings))
	}
	s.gate.attach(api.Handler())
	s.gate.open()
	return nil
}

func (s *Server) closeGate(ctx context.Context) error { return s.gate.drain(ctx, drainGrace) }

func (s *Server) console() (fs.FS, error) {
	if s.settings.Web.Dist == "" {
		return web.Assets(), nil
	}
	assets, err := web.Folder(s.settings.Web.Dist)
	if err != nil {
		return nil, &streams.SettingError{Key: "Web:Dist", Value: s.settings.Web.Dist, Err: err, Hint: "name the folder that holds the built console, or leave it empty"}
	}
	return assets, nil
}

func (s *Server) instance(ctx context.Context) httpapi.Instance {
	i := httpapi.Instance{
		ID: s.identity.InstanceID, Name: s.settings.InstanceName, Version: s.settings.Version,
		Capabilities: []string{}, Plugins: connectors.Names(), PluginVersions: map[string]string{}, StartedAtMs: s.startedAt.UnixMilli(),
	}
	for _, name := range i.Plugins {
		if k, err := connectors.Lookup(name); err == nil {
			i.PluginVersions[name] = cmp.Or(k.Descriptor.Version, "1.0.0")
		}
	}
	if demo := s.demo.alive(ctx, s.access); len(demo) > 0 {
		i.Warnings = []string{demoWarning(demo, &s.settings)}
	}
	return i
}

// demoLogins remembers for a while which demo passwords are alive: every console asks each
// few seconds, and the answer takes a read of every user.
type demoLogins struct {
	mu    sync.Mutex
	names []string
	until time.Time
}

const demoMemory = 10 * time.Second

func (d *demoLogins) alive(ctx context.Context, a *access.Service) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Now().Before(d.until) {
		return d.names
	}
	names, err := a.DemoPasswords(ctx)
	if err != nil {
		return d.names // the last answer is better than none
	}
	d.names, d.until = names, time.Now().Add(demoMemory)
	return names
}

func isLegacy(mode string) bool { return strings.EqualFold(mode, "legacy") }
