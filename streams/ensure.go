package streams

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// Limits is how much a stream keeps. Zero values mean no limit.
type Limits struct {
	MaxBytes   int64
	MaxAge     time.Duration
	MaxEntries int64
	// Memory keeps the stream in memory although the server stores files: rows and positions end with the process.
	// The storage of an existing stream is never changed.
	Memory bool
}

// Metadata keys of our streams.
const (
	metaIncarnation = "sf-incarnation"
	metaKind        = "sf-kind"
)

// Fixed numbers of the streams of an environment.
const (
	dedupWindow        = 2 * time.Minute
	minDedupWindow     = 100 * time.Millisecond // the smallest that JetStream accepts; journals carry no message ids
	epochsMaxBytes     = 256 << 20
	lifecycleMaxEvents = 10_000
	deadLetterMaxAge   = 7 * 24 * time.Hour
)

// EnsureSource creates the stream of a source, or brings its limits up to date. Publishers outside reach it, so it
// accepts no rollup, no message TTL, no schedule, no batch, and no deletion of single messages.
func (s *Server) EnsureSource(ctx context.Context, env, name string, l Limits) (*Stream, error) {
	c := limited("source", SourceStream(env, name), SourceSubject(env, name), l)
	c.Duplicates = dedupWindow
	if l.MaxAge > 0 {
		c.Duplicates = min(c.Duplicates, l.MaxAge)
	}
	return s.ensure(ctx, c)
}

// EnsureTable creates the journal of a table. A journal has no bound of its own: the owner writes a base and trims
// behind it ([Journal.Trim]), so that nothing a reader still needs disappears by itself. Of the limits only Memory counts.
func (s *Server) EnsureTable(ctx context.Context, env, id, name string, l Limits) (*Stream, error) {
	return s.ensure(ctx, journal("table", TableStream(env, id), DeltaSubject(env, name), Limits{Memory: l.Memory}))
}

// EnsureResult creates the journal of a pipeline. Bytes and entries are bounded by the stream, which always keeps
// the last entry; age is the owner's business ([Journal.TrimOlder]), as a bound of the stream's would take the last
// entry, and with it the position, away.
func (s *Server) EnsureResult(ctx context.Context, env, id string, l Limits) (*Stream, error) {
	return s.ensure(ctx, journal("pipeline", ResultStream(env, id), ResultSubject(env, id), l))
}

// EnsureLate creates the stream of the late rows of a pipeline. It is a journal like the results.
func (s *Server) EnsureLate(ctx context.Context, env, id string, l Limits) (*Stream, error) {
	return s.ensure(ctx, journal("late", LateStream(env, id), LateSubject(env, id), l))
}

// EnsureQuarantine creates the stream of a source's unreadable rows. See [Server.OpenQuarantine] for its writer,
// which also applies the age limit.
func (s *Server) EnsureQuarantine(ctx context.Context, env, source string, l Limits) (*Stream, error) {
	subj := QuarantineSubject(env, source)
	c := journal("quarantine", QuarantineStream(env, source), subj, l)
	c.Subjects = []string{subj, subj + ".part", subj + ".mark"}
	c.DenyDelete = false
	return s.ensure(ctx, c)
}

// EnsureIngest creates the work queue of a source's buffered push: rows that were accepted but not yet published. Its
// owner bounds it, and purges what it has published.
func (s *Server) EnsureIngest(ctx context.Context, env, source string) (*Stream, error) {
	c := limited("ingest", IngestStream(env, source), IngestSubject(env, source), Limits{})
	c.Retention = jetstream.WorkQueuePolicy
	c.Duplicates = dedupWindow
	c.DenyDelete = false
	return s.ensure(ctx, c)
}

// EnsureEpochs creates the clock of an environment. See [OpenEpochs] for its writer.
func (s *Server) EnsureEpochs(ctx context.Context, env string) (*Stream, error) {
	return s.ensure(ctx, journal("epochs", EpochsStream(env), EpochsSubject(env), Limits{MaxBytes: epochsMaxBytes}))
}

// EnsureLifecycle creates the stream of an environment's lifecycle events: the newest 10,000.
func (s *Server) EnsureLifecycle(ctx context.Context, env string) (*Stream, error) {
	c := limited("lifecycle", LifecycleStream(env), LifecycleSubject(env), Limits{MaxEntries: lifecycleMaxEvents})
	c.Duplicates = minDedupWindow
	return s.ensure(ctx, c)
}

// EnsureDeadLetters creates the stream of the rows that sinks could not deliver: seven days.
func (s *Server) EnsureDeadLetters(ctx context.Context, env string) (*Stream, error) {
	c := limited("dlq", DeadLetterStream(env), "sf."+Encode(env)+".sink.dlq.>", Limits{MaxAge: deadLetterMaxAge})
	c.Duplicates = minDedupWindow
	return s.ensure(ctx, c)
}

// EnsureAudit creates the audit stream: a bound for each day, no way to delete or purge.
func (s *Server) EnsureAudit(ctx context.Context, maxPerDay int64, retain time.Duration) (*Stream, error) {
	c := limited("audit", AuditStream, "sf.audit.>", Limits{MaxAge: retain})
	c.MaxMsgsPerSubject = or(maxPerDay, -1)
	c.DenyPurge = true
	c.Duplicates = minDedupWindow
	return s.ensure(ctx, c)
}

