package streams_test

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"

	"github.com/streamsforge/streamsforge/streams"
)

func TestEncodeWritesBytesOutsideThePlainSet(t *testing.T) {
	for name, want := range map[string]string{
		"trades": "trades", "a b": "a=20b", "a.b": "a=2Eb", "*": "=2A", ">": "=3E", "a=b": "a=3Db", "ü": "=C3=BC",
		"A-z_9": "A-z_9", "ingest:orders": "ingest=3Aorders", "a/b": "a=2Fb", "\x00": "=00",
	} {
		if got := streams.Encode(name); got != want {
			t.Errorf("Encode(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestDecodeRefusesOtherSpellings(t *testing.T) {
	for _, token := range []string{"", "a b", "a.b", "=", "=2", "=2e", "=41", "=GG", "a=", "=5F"} {
		if got, err := streams.Decode(token); err == nil {
			t.Errorf("Decode(%q) = %q, want an error", token, got)
		}
	}
}

func TestNamesAreOnTheWireAsTheContractSays(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{streams.SourceSubject("default", "trades"), "sf.default.source.trades"},
		{streams.QuarantineSubject("default", "trades"), "sf.default.quarantine.source.trades"},
		{streams.ResultSubject("default", "p1"), "sf.default.pipeline.p1.result"},
		{streams.LateSubject("default", "p1"), "sf.default.pipeline.p1.late"},
		{streams.DeltaSubject("default", "my table"), "sf.default.table.my=20table.delta"},
		{streams.StageSubject("default", "t", "s", "3"), "sf.default.table.t.stage.s.3"},
		{streams.TableReadSubject("default", "t", "rows"), "sf.default.table.t.rows"},
		{streams.PipelineReadSubject("default", "p", "results"), "sf.default.pipeline.p.results"},
		{streams.IngestSubject("default", "t"), "sf.default.ingest.t"},
		{streams.EpochsSubject("stage-2"), "sf.stage-2.epochs"},
		{streams.LifecycleSubject("default"), "sf.default.lifecycle"},
		{streams.MetricsSubject("default", "table", "t"), "sf.default.metrics.table.t"},
		{streams.FrontierSubject("default", "table", "t"), "sf.default.frontier.table.t"},
		{streams.AwarenessSubject("default", "s"), "sf.default.awareness.s"},
		{streams.DeadLetterSubject("default", "table", "t", "k"), "sf.default.sink.dlq.table.t.k"},
		{streams.ControlSubject("default", "table", "t", "fence"), "sf.ctl.default.table.t.fence"},
		{streams.AuditSubject("20261130"), "sf.audit.20261130"},
		{streams.InboxPrefix("ingest:a"), "_INBOX_ingest=3Aa"},
		{streams.SourceStream("default", "trades"), "SF_default_SRC_trades"},
		{streams.QuarantineStream("default", "trades"), "SF_default_QUAR_trades"},
		{streams.ResultStream("default", "p"), "SF_default_PIPE_p"},
		{streams.LateStream("default", "p"), "SF_default_PLATE_p"},
		{streams.TableStream("default", "t"), "SF_default_TBL_t"},
		{streams.IngestStream("default", "s"), "SF_default_ING_s"},
		{streams.ExchangeStream("default", "t"), "SF_default_EXCH_t"},
		{streams.DeadLetterStream("default"), "SF_default_DLQ"},
		{streams.EpochsStream("default"), "SF_default_EPOCHS"},
		{streams.LifecycleStream("default"), "SF_default_LIFECYCLE"},
		{streams.EnvBucket("default", "catalog"), "SF_default_catalog"},
		{streams.Key("source", "a b"), "source.a=20b"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

func TestParseSubjectIsTheInverse(t *testing.T) {
	name := rapid.StringN(1, 12, 40)
	rapid.Check(t, func(t *rapid.T) {
		env, key := name.Draw(t, "env"), name.Draw(t, "key")
		for subject, want := range map[string]streams.Entity{
			streams.SourceSubject(env, key):               {Env: env, Kind: "source", Key: key},
			streams.QuarantineSubject(env, key):           {Env: env, Kind: "quarantine", Key: key},
			streams.DeltaSubject(env, key):                {Env: env, Kind: "table", Key: key, Verb: "delta"},
			streams.ResultSubject(env, key):               {Env: env, Kind: "pipeline", Key: key, Verb: "result"},
			streams.TableReadSubject(env, key, "rows"):    {Env: env, Kind: "table", Key: key, Verb: "rows"},
			streams.PipelineReadSubject(env, key, "late"): {Env: env, Kind: "pipeline", Key: key, Verb: "late"},
		} {
			if got, ok := streams.ParseSubject(subject); !ok || got != want {
				t.Fatalf("ParseSubject(%q) = %+v, %v, want %+v", subject, got, ok, want)
			}
		}
		if parts, err := streams.SplitKey(streams.Key(env, key)); err != nil || len(parts) != 2 || parts[0] != env || parts[1] != key {
			t.Fatalf("SplitKey(Key(%q, %q)) = %q, %v", env, key, parts, err)
		}
	})
}

func TestParseSubjectRefusesOthers(t *testing.T) {
	for _, s := range []string{"", "sf", "sf.default", "sf.default.epochs", "sf.ctl.default.table.t.fence", "$KV.a.b.c", "sf.default.source.a.b", "sf.default.source.=zz", "x.default.source.a"} {
		if e, ok := streams.ParseSubject(s); ok {
			t.Errorf("ParseSubject(%q) = %+v, want no", s, e)
		}
	}
}

// legal is what NATS takes as a subject token, as a part of a stream name, and as a part of a KV key.
var legal = regexp.MustCompile(`^[A-Za-z0-9_=-]+$`)

func FuzzEncode(f *testing.F) {
	for _, s := range []string{"trades", "a b", "", "ü", "=41", "\xff", "*.>", "a\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		token := streams.Encode(name)
		if name == "" {
			return
		}
		if !legal.MatchString(token) {
			t.Fatalf("Encode(%q) = %q", name, token)
		}
		if back, err := streams.Decode(token); err != nil || back != name {
			t.Fatalf("Decode(Encode(%q)) = %q, %v", name, back, err)
		}
		// A name that is a token of another one decodes to that one, or not at all: one spelling each.
		if n, err := streams.Decode(name); err == nil && streams.Encode(n) != name {
			t.Fatalf("Decode(%q) = %q, whose token is %q", name, n, streams.Encode(n))
		}
	})
}
