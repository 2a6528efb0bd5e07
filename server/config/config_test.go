package config_test

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsforge/streamsforge/server/config"
)

// files is a ReadFile over a map.
func files(m map[string]string) func(string) ([]byte, error) {
	return func(path string) ([]byte, error) {
		if text, ok := m[path]; ok {
			return []byte(text), nil
		}
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
}

func withFiles(in config.Input) config.Input {
	if in.ReadFile == nil {
		in.ReadFile = files(nil)
	}
	return in
}

func load(t *testing.T, in config.Input) *config.Loaded {
	t.Helper()
	l, err := config.Load(withFiles(in))
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return l
}

// sample is a valid value of each key that differs from its default.
func sample(k *config.Key) string {
	switch k.Type {
	case config.Bool:
		if k.Default == "true" {
			return "false"
		}
		return "true"
	case config.Choice:
		i := slices.Index(k.Choices, k.Default)
		return k.Choices[(i+1)%len(k.Choices)]
	case config.Port:
		return "6001"
	case config.Address:
		return "0.0.0.0:6222"
	case config.URL:
		return "https://example.com/x"
	case config.Int, config.Bytes, config.Millis, config.Seconds:
		n := map[string]string{"Nats:MaxPayload": "1048576", "Nats:Replicas": "3"}[k.Name]
		if n == "" {
			n = "1234"
		}
		if k.Name == "Shards:QuantumSeconds" {
			n = "7"
		}
		return n
	default:
		return "a-text-that-is-long-enough-for-a-signing-key"
	}
}

// concrete is a name of the key with its open segments filled.
func concrete(name string) string {
	return strings.NewReplacer("<n>", "0", "<name>", "eu-feed").Replace(name)
}

// companions are the settings that make a single changed key a valid configuration.
var companions = map[string][]string{
	"Tls:Enabled":                      {"--Tls:CertPath", "c.pem", "--Tls:KeyPath", "k.pem"},
	"Discovery:Peers:<n>:RestEndpoint": {"--Discovery:Peers:0:Name", "p"},
	"Discovery:Peers:<n>:GrpcEndpoint": {"--Discovery:Peers:0:Name", "p"},
}

func TestEveryKeyFromEverySource(t *testing.T) {
	for _, k := range config.Keys() {
		t.Run(k.Name, func(t *testing.T) {
			name, want := concrete(k.Name), sample(k)
			check := func(t *testing.T, in config.Input, origin string) {
				t.Helper()
				in.Args = append(in.Args, companions[k.Name]...)
				if k.Refused {
					_, err := config.Load(withFiles(in))
					wantError(t, err, k.Name+" cannot be set yet ("+origin+"): this version does not have "+k.Pending)
					return
				}
				l := load(t, in)
				v, ok := l.Value(name)
				if !ok || v.Text != want || v.Origin != origin {
					t.Errorf("value %q from %q, want %q from %q", v.Text, v.Origin, want, origin)
				}
				if shown := v.Shown(); k.Secret && shown != "***" || !k.Secret && shown != want {
					t.Errorf("shown as %q", shown)
				}
				if warned := len(l.Warnings) > 0; (k.Ignored != "" || k.Pending != "") && !warned {
					t.Error("a key without effect is accepted without a warning")
				}
			}
			check(t, config.Input{Args: []string{"--" + name, want}}, "flag --"+name)
			check(t, config.Input{Args: []string{"--" + strings.ToLower(name) + "=" + want}}, "flag --"+strings.ToLower(name))
			env := config.EnvName(name)
			check(t, config.Input{Environ: []string{env + "=" + want}}, "environment "+env)
			check(t, config.Input{Environ: []string{strings.ToLower(env) + "=" + want}}, "environment "+strings.ToLower(env))
			document := `{` + "\n" + `"` + name + `": "` + want + `"}`
			check(t, config.Input{ReadFile: files(map[string]string{"streamsforge.json": document})}, "file streamsforge.json:2")
			for _, alias := range k.Aliases {
				check(t, config.Input{Args: []string{"--" + alias, want}}, "flag --"+alias)
				check(t, config.Input{Environ: []string{config.EnvName(alias) + "=" + want}}, "environment "+config.EnvName(alias))
			}
			for _, extra := range k.Env {
				check(t, config.Input{Environ: []string{extra + "=" + want}}, "environment "+extra)
			}
			if k.Secret {
				file := files(map[string]string{"/run/secrets/x": want + "\n"})
				check(t, config.Input{Environ: []string{env + "_FILE=/run/secrets/x"}, ReadFile: file}, "environment "+env+"_FILE")
			}
		})
	}
}

func TestPrecedence(t *testing.T) {
	in := config.Input{
		Args:     []string{"--Http:Port", "1"},
		Environ:  []string{"HTTP__PORT=2", "PORT=4"},
		ReadFile: files(map[string]string{"streamsforge.json": `{"http":{"port":3}}`}),
	}
	steps := []struct {
		port   int
		origin string
		drop   func()
	}{
		{1, "flag --Http:Port", func() { in.Args = nil }},
		{2, "environment HTTP__PORT", func() { in.Environ = in.Environ[1:] }},
		{3, "file streamsforge.json:1", func() { in.ReadFile = files(nil) }},
		{4, "environment PORT", func() { in.Environ = nil }},
		{5199, "default", func() {}},
	}
	for _, s := range steps {
		l := load(t, in)
		if l.Settings.HTTP.Port != s.port || l.Origin("Http:Port") != s.origin {
			t.Errorf("port %d from %q, want %d from %q", l.Settings.HTTP.Port, l.Origin("Http:Port"), s.port, s.origin)
		}
		s.drop()
	}
}

func TestPORT(t *testing.T) {
	l := load(t, config.Input{Environ: []string{"PORT=8080"}})
	if l.Settings.HTTP.Port != 8080 || l.Settings.GRPC.Port != 8180 {
		t.Errorf("PORT=8080 gives HTTP %d and gRPC %d", l.Settings.HTTP.Port, l.Settings.GRPC.Port)
	}
	if len(l.Warnings) != 0 {
		t.Errorf("PORT alone warns: %q", l.Warnings)
	}
	l = load(t, config.Input{Environ: []string{"PORT="}})
	if l.Settings.HTTP.Port != 5199 {
		t.Errorf("an empty PORT gives %d", l.Settings.HTTP.Port)
	}
	_, err := config.Load(config.Input{Environ: []string{"PORT=http"}, ReadFile: files(nil)})
	wantError(t, err, `Http:Port = "http" (environment PORT): expected a port number from 0 to 65535`)
}

func TestDefaults(t *testing.T) {
	l := load(t, config.Input{Version: "1.2.3", Hostname: "node-a"})
	s := l.Settings
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"Http:Host", s.HTTP.Host, "127.0.0.1"},
		{"Nats:Listen", s.Nats.Listen, "127.0.0.1:4222"},
		{"Nats:MaxPayload", s.Nats.MaxPayload, 8 << 20},
		{"Streams:SyncIntervalMs", s.Streams.SyncInterval, time.Second},
		{"Replay:MaxBytesPerStream", s.Replay.MaxBytesPerStream, int64(1 << 30)},
		{"Quarantine:RetainMs", s.Quarantine.Retain, 7 * 24 * time.Hour},
		{"Tables:CheckpointMs", s.Tables.Checkpoint, 5 * time.Second},
		{"Auth:PolicyCacheSeconds", s.Auth.PolicyCache, 10 * time.Second},
		{"Cors:AllowedOrigins:0", strings.Join(s.CORS.AllowedOrigins, ","), "http://localhost:5173"},
		{"InstanceName", s.InstanceName, "node-a"},
		{"Version", s.Version, "1.2.3"},
		{"Seed:Demo", s.Seed.Demo, true},
	} {
		if c.got != c.want {
			t.Errorf("%s is %v, want %v", c.name, c.got, c.want)
		}
	}
	if d := config.Default(); d.HTTP.Port != 5199 || d.InstanceName == "" {
		t.Errorf("Default() = %+v", d)
	}
}

