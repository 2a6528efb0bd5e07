package streams

import (
	"fmt"
	"strings"
)

// DefaultEnv is the name of the environment that always exists.
const DefaultEnv = "default"

const hexDigits = "0123456789ABCDEF"

// Encode writes a name so that it is one subject token, a legal part of a stream name and a legal KV key: every byte
// outside A-Z, a-z, 0-9, '_' and '-' becomes =XX. Different names have different encodings.
func Encode(name string) string {
	plain := 0
	for plain < len(name) && isPlain(name[plain]) {
		plain++
	}
	if plain == len(name) {
		return name
	}
	b := make([]byte, 0, len(name)+8)
	b = append(b, name[:plain]...)
	for i := plain; i < len(name); i++ {
		if c := name[i]; isPlain(c) {
			b = append(b, c)
		} else {
			b = append(b, '=', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return string(b)
}

// Decode is the inverse of [Encode]. It refuses every token that Encode does not produce, so a name has exactly one
// spelling on the wire.
func Decode(token string) (string, error) {
	if token == "" {
		return "", fmt.Errorf("decode name: the token is empty")
	}
	b := make([]byte, 0, len(token))
	for i := 0; i < len(token); i++ {
		c := token[i]
		switch {
		case isPlain(c):
			b = append(b, c)
		case c == '=' && i+2 < len(token):
			hi, lo := strings.IndexByte(hexDigits, token[i+1]), strings.IndexByte(hexDigits, token[i+2])
			if hi < 0 || lo < 0 {
				return "", fmt.Errorf("decode name %q: %q is not an escape (=XX, capital hex digits)", token, token[i:i+3])
			}
			v := byte(hi<<4 | lo)
			if isPlain(v) {
				return "", fmt.Errorf("decode name %q: %q is written without an escape", token, string(rune(v)))
			}
			b = append(b, v)
			i += 2
		default:
			return "", fmt.Errorf("decode name %q: %q is not allowed", token, string(rune(c)))
		}
	}
	return string(b), nil
}

func isPlain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// Subjects. Every function takes plain names and encodes them.

// SourceSubject carries the rows of a source.
func SourceSubject(env, source string) string { return subject(env, "source", source) }

// QuarantineSubject carries the rows of a source that could not be read.
func QuarantineSubject(env, source string) string {
	return subject(env, "quarantine", "source", source)
}

// ResultSubject carries the result rows of a pipeline.
func ResultSubject(env, pipelineID string) string {
	return subject(env, "pipeline", pipelineID, "result")
}

// LateSubject carries the rows that came after their window had closed.
func LateSubject(env, pipelineID string) string { return subject(env, "pipeline", pipelineID, "late") }

// DeltaSubject carries the deltas of a table.
func DeltaSubject(env, table string) string { return subject(env, "table", table, "delta") }

// StageSubject carries the exchange batches of a partitioned table between processes.
func StageSubject(env, table, stage, partition string) string {
	return subject(env, "table", table, "stage", stage, partition)
}

// TableReadSubject is a read of a table by request and reply: rows, search, shard, history, metrics or replay.
func TableReadSubject(env, table, verb string) string { return subject(env, "table", table, verb) }

// PipelineReadSubject is a read of a pipeline by request and reply: results, metrics or replay.
func PipelineReadSubject(env, pipelineID, verb string) string {
	return subject(env, "pipeline", pipelineID, verb)
}

// IngestSubject carries accepted push rows of a buffered policy before their publication.
func IngestSubject(env, source string) string { return subject(env, "ingest", source) }

// EpochsSubject carries the shared logical clock of an environment.
func EpochsSubject(env string) string { return subject(env, "epochs") }

// LifecycleSubject carries the lifecycle events of an environment.
func LifecycleSubject(env string) string { return subject(env, "lifecycle") }

// MetricsSubject carries the metrics object of an entity; it is not stored.
func MetricsSubject(env, kind, key string) string { return subject(env, "metrics", kind, key) }

// FrontierSubject announces the epoch that an entity has reached; it is not stored.
func FrontierSubject(env, kind, key string) string { return subject(env, "frontier", kind, key) }

// AwarenessSubject carries the peers of a collaborative source; it is not stored.
func AwarenessSubject(env, source string) string { return subject(env, "awareness", source) }

// DeadLetterSubject carries the rows that a sink could not deliver.
func DeadLetterSubject(env, kind, key, sinkKey string) string {
	return subject(env, "sink", "dlq", kind, key, sinkKey)
}

// ControlSubject is a request inside the server group: attach, fence or probe an entity.
func ControlSubject(env, kind, key, verb string) string {
	return "sf.ctl." + Encode(env) + "." + Encode(kind) + "." + Encode(key) + "." + Encode(verb)
}

// AuditSubject carries the audit entries of one day, written yyyyMMdd.
func AuditSubject(day string) string { return "sf.audit." + Encode(day) }

// PolicySubject announces a new version of the access document; it is not stored.
const PolicySubject = "sf.policy.changed"

// InboxPrefix is the reply prefix of a NATS user: the only subjects below _INBOX that the user may subscribe to.
// A client sets it as its custom inbox prefix.
func InboxPrefix(user string) string { return "_INBOX_" + Encode(user) }

func subject(env string, tokens ...string) string {
	var b strings.Builder
	b.WriteString("sf.")
	b.WriteString(Encode(env))
	for _, t := range tokens {
		b.WriteByte('.')
		b.WriteString(Encode(t))
	}
	return b.String()
}

// Streams.

// SourceStream is the stream of a source.
func SourceStream(env, source string) string { return stream(env, "SRC", source) }

// QuarantineStream holds the unreadable rows of a source.
func QuarantineStream(env, source string) string { return stream(env, "QUAR", source) }

// ResultStream is the journal of a pipeline.
func ResultStream(env, pipelineID string) string { return stream(env, "PIPE", pipelineID) }

// LateStream holds the late rows of a pipeline.
func LateStream(env, pipelineID string) string { return stream(env, "PLATE", pipelineID) }

// TableStream is the journal of a table. It is named by the id, so that a rename keeps its positions.
func TableStream(env, tableID string) string { return stream(env, "TBL", tableID) }

// IngestStream holds accepted push rows until they are published.
func IngestStream(env, source string) string { return stream(env, "ING", source) }

// ExchangeStream carries the batches between the partitions of a table in different processes.
func ExchangeStream(env, tableID string) string { return stream(env, "EXCH", tableID) }

// DeadLetterStream holds what the sinks of an environment could not deliver.
func DeadLetterStream(env string) string { return stream(env, "DLQ") }

// EpochsStream is the clock of an environment.
func EpochsStream(env string) string { return stream(env, "EPOCHS") }

// LifecycleStream holds the lifecycle events of an environment.
func LifecycleStream(env string) string { return stream(env, "LIFECYCLE") }

// AuditStream holds the audit entries of the instance.
const AuditStream = "SF_AUDIT"

func stream(env string, parts ...string) string {
	var b strings.Builder
	b.WriteString("SF_")
	b.WriteString(Encode(env))
	for _, p := range parts {
		b.WriteByte('_')
		b.WriteString(Encode(p))
	}
	return b.String()
}

// EnvBucket is the KV bucket or object store of an environment, for instance SF_default_catalog. What is one of
// catalog, cursor, ledger, dedup, ingest, table, sink and the object store state.
func EnvBucket(env, what string) string { return "SF_" + Encode(env) + "_" + what }

// Buckets of the whole instance.
const (
	UsersBucket        = "SF_users"
	AccessBucket       = "SF_access"
	ApprovalsBucket    = "SF_approvals"
	AuditMetaBucket    = "SF_auditmeta"
	EnvironmentsBucket = "SF_environments"
	InstanceBucket     = "SF_instance"
	LeasesBucket       = "SF_leases"
	SessionBucket      = "SF_session"
)

// Key joins encoded parts to a KV key: Key("source", "a b") is "source.a=20b".
func Key(parts ...string) string {
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(Encode(p))
	}
	return b.String()
}

// SplitKey is the inverse of [Key].
func SplitKey(key string) ([]string, error) {
	parts := strings.Split(key, ".")
	for i, p := range parts {
		name, err := Decode(p)
		if err != nil {
			return nil, fmt.Errorf("split key %q: %w", key, err)
		}
		parts[i] = name
	}
	return parts, nil
}

// Entity is what a subject of an environment is about.
type Entity struct {
	Env  string
	Kind string // source, quarantine, pipeline or table
	Key  string // the name, or for a pipeline the id
	Verb string // what follows the key: delta, result, late, rows, ...; empty for a source
}

// ParseSubject says which entity a subject of the product belongs to: the inverse of [SourceSubject],
// [QuarantineSubject], [ResultSubject], [LateSubject], [DeltaSubject] and the read subjects. ok is false for every other subject.
func ParseSubject(s string) (e Entity, ok bool) {
	t := strings.Split(s, ".")
	if len(t) < 4 || t[0] != "sf" {
		return Entity{}, false
	}
	var env, key, verb string
	switch {
	case t[2] == "source" && len(t) == 4:
		env, key = t[1], t[3]
	case t[2] == "quarantine" && len(t) == 5 && t[3] == "source":
		env, key = t[1], t[4]
	case (t[2] == "table" || t[2] == "pipeline") && len(t) == 5:
		env, key, verb = t[1], t[3], t[4]
	default:
		return Entity{}, false
	}
	e = Entity{Kind: t[2], Verb: verb}
	var err error
	if e.Env, err = Decode(env); err != nil {
		return Entity{}, false
	}
	if e.Key, err = Decode(key); err != nil {
		return Entity{}, false
	}
	return e, true
}
