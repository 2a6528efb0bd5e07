package config

import (
	"math"
	"strings"
)

// anySign marks a number that may be negative.
const anySign = math.MinInt64

// Keys returns the registry in documentation order. The entries are shared: do not
// change them.
func Keys() []*Key { return registry }

// registry is every key of the product. One line of doc each; the field it fills at the end.
var registry = []*Key{
	{
		Name: "Http:Port", Type: Port, Default: "5199", DefaultNote: "`PORT`, else 5199",
		Doc: "Port of REST, hub and console. The environment variable PORT, which container platforms set, is its default when present.",
		ref: func(s *Settings, _ []string) any { return &s.HTTP.Port },
	},
	{
		Name: "Http:Host", Type: Text, Default: "127.0.0.1",
		Doc: "Address that REST and console listen on. Set 0.0.0.0 to reach them from other machines, after changing the demo passwords.",
		ref: func(s *Settings, _ []string) any { return &s.HTTP.Host },
	},
	{
		Name: "Http:ForwardedHeaders", Type: Bool, Default: "false", Env: []string{"ASPNETCORE_FORWARDEDHEADERS_ENABLED"},
		Doc: "Trust X-Forwarded-Proto and X-Forwarded-Host of a proxy in front: they decide advertised endpoints and secure cookies.",
		ref: func(s *Settings, _ []string) any { return &s.HTTP.ForwardedHeaders },
	},
	{
		Name: "Grpc:Host", Type: Text, Default: "127.0.0.1", Pending: "the gRPC services",
		Doc: "Address that gRPC listens on.",
		ref: func(s *Settings, _ []string) any { return &s.GRPC.Host },
	},
	{
		Name: "Grpc:Port", Type: Port, Default: "5299", DefaultNote: "`PORT` + 100, else 5299", Pending: "the gRPC services",
		Doc: "Port of gRPC. Where the environment variable PORT is set, the default is PORT + 100.",
		ref: func(s *Settings, _ []string) any { return &s.GRPC.Port },
	},
	{
		Name: "DataDir", Type: Path, Default: "./data",
		Doc: "Directory of everything that is kept: JetStream files, checkpoints, instance.json and the generated signing key. One process at a time.",
		ref: func(s *Settings, _ []string) any { return &s.DataDir },
	},
	{
		Name: "InstanceName", Type: Text, DefaultNote: "host name", Aliases: []string{"Instance:Name"},
		Doc: "Name under which this instance is shown to people and peers.",
		ref: func(s *Settings, _ []string) any { return &s.InstanceName },
	},
	{
		Name: "Version", Type: Text, DefaultNote: "build version",
		Doc: "Version that the instance reports.",
		ref: func(s *Settings, _ []string) any { return &s.Version },
	},
	{
		Name: "Seed:Demo", Type: Bool, Default: "true",
		Doc: "Seed an empty default environment with the demo sources, pipelines and tables.",
		ref: func(s *Settings, _ []string) any { return &s.Seed.Demo },
	},

	{
		Name: "Nats:Url", Type: Text, Pending: "external NATS clusters", Refused: true,
		Doc: "Addresses of an external NATS cluster, comma-separated. Empty: a NATS server runs inside this process.",
		ref: func(s *Settings, _ []string) any { return &s.Nats.URL },
	},
	{
		Name: "Nats:Listen", Type: Address, Default: "127.0.0.1:4222",
		Doc: "Listener of the embedded NATS server, where the platform's users log in. Empty: no listener, in-process only.",
		ref: func(s *Settings, _ []string) any { return &s.Nats.Listen },
	},
	{
		Name: "Nats:MaxPayload", Type: Bytes, Default: "8388608", Min: 65536, Max: 16777216,
		Doc: "Largest NATS message, and so the largest row.",
		ref: func(s *Settings, _ []string) any { return &s.Nats.MaxPayload },
	},
	{
		Name: "Nats:Creds", Type: Path, Pending: "external NATS clusters",
		Doc: "Credentials file for the external cluster.",
		ref: func(s *Settings, _ []string) any { return &s.Nats.Creds },
	},
	{
		Name: "Nats:Token", Type: Text, Secret: true, Pending: "external NATS clusters",
		Doc: "Token for the external cluster.",
		ref: func(s *Settings, _ []string) any { return &s.Nats.Token },
	},
	{
		Name: "Nats:TlsCaPath", Type: Path, Pending: "external NATS clusters",
		Doc: "Certificate authorities (PEM) to trust for the external cluster.",
		ref: func(s *Settings, _ []string) any { return &s.Nats.TLSCAPath },
	},
	{
		Name: "Nats:Replicas", Type: Int, Default: "1", Min: 1, Max: 5, Pending: "external NATS clusters",
		Doc: "Replicas of streams and buckets in the external cluster.",
		ref: func(s *Settings, _ []string) any { return &s.Nats.Replicas },
	},

	{
		Name: "Streams:Storage", Type: Choice, Choices: []string{"file", "memory"}, Default: "file",
		Doc: "Where streams are stored. With memory, positions and rows end with the process.",
		ref: func(s *Settings, _ []string) any { return &s.Streams.Storage },
	},
	{
		Name: "Streams:Sync", Type: Choice, Choices: []string{"interval", "always"}, Default: "interval",
		Doc: "When writes reach the disk. `interval` survives a killed process and may lose the last interval at a power loss; `always` syncs every write before it is acknowledged and survives both.",
		ref: func(s *Settings, _ []string) any { return &s.Streams.Sync },
	},
	{
		Name: "Streams:SyncIntervalMs", Type: Millis, Default: "1000",
		Doc: "Time between syncs with Streams:Sync=interval. 0 is the same as Streams:Sync=always.",
		ref: func(s *Settings, _ []string) any { return &s.Streams.SyncInterval },
	},
	{
		Name: "Streams:BatchMaxMessages", Type: Int, Default: "256", Min: 1, Max: 1000000, Ignored: "readers take what the log has and are bounded by bytes",
		Doc: "Most messages that a reader takes from a stream at once.",
		ref: func(s *Settings, _ []string) any { return &s.Streams.BatchMaxMessages },
	},
	{
		Name: "Streams:BatchMaxMs", Type: Millis, Default: "1", Ignored: "readers take what the log has and never wait for a fuller batch",
		Doc: "Longest wait of a reader for a fuller batch.",
		ref: func(s *Settings, _ []string) any { return &s.Streams.BatchMax },
	},
	{
		Name: "Streams:Capacity", Type: Int, Default: "10000", Min: 1, Aliases: []string{"Streams:PushCapacity"}, Pending: "queues that are bounded by rows",
		Doc: "Bound of in-process queues, in rows.",
		ref: func(s *Settings, _ []string) any { return &s.Streams.Capacity },
	},
	{
		Name: "Streams:Transport", Type: Choice, Choices: []string{"pull", "push"}, Default: "pull",
		Ignored: "every stream is read from its log, which is neither push nor pull",
		Doc:     "Accepted for older configurations.",
		ref:     func(s *Settings, _ []string) any { return &s.Streams.Transport },
	},
	{
		Name: "Streams:PullPeriodMs", Type: Millis, Default: "100",
		Ignored: "readers are woken by the log and do not poll",
		Doc:     "Accepted for older configurations.",
		ref:     func(s *Settings, _ []string) any { return &s.Streams.PullPeriod },
	},

	{
		Name: "Replay:MaxEntries", Type: Int, Default: "0",
		Doc: "Messages kept in each stream; 0 is no limit.",
		ref: func(s *Settings, _ []string) any { return &s.Replay.MaxEntries },
	},
	{
		Name: "Replay:RetainMs", Type: Millis, Default: "0",
		Doc: "Age up to which messages are kept; 0 is no limit.",
		ref: func(s *Settings, _ []string) any { return &s.Replay.Retain },
	},
	{
		Name: "Replay:MaxBytesPerStream", Type: Bytes, Default: "1073741824",
		Doc: "Bytes kept in each stream; 0 is no limit.",
		ref: func(s *Settings, _ []string) any { return &s.Replay.MaxBytesPerStream },
	},
	{
		Name: "Replay:SegmentBytes", Type: Bytes, Default: "8388608",
		Ignored: "the embedded server chooses its own block size",
		Doc:     "Accepted for older configurations.",
		ref:     func(s *Settings, _ []string) any { return &s.Replay.SegmentBytes },
	},
	{
		Name: "Quarantine:RetainMs", Type: Millis, Default: "604800000",
		Doc: "Age up to which rows that could not be read are kept in quarantine; 0 is no limit.",
		ref: func(s *Settings, _ []string) any { return &s.Quarantine.Retain },
	},
	{
		Name: "Quarantine:MaxBytes", Type: Bytes, Default: "268435456",
		Doc: "Bytes kept in each quarantine stream; 0 is no limit.",
		ref: func(s *Settings, _ []string) any { return &s.Quarantine.MaxBytes },
	},

	{
		Name: "Jwt:Key", Type: Text, Secret: true, DefaultNote: "generated once, kept in DataDir", Aliases: []string{"Auth:JwtKey"},
		Doc: "Key that signs the platform's tokens (HS256). At least 32 bytes.",
		ref: func(s *Settings, _ []string) any { return &s.JWT.Key },
	},
	{
		Name: "Jwt:Issuer", Type: Text, Default: "streamsforge",
		Doc: "Issuer written into tokens and required of them.",
		ref: func(s *Settings, _ []string) any { return &s.JWT.Issuer },
	},
	{
		Name: "Jwt:Audience", Type: Text, Default: "streamsforge",
		Doc: "Audience written into tokens and required of them.",
		ref: func(s *Settings, _ []string) any { return &s.JWT.Audience },
	},
	{
		Name: "Auth:Mode", Type: Text, Default: "entitlements",
		Doc: "`legacy` leaves decisions to the stored role alone; anything else uses entitlements.",
		ref: func(s *Settings, _ []string) any { return &s.Auth.Mode },
	},
	{
		Name: "Auth:PolicyCacheSeconds", Type: Seconds, Default: "10",
		Doc: "Longest time that a decision may rest on an older policy.",
		ref: func(s *Settings, _ []string) any { return &s.Auth.PolicyCache },
	},
	{
		Name: "Auth:StrictViewer", Type: Bool, Default: "true",
		Doc: "Refuse disabled users on reads too.",
		ref: func(s *Settings, _ []string) any { return &s.Auth.StrictViewer },
	},

	{
		Name: "Approvals:Enabled", Type: Bool, Default: "false", Pending: "approvals",
		Doc: "Turn the approval feature on.",
		ref: func(s *Settings, _ []string) any { return &s.Approvals.Enabled },
	},
	{
		Name: "Approvals:SweepSeconds", Type: Seconds, Default: "30", Min: 1, Pending: "approvals",
		Doc: "Interval at which approvals expire and escalate.",
		ref: func(s *Settings, _ []string) any { return &s.Approvals.Sweep },
	},
	{
		Name: "Approvals:Execute", Type: Bool, Default: "false", Pending: "approvals",
		Doc: "Run the approved action at the deciding vote. Without it an approval is a record only.",
		ref: func(s *Settings, _ []string) any { return &s.Approvals.Execute },
	},
	{
		Name: "Audit:Enabled", Type: Bool, Default: "true", Pending: "the audit log",
		Doc: "Record who did what.",
		ref: func(s *Settings, _ []string) any { return &s.Audit.Enabled },
	},
	{
		Name: "Audit:RecordAllowedMutations", Type: Bool, Default: "true", Pending: "the audit log",
		Doc: "Record changes that were allowed; false keeps only refusals.",
		ref: func(s *Settings, _ []string) any { return &s.Audit.RecordAllowedMutations },
	},
	{
		Name: "Audit:MaxEntriesPerDay", Type: Int, Default: "20000", Min: 1, Pending: "the audit log",
		Doc: "Audit entries kept a day; the oldest of that day leave first.",
		ref: func(s *Settings, _ []string) any { return &s.Audit.MaxEntriesPerDay },
	},
	{
		Name: "Audit:QueueCapacity", Type: Int, Default: "2048", Min: 1, Pending: "the audit log",
		Doc: "Audit entries that may wait to be written; a full queue drops the newest and says how many.",
		ref: func(s *Settings, _ []string) any { return &s.Audit.QueueCapacity },
	},
	{
		Name: "Audit:RetainDays", Type: Int, Default: "0", Pending: "the audit log",
		Doc: "Days that audit entries are kept; 0 keeps them.",
		ref: func(s *Settings, _ []string) any { return &s.Audit.RetainDays },
	},

	{
		Name: "Cors:AllowedOrigins:<n>", Type: Text, DefaultNote: "http://localhost:5173",
		Doc: "Browser origins that may call REST, with credentials. Setting one replaces the default list.",
		ref: func(s *Settings, p []string) any { return slot(&s.CORS.AllowedOrigins, p[0]) },
	},
	{
		Name: "Chat:MaxRequestsPerSession", Type: Int, Default: "10", Min: anySign, Pending: "the control chat",
		Doc: "Chat requests a session may make; 0 or less is no cap.",
		ref: func(s *Settings, _ []string) any { return &s.Chat.MaxRequestsPerSession },
	},
	{
		Name: "Chat:MayExecutePrivileged", Type: Bool, Default: "false", Pending: "the control chat",
		Doc: "Let the model execute privileged actions instead of filing them for approval.",
		ref: func(s *Settings, _ []string) any { return &s.Chat.MayExecutePrivileged },
	},
	{
		Name: "Gemini:ApiKey", Type: Text, Secret: true, Env: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, Pending: "the control chat",
		Doc: "API key of the chat model. Without it the chat answers 503.",
		ref: func(s *Settings, _ []string) any { return &s.Gemini.APIKey },
	},
	{
		Name: "Gemini:Model", Type: Text, Default: "gemini-3.6-flash", Pending: "the control chat",
		Doc: "Chat model.",
		ref: func(s *Settings, _ []string) any { return &s.Gemini.Model },
	},
	{
		Name: "Gemini:BaseUrl", Type: URL, Default: "https://generativelanguage.googleapis.com", Pending: "the control chat",
		Doc: "Base URL of the chat model's API.",
		ref: func(s *Settings, _ []string) any { return &s.Gemini.BaseURL },
	},
	{
		Name: "Gemini:ThinkingBudget", Type: Int, Default: "0", Min: anySign, Pending: "the control chat",
		Doc: "Thinking budget, for models that take a budget.",
		ref: func(s *Settings, _ []string) any { return &s.Gemini.ThinkingBudget },
	},
	{
		Name: "Gemini:ThinkingLevel", Type: Text, Default: "LOW", Pending: "the control chat",
		Doc: "Thinking level, for models that take a level.",
		ref: func(s *Settings, _ []string) any { return &s.Gemini.ThinkingLevel },
	},

	{
		Name: "Ingest:DrainMs", Type: Millis, Default: "100", Min: 1,
		Doc: "Interval at which buffered push ingest moves rows into the source's stream.",
		ref: func(s *Settings, _ []string) any { return &s.Ingest.Drain },
	},
	{
		Name: "Endpoints:<name>", Type: Text, DefaultNote: "none",
		Doc: "Value behind `@name` in connector settings. In environment variables `-` is written `_`; case does not matter.",
		ref: func(s *Settings, p []string) any { return entry{s, p[0]} },
	},
	{
		Name: "Discovery:Peers:<n>:Name", Type: Text, DefaultNote: "none", Pending: "the peer directory",
		Doc: "Name of a peer instance.",
		ref: func(s *Settings, p []string) any { return &slot(&s.Discovery.Peers, p[0]).Name },
	},
	{
		Name: "Discovery:Peers:<n>:RestEndpoint", Type: URL, DefaultNote: "none", Pending: "the peer directory",
		Doc: "REST address of the peer.",
		ref: func(s *Settings, p []string) any { return &slot(&s.Discovery.Peers, p[0]).RestEndpoint },
	},
	{
		Name: "Discovery:Peers:<n>:GrpcEndpoint", Type: Text, DefaultNote: "none", Pending: "the peer directory",
		Doc: "gRPC address of the peer.",
		ref: func(s *Settings, p []string) any { return &slot(&s.Discovery.Peers, p[0]).GrpcEndpoint },
	},
	{
		Name: "Discovery:ProbeSeconds", Type: Seconds, Default: "0", Pending: "the peer directory",
		Doc: "Interval at which peers are probed; 0 probes only when asked.",
		ref: func(s *Settings, _ []string) any { return &s.Discovery.Probe },
	},
	{
		Name: "Transports:ProbeTimeoutSeconds", Type: Seconds, Default: "15", Min: 1, Pending: "connector probes",
		Doc: "Longest time that probing a connector may take.",
		ref: func(s *Settings, _ []string) any { return &s.Transports.ProbeTimeout },
	},
	{
		Name: "Plugins:Path", Type: Path, DefaultNote: "./plugins beside the binary", Pending: "plugins",
		Doc: "Folder of server plugins.",
		ref: func(s *Settings, _ []string) any { return &s.Plugins.Path },
	},
	{
		Name: "Ui:PluginsPath", Type: Path, Default: "./ui-plugins", Pending: "plugins",
		Doc: "Folder of console plugins.",
		ref: func(s *Settings, _ []string) any { return &s.UI.PluginsPath },
	},
	{
		Name: "Web:Dist", Type: Path, DefaultNote: "built into the binary",
		Doc: "Folder that the console is served from instead of the one inside the binary.",
		ref: func(s *Settings, _ []string) any { return &s.Web.Dist },
	},
	{
		Name: "Docs:File", Type: Path, DefaultNote: "built into the binary", Pending: "the documentation pages",
		Doc: "Documentation file that is served instead of the one inside the binary.",
		ref: func(s *Settings, _ []string) any { return &s.Docs.File },
	},
	{
		Name: "Shards:IdleSeconds", Type: Seconds, Default: "120", Min: 1, Pending: "sharded tables",
		Doc: "Time without use after which a shard leaves memory.",
		ref: func(s *Settings, _ []string) any { return &s.Shards.Idle },
	},
	{
		Name: "Shards:QuantumSeconds", Type: Seconds, Default: "0", DefaultNote: "0 (= 60)", Pending: "sharded tables",
		Doc: "Interval of the scan for idle shards; must be less than Shards:IdleSeconds.",
		ref: func(s *Settings, _ []string) any { return &s.Shards.Quantum },
	},

	{
		Name: "Tables:FlushMs", Type: Millis, Default: "0", Pending: "parallel tables",
		Doc: "Longest time that a parallel table may collect epochs before it commits; 0 is off.",
		ref: func(s *Settings, _ []string) any { return &s.Tables.Flush },
	},
	{
		Name: "Tables:CheckpointMs", Type: Millis, Default: "5000", Min: 100,
		Doc: "Interval of checkpoints. A restart replays at most about this much.",
		ref: func(s *Settings, _ []string) any { return &s.Tables.Checkpoint },
	},
	{
		Name: "Pipelines:IdleMs", Type: Millis, Default: "5000", Min: 1,
		Doc: "An input without rows for this long no longer holds the watermark back.",
		ref: func(s *Settings, _ []string) any { return &s.Pipelines.Idle },
	},
	{
		Name: "Pipelines:TransportLagAllowanceMs", Type: Millis, Default: "0", Pending: "external NATS clusters",
		DefaultNote: "0 embedded, 4000 external",
		Doc:         "Delay of watermark ticks for rows still on their way.",
		ref:         func(s *Settings, _ []string) any { return &s.Pipelines.TransportLagAllowance },
	},
	{
		Name: "Sinks:RecheckSeconds", Type: Seconds, Default: "30", Min: 1, Pending: "sinks",
		Doc: "Interval at which sinks compare their settings with the stored definition.",
		ref: func(s *Settings, _ []string) any { return &s.Sinks.Recheck },
	},

	{
		Name: "Tls:Enabled", Type: Bool, Default: "false",
		Doc: "Serve TLS. Needs Tls:CertPath and Tls:KeyPath.",
		ref: func(s *Settings, _ []string) any { return &s.TLS.Enabled },
	},
	{
		Name: "Tls:CertPath", Type: Path, Aliases: []string{"Kestrel:Certificates:Default:Path"},
		Doc: "Certificate chain (PEM) of the listeners.",
		ref: func(s *Settings, _ []string) any { return &s.TLS.CertPath },
	},
	{
		Name: "Tls:KeyPath", Type: Path, Aliases: []string{"Kestrel:Certificates:Default:KeyPath"},
		Doc: "Private key (PEM) of the listeners.",
		ref: func(s *Settings, _ []string) any { return &s.TLS.KeyPath },
	},
	{
		Name: "Tls:KeyPassword", Type: Text, Secret: true, Aliases: []string{"Kestrel:Certificates:Default:Password"}, Pending: "encrypted keys and PFX files", Refused: true,
		Doc: "Password of the private key.",
		ref: func(s *Settings, _ []string) any { return &s.TLS.KeyPassword },
	},
	{
		Name: "Tls:TrustedCaPath", Type: Path, Pending: "outbound connectors",
		Doc: "Certificate authorities (PEM) to trust for outbound calls, beside those of the system.",
		ref: func(s *Settings, _ []string) any { return &s.TLS.TrustedCAPath },
	},
	{
		Name: "Tls:AcceptAnyCertificate", Type: Bool, Default: "false", Pending: "outbound connectors",
		Doc: "Accept any certificate on outbound calls. For development only.",
		ref: func(s *Settings, _ []string) any { return &s.TLS.AcceptAnyCertificate },
	},
	{
		Name: "Secrets:Key", Type: Text, Secret: true, DefaultNote: "empty (plain text at rest)", Pending: "encryption of stored secrets", Refused: true,
		Doc: "Key that encrypts stored secrets.",
		ref: func(s *Settings, _ []string) any { return &s.Secrets.Key },
	},
	{
		Name: "Sql:StrictNotIn", Type: Bool, Default: "false",
		Doc: "IN and NOT IN over a subquery with NULLs as the standard has it: three-valued. Without it, a row with NULL on the left is dropped and NULLs of the subquery are ignored.",
		ref: func(s *Settings, _ []string) any { return &s.SQL.StrictNotIn },
	},
}

// defaultOrigins is the list that stands while no Cors:AllowedOrigins key is set:
// where the console's development server runs.
var defaultOrigins = []string{"http://localhost:5173"}

// slot is the place at a dense index of a list, which grows by one when asked for its end.
func slot[T any](list *[]T, index string) *T {
	i := 0
	for _, c := range index {
		i = i*10 + int(c-'0')
	}
	for len(*list) <= i {
		var zero T
		*list = append(*list, zero)
	}
	return &(*list)[i]
}

// entry is the place of one name in Endpoints.
type entry struct {
	s    *Settings
	name string
}

// foldName makes the one spelling under which an endpoint name is kept: the
// environment has no `-` and no case.
func foldName(name string) string {
	return strings.ReplaceAll(strings.ToLower(name), "_", "-")
}