func TestListsAndMaps(t *testing.T) {
	l := load(t, config.Input{
		Args:    []string{"--Cors:AllowedOrigins:10", "https://c", "--Endpoints:eu-feed", "flagged"},
		Environ: []string{"CORS__ALLOWEDORIGINS__2=https://b", "ENDPOINTS__EU_FEED=env", "ENDPOINTS__PRIMARY_OLTP=db:5432"},
		ReadFile: files(map[string]string{"streamsforge.json": `{
			"Cors": {"AllowedOrigins": ["https://a"]},
			"Endpoints": {"eu-feed": "file"},
			"Discovery": {"Peers": [{"Name": "x", "RestEndpoint": "http://x:5199"}, {"Name": "y"}]}}`}),
	})
	if got := strings.Join(l.Settings.CORS.AllowedOrigins, " "); got != "https://a https://b https://c" {
		t.Errorf("origins %q: indexes of several sources must join in numeric order", got)
	}
	for name, want := range map[string]string{"eu-feed": "flagged", "EU_FEED": "flagged", "primary-oltp": "db:5432", "Primary_OLTP": "db:5432"} {
		if got, _ := l.Settings.Endpoint(name); got != want {
			t.Errorf("endpoint %s is %q, want %q", name, got, want)
		}
	}
	want := []config.Peer{{Name: "x", RestEndpoint: "http://x:5199"}, {Name: "y"}}
	if !slices.Equal(l.Settings.Discovery.Peers, want) {
		t.Errorf("peers %+v", l.Settings.Discovery.Peers)
	}
}