// limited is a stream that drops its oldest messages at its limits.
func limited(kind, name, subject string, l Limits) jetstream.StreamConfig {
	c := jetstream.StreamConfig{
		Name: name, Subjects: []string{subject},
		Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardOld,
		MaxBytes: or(l.MaxBytes, -1), MaxMsgs: or(l.MaxEntries, -1), MaxAge: l.MaxAge,
		MaxMsgsPerSubject: -1, MaxMsgSize: -1, MaxConsumers: -1,
		DenyDelete: true, AllowDirect: true, Replicas: 1,
		Metadata: map[string]string{metaKind: kind},
	}
	if l.Memory {
		c.Storage = jetstream.MemoryStorage
	}
	return c
}

// journal is a stream with one fenced writer. Its age limit is left to that writer.
func journal(kind, name, subject string, l Limits) jetstream.StreamConfig {
	l.MaxAge = 0
	c := limited(kind, name, subject, l)
	c.Duplicates = minDedupWindow
	c.AllowAtomicPublish = true
	return c
}

// ensure creates the stream with a new incarnation, or updates the limits and subjects of the existing one.
func (s *Server) ensure(ctx context.Context, want jetstream.StreamConfig) (*Stream, error) {
	if s.opts.Storage == StorageMemory {
		want.Storage = jetstream.MemoryStorage
	}
	for {
		in, err := s.streamInfo(ctx, want.Name, "")
		if errors.Is(err, ErrNotFound) {
			want.Metadata[metaIncarnation] = nuid.Next()
			got, err := s.js.CreateStream(ctx, want)
			if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
				continue // Somebody else was faster; take theirs.
			}
			if err != nil {
				return nil, fmt.Errorf("create stream %s: %w", want.Name, err)
			}
			if residue(got.CachedInfo()) {
				if err := errors.Join(s.DeleteStream(ctx, want.Name), s.pause(ctx, residuePause)); err != nil {
					return nil, err
				}
				continue
			}
			return s.handle(&got.CachedInfo().Config), nil
		}
		if err != nil {
			return nil, err
		}
		if err := s.update(ctx, in.Config, want); err != nil {
			return nil, err
		}
		st := s.handle(&in.Config)
		st.subject = want.Subjects[0]
		return st, nil
	}
}

// residue says whether a new stream holds messages of a deleted one. The server moves the files of a deleted stream
// aside and removes them in the background; when that name is deleted again before it has finished, the move fails
// without a word, and the next stream of the name finds the old files and takes them for its own.
func residue(in *jetstream.StreamInfo) bool {
	return in.State.LastSeq > 0 && (in.State.Msgs == 0 || in.State.FirstTime.Before(in.Created))
}

// residuePause lets the server finish the removal.
const residuePause = 10 * time.Millisecond

// update changes what a definition may change: limits and subjects. Everything else stays as it was created.
func (s *Server) update(ctx context.Context, have, want jetstream.StreamConfig) error {
	c := have
	c.Subjects, c.MaxBytes, c.MaxMsgs, c.MaxAge = want.Subjects, want.MaxBytes, want.MaxMsgs, want.MaxAge
	c.MaxMsgsPerSubject, c.Duplicates = want.MaxMsgsPerSubject, want.Duplicates
	if strings.Join(c.Subjects, " ") == strings.Join(have.Subjects, " ") && c.MaxBytes == have.MaxBytes && c.MaxMsgs == have.MaxMsgs &&
		c.MaxAge == have.MaxAge && c.MaxMsgsPerSubject == have.MaxMsgsPerSubject && c.Duplicates == have.Duplicates {
		return nil
	}
	if _, err := s.js.UpdateStream(ctx, c); err != nil {
		return fmt.Errorf("update stream %s: %w", want.Name, err)
	}
	return nil
}

func (s *Server) handle(c *jetstream.StreamConfig) *Stream {
	st := &Stream{s: s, name: c.Name, incarnation: c.Metadata[metaIncarnation], memory: c.Storage == jetstream.MemoryStorage}
	if len(c.Subjects) > 0 {
		st.subject = c.Subjects[0]
	}
	return st
}

// Stream opens an existing stream by its name. ErrNotFound says that there is none.
func (s *Server) Stream(ctx context.Context, name string) (*Stream, error) {
	in, err := s.streamInfo(ctx, name, "")
	if err != nil {
		return nil, err
	}
	return s.handle(&in.Config), nil
}

// DeleteStream removes a stream with everything in it. A missing stream is no error.
func (s *Server) DeleteStream(ctx context.Context, name string) error {
	if err := s.js.DeleteStream(ctx, name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("delete stream %s: %w", name, err)
	}
	return nil
}

// StreamNames lists the entity streams of an environment (or, for an empty one, every stream of the server that
// belongs to the product), KV buckets not included.
func (s *Server) StreamNames(ctx context.Context, env string) ([]string, error) {
	prefix := "SF_"
	if env != "" {
		prefix += Encode(env) + "_"
	}
	var names []string
	l := s.js.StreamNames(ctx)
	for n := range l.Name() {
		if strings.HasPrefix(n, prefix) {
			names = append(names, n)
		}
	}
	if err := l.Err(); err != nil {
		return nil, fmt.Errorf("list streams: %w", err)
	}
	return names, nil
}
