package streams

import (
	"fmt"
	"log/slog"
	"time"
)

// Sync modes: when an acknowledged message is on the disk.
const (
	// SyncInterval writes before the acknowledgement and syncs every SyncInterval: kill -9 loses nothing, a power
	// failure at most the last interval.
	SyncInterval = "interval"
	// SyncAlways syncs before every acknowledgement: a power failure loses nothing that was acknowledged.
	SyncAlways = "always"
)

// Storage kinds.
const (
	StorageFile   = "file"
	StorageMemory = "memory" // rows and positions end with the process
)

// Defaults of [Options].
const (
	DefaultMaxPayload   = 8 << 20
	DefaultSyncInterval = time.Second
	DefaultMaxMemory    = 1 << 42
	DefaultMaxStore     = 1 << 46
	DefaultReadyTimeout = 5 * time.Minute
	DefaultAckTimeout   = 5 * time.Second
)

// Options of an embedded server. The zero value of every field is usable, except that DataDir is needed unless
// Storage is memory.
type Options struct {
	// DataDir holds the JetStream files (and checkpoints). The server locks it for itself.
	DataDir string
	// Listen is the host and port for external NATS clients; empty means in-process connections only.
	Listen string
	// MaxPayload is the largest message in bytes, headers included (Nats:MaxPayload); 0 means 8 MiB.
	MaxPayload int
	// Sync is SyncInterval (also when empty) or SyncAlways.
	Sync string
	// SyncInterval is the fsync interval of the mode SyncInterval; 0 means one second.
	SyncInterval time.Duration
	// Storage is StorageFile (also when empty) or StorageMemory. It applies to every stream of the server.
	Storage string
	// MaxMemory and MaxStore bound the sum of what the streams may hold in memory and on disk. A stream reserves its
	// MaxBytes, whatever it holds, so the defaults, 4 TiB and 64 TiB, only keep the server from deriving bounds of its
	// own from this machine's memory and disk; the bounds that matter are those of each stream.
	MaxMemory, MaxStore int64
	// ReadyTimeout bounds the recovery of all streams at start; 0 means five minutes.
	ReadyTimeout time.Duration
	// AckTimeout is how long an append waits before it looks at the tail itself; 0 means five seconds.
	AckTimeout time.Duration

	// Auth decides about external clients. Nil refuses all of them.
	Auth Authenticator
	// Violations is told about each publish or subscription that a client was not allowed to make. It is called on a
	// goroutine of the server's own and must not block for long. Nil means nobody listens.
	Violations func(Violation)

	// Logger receives the server's own messages; nil discards them.
	Logger *slog.Logger

	queue int // messages that a stream may hold before they are stored; 0 means the server's 100,000
}

func (o Options) withDefaults() Options {
	o.MaxPayload = or(o.MaxPayload, DefaultMaxPayload)
	o.Sync = or(o.Sync, SyncInterval)
	o.SyncInterval = or(o.SyncInterval, DefaultSyncInterval)
	o.Storage = or(o.Storage, StorageFile)
	o.MaxMemory = or(o.MaxMemory, DefaultMaxMemory)
	o.MaxStore = or(o.MaxStore, DefaultMaxStore)
	o.ReadyTimeout = or(o.ReadyTimeout, DefaultReadyTimeout)
	o.AckTimeout = or(o.AckTimeout, DefaultAckTimeout)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// minMaxPayload leaves room for the headers of an entry; maxMaxPayload is half of what the file store can hold in
// one record, as quarantine headers are added to a payload that was accepted at the limit.
const (
	minMaxPayload = 64 << 10
	maxMaxPayload = 16 << 20
)

func (o Options) check() error {
	switch {
	case o.Sync != SyncInterval && o.Sync != SyncAlways:
		return &SettingError{"Streams:Sync", o.Sync, fmt.Errorf("unknown mode"), "use interval or always"}
	case o.Storage != StorageFile && o.Storage != StorageMemory:
		return &SettingError{"Streams:Storage", o.Storage, fmt.Errorf("unknown storage"), "use file or memory"}
	case o.MaxPayload < minMaxPayload || o.MaxPayload > maxMaxPayload:
		return &SettingError{"Nats:MaxPayload", fmt.Sprint(o.MaxPayload), fmt.Errorf("out of range"),
			fmt.Sprintf("use a number of bytes from %d to %d", minMaxPayload, maxMaxPayload)}
	case o.SyncInterval < 0:
		return &SettingError{"Streams:SyncIntervalMs", fmt.Sprint(o.SyncInterval.Milliseconds()), fmt.Errorf("negative"), "use 1 or more, or Streams:Sync=always"}
	case o.Storage == StorageFile && o.DataDir == "":
		return &SettingError{"DataDir", "", fmt.Errorf("no directory"), "set a directory, or Streams:Storage=memory"}
	}
	return nil
}