func TestSwitches(t *testing.T) {
	for _, args := range [][]string{
		{"--Approvals:Enabled"}, {"--Approvals:Enabled", "--DataDir", "x"}, {"--Approvals:Enabled", "true"}, {"--Approvals:Enabled=yes"},
	} {
		if l := load(t, config.Input{Args: args}); !l.Settings.Approvals.Enabled {
			t.Errorf("%q does not set the switch", args)
		}
	}
	if l := load(t, config.Input{Args: []string{"--Seed:Demo", "false"}}); l.Settings.Seed.Demo {
		t.Error("--Seed:Demo false leaves it on")
	}
	if l := load(t, config.Input{Args: []string{"--Nats:Listen", "", "--Http:Port", "1", "--Http:Port", "2"}}); l.Settings.Nats.Listen != "" || l.Settings.HTTP.Port != 2 {
		t.Errorf("an empty value or a repeated flag is not taken: %+v", l.Settings)
	}
}

func TestEmptyEnvironment(t *testing.T) {
	l := load(t, config.Input{Environ: []string{"HTTP__PORT=", "NATS__LISTEN=", "SEED__DEMO="}})
	if l.Settings.HTTP.Port != 5199 || l.Settings.Nats.Listen != "" || !l.Settings.Seed.Demo {
		t.Errorf("port %d, listen %q, demo %v", l.Settings.HTTP.Port, l.Settings.Nats.Listen, l.Settings.Seed.Demo)
	}
}

func TestOthersEnvironmentIsLeftAlone(t *testing.T) {
	load(t, config.Input{Environ: []string{"PATH=/bin", "MYAPP__PORT=x", "HTTP_PROXY=p", "VERSIONS=1", "_=x", "=C:=x"}})
}

