package config

import "time"

// Settings is the configuration of one server, typed. The zero value is not
// usable: start from Default or Load.
type Settings struct {
	DataDir      string
	InstanceName string
	Version      string

	HTTP       HTTP
	GRPC       GRPC
	Seed       Seed
	Nats       Nats
	Streams    Streams
	Replay     Replay
	Quarantine Quarantine
	JWT        JWT
	Auth       Auth
	Approvals  Approvals
	Audit      Audit
	CORS       CORS
	Chat       Chat
	Gemini     Gemini
	Ingest     Ingest
	// Endpoints resolves `@name` in connector settings. Look names up with Endpoint,
	// which folds case, `-` and `_`.
	Endpoints  map[string]string
	Discovery  Discovery
	Transports Transports
	Plugins    Plugins
	UI         UI
	Web        Web
	Docs       Docs
	Shards     Shards
	Tables     Tables
	Pipelines  Pipelines
	Sinks      Sinks
	TLS        TLS
	Secrets    Secrets
	SQL        SQL
}

// HTTP is the listener of REST, hub and console.
type HTTP struct {
	Host             string
	Port             int
	ForwardedHeaders bool
}

// GRPC is the listener of the gRPC services.
type GRPC struct {
	Host string
	Port int
}

// Seed controls the demo world.
type Seed struct{ Demo bool }

// Nats describes the embedded NATS server, or the external cluster when URL is set.
type Nats struct {
	URL        string
	MaxPayload int
	Listen     string // empty: in-process only
	Creds      string
	Token      string
	TLSCAPath  string
	Replicas   int
}

// Streams is how the log is stored.
type Streams struct {
	Storage          string // file or memory
	Sync             string // interval or always
	SyncInterval     time.Duration
	BatchMaxMessages int
	BatchMax         time.Duration
	Capacity         int
	Transport        string // accepted and ignored
	PullPeriod       time.Duration
}

// Replay bounds what each stream keeps; 0 is no bound.
type Replay struct {
	MaxEntries        int64
	Retain            time.Duration
	MaxBytesPerStream int64
	SegmentBytes      int64
}

// Quarantine bounds each stream of rows that could not be read.
type Quarantine struct {
	Retain   time.Duration
	MaxBytes int64
}

// JWT is the platform's token.
type JWT struct {
	Key      string // empty: made once and kept in the data directory
	Issuer   string
	Audience string
}

// Auth is the permission mode.
type Auth struct {
	Mode         string
	PolicyCache  time.Duration
	StrictViewer bool
}

// Approvals is the approval feature.
type Approvals struct {
	Enabled bool
	Sweep   time.Duration
	Execute bool
}

// Audit is the audit log.
type Audit struct {
	Enabled                bool
	RecordAllowedMutations bool
	MaxEntriesPerDay       int
	QueueCapacity          int
	RetainDays             int
}

// CORS lists the browser origins that may call REST with credentials.
type CORS struct{ AllowedOrigins []string }

// Chat is the AI control chat.
type Chat struct {
	MaxRequestsPerSession int
	MayExecutePrivileged  bool
}

// Gemini is the model behind the chat.
type Gemini struct {
	APIKey         string
	Model          string
	BaseURL        string
	ThinkingBudget int
	ThinkingLevel  string
}

// Ingest is push ingest.
type Ingest struct{ Drain time.Duration }

// Discovery is the peer directory.
type Discovery struct {
	Peers []Peer
	Probe time.Duration
}

// Peer is another StreamsForge instance.
type Peer struct {
	Name         string
	RestEndpoint string
	GrpcEndpoint string
}

// Transports is connector probing.
type Transports struct{ ProbeTimeout time.Duration }

// Plugins is where server plugins are found.
type Plugins struct{ Path string }

// UI is where console plugins are found.
type UI struct{ PluginsPath string }

// Web overrides the console assets that are built into the binary.
type Web struct{ Dist string }

// Docs overrides the documentation that is built into the binary.
type Docs struct{ File string }

// Shards is when an idle shard leaves memory.
type Shards struct {
	Idle    time.Duration
	Quantum time.Duration
}

// Tables is how tables commit and checkpoint.
type Tables struct {
	Flush      time.Duration
	Checkpoint time.Duration
}

// Pipelines is how event time advances.
type Pipelines struct {
	Idle                  time.Duration
	TransportLagAllowance time.Duration
}

// Sinks is the content check of sinks.
type Sinks struct{ Recheck time.Duration }

// TLS is transport security of the listeners and the trust of outbound calls.
type TLS struct {
	Enabled              bool
	CertPath             string
	KeyPath              string
	KeyPassword          string
	TrustedCAPath        string
	AcceptAnyCertificate bool
}

// Secrets is encryption of stored secrets.
type Secrets struct{ Key string }

// SQL is the dialect's switches.
type SQL struct{ StrictNotIn bool }

// Endpoint resolves the name behind `@name`.
func (s *Settings) Endpoint(name string) (string, bool) {
	v, ok := s.Endpoints[foldName(name)]
	return v, ok
}

// LoopbackOnly tells whether host is an address that only this machine reaches.
func LoopbackOnly(host string) bool {
	return host == "localhost" || host == "::1" || host == "[::1]" || len(host) >= 4 && host[:4] == "127."
}
