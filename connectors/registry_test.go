package connectors_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsforge/streamsforge/connectors"
	_ "github.com/streamsforge/streamsforge/connectors/standard"
)

func panics(f func()) (message string) {
	defer func() {
		if v := recover(); v != nil {
			message, _ = v.(string)
		}
	}()
	f()
	return ""
}

func TestRegisterRefusesMistakesOfTheBuild(t *testing.T) {
	cases := map[string]connectors.Kind{
		"registered twice":       {Name: "generator"},
		"needs a name":           {},
		"without options":        {Name: "t1", Descriptor: connectors.Descriptor{Fields: []connectors.Field{{Key: "a", Type: connectors.Select}}}},
		"is described twice":     {Name: "t2", Descriptor: connectors.Descriptor{Fields: []connectors.Field{{Key: "a"}, {Key: "a"}}}},
		"which is not":           {Name: "t3", Descriptor: connectors.Descriptor{Fields: []connectors.Field{{Key: "a", Group: connectors.Str("g")}}}},
		"unknown type":           {Name: "t4", Descriptor: connectors.Descriptor{Fields: []connectors.Field{{Key: "a", Type: "color"}}}},
		"default of field \"a\"": {Name: "t5", Descriptor: connectors.Descriptor{Fields: []connectors.Field{{Key: "a", Type: connectors.Number, Default: connectors.Str("x")}}}},
	}
	for want, k := range cases {
		if got := panics(func() { connectors.Register(k) }); !strings.Contains(got, want) || !strings.HasPrefix(got, "BUG:") {
			t.Errorf("Register(%+v) panicked with %q, want %q", k, got, want)
		}
	}
}

func TestLookupTellsUnknownFromNotBuilt(t *testing.T) {
	if _, err := connectors.Lookup("generator"); err != nil {
		t.Errorf("generator: %v", err)
	}
	var notBuilt *connectors.NotBuiltError
	if _, err := connectors.Lookup("mssql-cdc"); !errors.As(err, &notBuilt) {
		t.Errorf("mssql-cdc: %v, want a NotBuiltError", err)
	}
	var unknown *connectors.UnknownKindError
	_, err := connectors.Lookup("nope")
	if !errors.As(err, &unknown) || !strings.Contains(err.Error(), "generator, url, file") {
		t.Errorf("nope: %v, want an UnknownKindError that lists the kinds", err)
	}
	if n := connectors.Names(); !slices.Contains(n, "generator") || !slices.Contains(n, "ingest") {
		t.Errorf("Names() = %v", n)
	}
	if got := connectors.Validate(connectors.Definition{Kind: "nope"}); len(got) != 1 {
		t.Errorf("Validate of an unknown kind: %q", got)
	}
}

func TestSectionsBelongToTheirKind(t *testing.T) {
	gen := connectors.Definition{Kind: "generator", Profile: "trades", EventsPerSecond: 1}
	for want, change := range map[string]func(*connectors.Definition){
		"belongs to kind ingest": func(d *connectors.Definition) { d.Ingest = &connectors.IngestConfig{} },
		"connector.url does not belong to kind generator": func(d *connectors.Definition) {
			d.Connector = &connectors.Connector{URL: json.RawMessage(`{}`)}
		},
		"has no connector": func(d *connectors.Definition) { d.Connector = &connectors.Connector{} },
	} {
		d := gen
		change(&d)
		if got := strings.Join(connectors.Validate(d), "\n"); !strings.Contains(got, want) {
			t.Errorf("problems are %q, want %q", got, want)
		}
	}
	if got := connectors.Validate(gen); len(got) > 0 {
		t.Errorf("a right definition has problems: %q", got)
	}
}

var sample = connectors.Descriptor{
	Kind: "sample", Label: "Sample", ConfigProperty: "nats", Polled: true,
	Groups: []connectors.Group{{Key: "tls", Label: "TLS", Optional: true, ObjectKey: connectors.Str("tls")}},
	Fields: []connectors.Field{
		{Key: "url", Label: "URL", Required: true},
		{Key: "port", Label: "Port", Type: connectors.Number, Default: connectors.Str("4222")},
		{Key: "mode", Label: "Mode", Type: connectors.Select, Options: []string{"a", "b"}},
		{Key: "quick", Label: "Quick", Type: connectors.Flag},
		{Key: "password", Label: "Password", Type: connectors.Secret},
		{Key: "keyFile", Label: "Key", Type: connectors.Secret, Group: connectors.Str("tls"), Required: true},
	},
}