func TestNamedFile(t *testing.T) {
	l := load(t, config.Input{
		Args:     []string{"--config", "/etc/sf.json"},
		ReadFile: files(map[string]string{"/etc/sf.json": `{"DataDir": "/var/lib/sf"}`, "streamsforge.json": `{"DataDir": "no"}`}),
	})
	if l.Settings.DataDir != "/var/lib/sf" || l.File != "/etc/sf.json" {
		t.Errorf("data directory %q from %q", l.Settings.DataDir, l.File)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name string
		in   config.Input
		file string
		want []string // each a whole line
	}{
		{name: "unknown flag", in: config.Input{Args: []string{"--Http:Prt", "1"}},
			want: []string{"Http:Prt is not a configuration key (flag --Http:Prt): did you mean Http:Port?"}},
		{name: "right word, no section", in: config.Input{Args: []string{"--Listen", "x"}},
			want: []string{"Listen is not a configuration key (flag --Listen): did you mean Nats:Listen?"}},
		{name: "nothing near", in: config.Input{Args: []string{"--Frobnicate", "1"}},
			want: []string{"Frobnicate is not a configuration key (flag --Frobnicate): `streamsforge config explain` lists every key"}},
		{name: "list without index", in: config.Input{Args: []string{"--Cors:AllowedOrigins", "https://a"}},
			want: []string{"Cors:AllowedOrigins is not a configuration key (flag --Cors:AllowedOrigins): it holds several values; write Cors:AllowedOrigins:0"}},
		{name: "unknown environment of ours", in: config.Input{Environ: []string{"TABLES__FLUSHMSS=1"}},
			want: []string{"TABLES:FLUSHMSS is not a configuration key (environment TABLES__FLUSHMSS): did you mean Tables:FlushMs?"}},
		{name: "unknown in file", file: "{\n  \"Tables\": {\n    \"Flush\": 1}}",
			want: []string{"Tables:Flush is not a configuration key (file streamsforge.json:3): did you mean Tables:FlushMs?"}},
		{name: "bad number", in: config.Input{Environ: []string{"TABLES__CHECKPOINTMS=5s"}},
			want: []string{`Tables:CheckpointMs = "5s" (environment TABLES__CHECKPOINTMS): expected a whole number of milliseconds, 100 or more`}},
		{name: "out of range", in: config.Input{Args: []string{"--Http:Port=70000"}},
			want: []string{`Http:Port = "70000" (flag --Http:Port): expected a port number from 0 to 65535 (0 takes a free one)`}},
		{name: "empty flag", in: config.Input{Args: []string{"--Http:Port="}},
			want: []string{`Http:Port = "" (flag --Http:Port): expected a port number from 0 to 65535 (0 takes a free one)`}},
		{name: "bad choice", in: config.Input{Args: []string{"--Streams:Transport", "poll"}},
			want: []string{`Streams:Transport = "poll" (flag --Streams:Transport): expected pull or push`}},
		{name: "bad switch", in: config.Input{Args: []string{"--Seed:Demo=maybe"}},
			want: []string{`Seed:Demo = "maybe" (flag --Seed:Demo): expected true or false`}},
		{name: "bad address", in: config.Input{Args: []string{"--Nats:Listen", "4222"}},
			want: []string{`Nats:Listen = "4222" (flag --Nats:Listen): expected host:port, such as 127.0.0.1:4222, or nothing`}},
		{name: "no value", in: config.Input{Args: []string{"--DataDir"}},
			want: []string{"DataDir has no value (flag --DataDir): expected a path"}},
		{name: "stray word", in: config.Input{Args: []string{"start"}},
			want: []string{"start is not understood (command line): settings are written --Section:Key value"}},
		{name: "key and alias", in: config.Input{Args: []string{"--Streams:Capacity", "1", "--Streams:PushCapacity", "2"}},
			want: []string{"Streams:Capacity is set twice, to different values (flag --Streams:Capacity and flag --Streams:PushCapacity): keep one of the two"}},
		{name: "two cases", in: config.Input{Environ: []string{"HTTP__PORT=1", "http__port=2"}},
			want: []string{"Http:Port is set twice, to different values (environment HTTP__PORT and environment http__port): keep one of the two"}},
		{name: "tls without certificate", in: config.Input{Args: []string{"--Tls:Enabled"}},
			want: []string{"Tls:CertPath must name a certificate file because Tls:Enabled is true", "Tls:KeyPath must name a key file because Tls:Enabled is true"}},
		{name: "short key is not printed", in: config.Input{Environ: []string{"JWT__KEY=hunter2"}},
			want: []string{"Jwt:Key has 7 bytes; a signing key needs at least 32 (environment JWT__KEY)"}},
		{name: "quantum", in: config.Input{Args: []string{"--Shards:QuantumSeconds", "120"}},
			want: []string{"Shards:QuantumSeconds is 120, which must be less than Shards:IdleSeconds (120) (flag --Shards:QuantumSeconds)"}},
		{name: "nameless peer", in: config.Input{Args: []string{"--Discovery:Peers:0:RestEndpoint", "http://x"}},
			want: []string{"Discovery:Peers:0:Name is missing; every peer needs a name"}},
		{name: "missing file", in: config.Input{Args: []string{"--config", "/no.json"}},
			want: []string{"/no.json cannot be read: open /no.json: file does not exist (--config)"}},
		{name: "missing secret file", in: config.Input{Environ: []string{"SECRETS__KEY_FILE=/no"}},
			want: []string{"SECRETS:KEY cannot be read: open /no: file does not exist (environment SECRETS__KEY_FILE)"}},
		{name: "not json", file: "{\n  \"DataDir\": x}",
			want: []string{"streamsforge.json is not valid JSON in line 2, column 14: invalid character 'x' at start of value"}},
		{name: "cut off", file: "{\"DataDir\": ",
			want: []string{"streamsforge.json is not valid JSON in line 1, column 13: it ends too early"}},
		{name: "array file", file: "[]", want: []string{"streamsforge.json is not a JSON object"}},
		{name: "two documents", file: "{}\n{}", want: []string{"streamsforge.json has text after its JSON object, in line 2"}},
		{name: "several at once", in: config.Input{Args: []string{"--Http:Port", "x", "--Nope:Nope", "1"}},
			want: []string{"Nope:Nope is not a configuration key (flag --Nope:Nope): `streamsforge config explain` lists every key",
				`Http:Port = "x" (flag --Http:Port): expected a port number from 0 to 65535 (0 takes a free one)`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.in.ReadFile = files(nil)
			if c.file != "" {
				c.in.ReadFile = files(map[string]string{"streamsforge.json": c.file})
			}
			_, err := config.Load(c.in)
			wantError(t, err, c.want...)
		})
	}
}

func wantError(t *testing.T, err error, lines ...string) {
	t.Helper()
	var problems config.Errors
	if !errors.As(err, &problems) {
		t.Fatalf("error %v is no config.Errors", err)
	}
	if got, want := err.Error(), strings.Join(lines, "\n"); got != want {
		t.Errorf("error:\n%s\nwant:\n%s", got, want)
	}
}

func TestIgnoredKeysWarnOnce(t *testing.T) {
	l := load(t, config.Input{Args: []string{"--Streams:Transport", "push", "--Streams:PullPeriodMs", "5", "--Streams:PushCapacity", "77"}})
	if len(l.Warnings) != 3 || !strings.Contains(strings.Join(l.Warnings, "\n"), "Streams:Transport (flag --Streams:Transport) is accepted and ignored: ") {
		t.Errorf("warnings %q", l.Warnings)
	}
	if l.Settings.Streams.Capacity != 77 {
		t.Errorf("Streams:PushCapacity gives capacity %d", l.Settings.Streams.Capacity)
	}
}

func TestEffectiveMasksSecrets(t *testing.T) {
	l := load(t, config.Input{Args: []string{"--Nats:Token", "hush", "--Endpoints:bus", "nats://bob:pw@host:4222", "--Endpoints:db", "postgres://u:pw@h/db"}})
	all := ""
	for _, v := range l.Effective() {
		all += v.Name + "=" + v.Shown() + " (" + v.Origin + ")\n"
	}
	for _, want := range []string{"Nats:Token=***", "Endpoints:bus=nats://bob:***@host:4222", "Endpoints:db=postgres://u:***@h/db", "Jwt:Key= (default)", "Cors:AllowedOrigins:0=http://localhost:5173 (default)"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
	for _, leak := range []string{"hush", ":pw@"} {
		if strings.Contains(all, leak) {
			t.Errorf("%q leaks", leak)
		}
	}
}

func TestFindAndExplain(t *testing.T) {
	for _, name := range []string{"Streams:Capacity", "streams:pushcapacity", "STREAMS__CAPACITY", "Streams__PushCapacity"} {
		k, err := config.Find(name)
		if err != nil || k.Name != "Streams:Capacity" {
			t.Errorf("Find(%s) = %v, %v", name, k, err)
		}
	}
	for _, name := range []string{"Endpoints", "Endpoints:<name>", "Endpoints:foo", "Cors:AllowedOrigins"} {
		if _, err := config.Find(name); err != nil {
			t.Errorf("Find(%s): %v", name, err)
		}
	}
	if _, err := config.Find("Stream:Capacity"); err == nil || !strings.Contains(err.Error(), "did you mean Streams:Capacity?") {
		t.Errorf("Find of a near miss: %v", err)
	}
	l := load(t, config.Input{Args: []string{"--Streams:Capacity", "5"}})
	k, _ := config.Find("Streams:Capacity")
	text := k.Explain(l.Effective())
	for _, want := range []string{"Bound of in-process queues", "1 or more", "STREAMS__CAPACITY", "Streams:PushCapacity", "Streams:Capacity = 5 (flag --Streams:Capacity)"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