func TestDescriptorValidates(t *testing.T) {
	cases := []struct{ section, want string }{
		{`{"url":"x"}`, ""},
		{`{"url":"x","port":1,"mode":"a","quick":true,"other":[1]}`, ""},
		{`{"url":"x","port":"12"}`, ""},
		{`{"url":"x","tls":null}`, ""},
		{`{"url":"x","tls":{"keyFile":"k"}}`, ""},
		{``, "kind sample needs connector.nats"},
		{`null`, "kind sample needs connector.nats"},
		{`[]`, "connector.nats: expected an object"},
		{`{}`, "connector.nats.url is required"},
		{`{"url":""}`, "connector.nats.url is required"},
		{`{"url":{}}`, "connector.nats.url: expected a single value"},
		{`{"url":"x","port":"many"}`, `connector.nats.port: "many" is not a number`},
		{`{"url":"x","mode":"c"}`, `connector.nats.mode: "c" is not one of a, b`},
		{`{"url":"x","quick":1}`, `connector.nats.quick: "1" is not true or false`},
		{`{"url":"x","tls":{}}`, "connector.nats.tls.keyFile is required"},
		{`{"url":"x","tls":7}`, "connector.nats.tls.keyFile: tls: expected an object"},
	}
	for _, c := range cases {
		if got := strings.Join(sample.Validate(json.RawMessage(c.section)), "; "); got != c.want {
			t.Errorf("Validate(%s) = %q, want %q", c.section, got, c.want)
		}
	}
	if got := strings.Join(sample.ValidateSettings(map[string]string{"port": "x"}), "; "); got != `connector.settings.url is required; connector.settings.port: "x" is not a number; connector.settings.tls.keyFile is required` {
		t.Errorf("ValidateSettings: %q", got)
	}
}

func TestDescriptorMasksAndMergesSecrets(t *testing.T) {
	stored := json.RawMessage(`{"url":"x","password":"p1","tls":{"keyFile":"k1","caFile":"c"}}`)
	masked := sample.Mask(stored)
	if s := string(masked); strings.Contains(s, "p1") || strings.Contains(s, "k1") || !strings.Contains(s, `"password":"***"`) || !strings.Contains(s, `"caFile":"c"`) {
		t.Errorf("Mask = %s", s)
	}
	if got := sample.Mask(json.RawMessage(`{"url":"x"}`)); string(got) != `{"url":"x"}` {
		t.Errorf("Mask without secrets = %s", got)
	}
	var back map[string]any
	if err := json.Unmarshal(sample.Merge(stored, masked), &back); err != nil {
		t.Fatal(err)
	}
	if back["password"] != "p1" || back["tls"].(map[string]any)["keyFile"] != "k1" {
		t.Errorf("Merge(stored, masked) = %v", back)
	}
	changed := sample.Merge(stored, json.RawMessage(`{"url":"x","password":"p2"}`))
	if string(changed) != `{"url":"x","password":"p2"}` {
		t.Errorf("a sent secret wins: %s", changed)
	}
	if got := sample.Merge(json.RawMessage(`{}`), json.RawMessage(`{"password":"***"}`)); string(got) != `{}` {
		t.Errorf("a mask without a stored secret = %s, want it absent", got)
	}
}

func TestDescriptorJSON(t *testing.T) {
	b, err := json.Marshal(sample)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"configProperty":"nats"`, `"type":"string"`, `"version":"1.0.0"`, `"group":"tls"`, `"options":["a","b"]`, `"default":"4222"`, `"placeholder":null`, `"objectKey":"tls"`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %s in %s", want, b)
		}
	}
	if b, _ := json.Marshal(connectors.Descriptor{Kind: "x"}); !strings.Contains(string(b), `"fields":[],"groups":[]`) {
		t.Errorf("empty lists are null: %s", b)
	}
}

func TestScheduleProblems(t *testing.T) {
	cron, short, right := "* * * * *", int64(999), int64(1000)
	cases := []struct {
		s    *connectors.Schedule
		want string
	}{
		{nil, ""}, {&connectors.Schedule{IntervalMs: &right}, ""}, {&connectors.Schedule{Cron: &cron}, ""},
		{&connectors.Schedule{}, "set cron or intervalMs"},
		{&connectors.Schedule{Cron: &cron, IntervalMs: &right}, "not both"},
		{&connectors.Schedule{IntervalMs: &short}, "at least 1000"},
	}
	for _, c := range cases {
		got := strings.Join(c.s.Problems(), "; ")
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("Problems(%+v) = %q, want %q", c.s, got, c.want)
		}
	}
}

func TestBackoff(t *testing.T) {
	want := []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 15 * time.Minute, 15 * time.Minute}
	for i, w := range want {
		if got := connectors.DefaultBackoff.After(i + 1); got != w {
			t.Errorf("After(%d) = %v, want %v", i+1, got, w)
		}
	}
	if got := connectors.DefaultBackoff.After(1 << 40); got != 15*time.Minute {
		t.Errorf("After(very many) = %v", got)
	}
}
