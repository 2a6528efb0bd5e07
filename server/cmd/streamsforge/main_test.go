package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/streamsforge/streamsforge/server/servertest"
)

// run runs the binary to its end.
func run(t *testing.T, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), servertest.Binary(t), args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), env...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errOut.String()
}

// messages are the lines for people: those of the log are JSON.
func messages(stderr string) []string {
	var out []string
	for line := range strings.Lines(stderr) {
		if !strings.HasPrefix(line, "{") {
			out = append(out, strings.TrimSuffix(line, "\n"))
		}
	}
	return out
}

func TestRefusalsAreOneLineThatNamesTheSetting(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := strconv.Itoa(taken.Addr().(*net.TCPAddr).Port)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	free := []string{"--Http:Port=0", "--Nats:Listen="}
	with := func(args ...string) []string { return append(append([]string{"serve"}, free...), args...) }

	for _, c := range []struct {
		name string
		args []string
		env  []string
		want string // a regular expression over the whole line
	}{
		{"REST port", []string{"serve", "--Nats:Listen=", "--Http:Port=" + port}, nil, `Http:Port=` + port + `: address 127\.0\.0\.1:` + port + ` is in use; set another port.*`},
		{"NATS port", with("--Nats:Listen=127.0.0.1:" + port), nil, `Nats:Listen=127\.0\.0\.1:` + port + `: .*in use.*`},
		{"host of another machine", with("--Http:Host=192.0.2.1"), nil, `Http:Host=192\.0\.2\.1: not an address of this machine.*`},
		{"directory that is a file", with("--DataDir=" + file), nil, `DataDir=` + file + `: .*`},
		{"directory that cannot be made", with("--DataDir=/proc/streamsforge"), nil, `DataDir=/proc/streamsforge: .*make the directory writable.*`},
		{"unknown key", with("--Http:Prot=1"), nil, `Http:Prot is not a configuration key \(flag --Http:Prot\): did you mean Http:Port\?`},
		{"unknown key from the environment", with(), []string{"STREAMS__SYNCH=always"}, `STREAMS:SYNCH is not a configuration key \(environment STREAMS__SYNCH\): did you mean Streams:Sync\?`},
		{"bad value", with("--Streams:Sync=sometimes"), nil, `Streams:Sync = "sometimes" \(flag --Streams:Sync\): expected interval or always`},
		{"unreadable certificate", with("--Tls:Enabled", "--Tls:CertPath=no.pem", "--Tls:KeyPath=no.key"), nil, `Tls:CertPath=no\.pem: .*no such file.*`},
		{"console that is none", with("--Web:Dist=" + t.TempDir()), nil, `Web:Dist=.*: it holds no index\.html; .*`},
		{"unknown command", []string{"serv"}, nil, `unknown command "serv": did you mean serve\?`},
		{"stray word", with("now"), nil, `now is not understood \(command line\): settings are written --Section:Key value`},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := run(t, c.env, c.args...)
			lines := messages(stderr)
			if code != 2 || stdout != "" {
				t.Errorf("exit code %d, output %q", code, stdout)
			}
			if len(lines) != 1 || !regexp.MustCompile(`^streamsforge: `+c.want+`$`).MatchString(lines[0]) {
				t.Errorf("said %q, want %s", lines, c.want)
			}
		})
	}
}

func TestUnwritableDirectory(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := run(t, nil, "serve", "--Http:Port=0", "--Nats:Listen=", "--DataDir="+filepath.Join(dir, "data"))
	if lines := messages(stderr); code != 2 || len(lines) != 1 || !strings.HasPrefix(lines[0], "streamsforge: DataDir=") {
		t.Errorf("exit code %d, said %q", code, lines)
	}
}

func TestLockedDirectory(t *testing.T) {
	dir := t.TempDir()
	p := servertest.Start(t, dir, "--Seed:Demo=false")
	code, _, stderr := run(t, nil, "serve", "--Http:Port=0", "--Nats:Listen=", "--DataDir="+dir)
	lines := messages(stderr)
	if code != 2 || len(lines) != 1 || !strings.HasPrefix(lines[0], "streamsforge: DataDir="+dir) || !strings.Contains(lines[0], strconv.Itoa(p.PID())) {
		t.Errorf("exit code %d, said %q, want the directory and process %d", code, lines, p.PID())
	}
	if code := p.Stop(t); code != 0 {
		t.Errorf("the first server ends with %d:\n%s", code, p.Output())
	}
}

func TestSignals(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			dir := t.TempDir()
			p := servertest.Start(t, dir)
			viewer := p.Login(t, "viewer", "viewer123!")
			rows := func(c *servertest.Client) func() string {
				return func() string {
					if len(c.Rows(t, "positions").Rows) == 0 {
						return "positions is empty"
					}
					return ""
				}
			}
			servertest.Await(t, servertest.ReadyTimeout, "the demo world moves", rows(viewer))
			if err := syscall.Kill(p.PID(), signal); err != nil {
				t.Fatal(err)
			}
			if code := p.Wait(t); code != 0 {
				t.Fatalf("exit code %d:\n%s", code, p.Output())
			}
			// What an ordered stop leaves is whole: the login's token is still good, and the
			// table has its rows again without a new one.
			again := servertest.Start(t, dir)
			viewer.Base = again.HTTP
			servertest.Await(t, servertest.ReadyTimeout, "the table is back", rows(viewer))
		})
	}
}

// TestSecondSignal holds the drain up with a request in flight, and ends the process by a
// second signal.
func TestSecondSignal(t *testing.T) {
	p := servertest.Start(t, t.TempDir(), "--Seed:Demo=false")
	c := p.Login(t, "admin", "admin123!")
	source := map[string]any{"name": "s", "kind": "ingest", "fields": []map[string]string{{"name": "a", "type": "Long"}}, "ingest": map[string]any{}}
	c.Must(t, 201, "POST", "/api/sources", source, nil)
	var table struct {
		ID string `json:"id"`
	}
	c.Must(t, 201, "POST", "/api/tables", map[string]string{"name": "t", "sql": "SELECT a, COUNT(*) AS n FROM s GROUP BY a"}, &table)
	c.Must(t, 200, "POST", "/api/tables/"+table.ID+"/start", nil, nil)
	// A read that waits for a position which does not come.
	waiting := make(chan struct{})
	go func() {
		defer close(waiting)
		_, _, _ = c.Try("GET", "/api/tables/t/rows?minPosition=s:1000&timeoutMs=50000", nil, nil)
	}()
	servertest.Await(t, servertest.ReadyTimeout, "the read is in flight", func() string {
		_, text := c.Do(t, "GET", "/metrics", nil, nil)
		if !strings.Contains(text, "streamsforge_http_requests_in_flight 2") {
			return "it is not counted yet"
		}
		return ""
	})
	if err := syscall.Kill(p.PID(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	servertest.Await(t, servertest.ReadyTimeout, "draining", func() string {
		if code, text, err := c.Try("GET", "/readyz", nil, nil); err != nil || code != 503 || !strings.Contains(text, "draining") {
			return text
		}
		return ""
	})
	if code, _, err := c.Try("GET", "/api/tables", nil, nil); err != nil || code != 503 {
		t.Errorf("a new request while draining: %d, %v", code, err)
	}
	if err := syscall.Kill(p.PID(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := p.Wait(t); code != -1 {
		t.Errorf("exit code %d, want a death by signal", code)
	}
	<-waiting
}

func TestStartOutput(t *testing.T) {
	p := servertest.Start(t, t.TempDir())
	// The process answers as ready a moment before it has printed.
	servertest.Await(t, servertest.ReadyTimeout, "the start is printed", func() string {
		said := p.Output()
		for _, want := range []string{
			"Console    http://localhost:", "REST       http://localhost:", "NATS       nats://127.0.0.1:", "gRPC       not in this version",
			"Data       " + p.DataDir, "admin / admin123!, editor / editor123!, viewer / viewer123!", "Ctrl-C", "DEMO PASSWORDS ARE IN USE",
		} {
			if !strings.Contains(said, want) {
				return fmt.Sprintf("the start does not say %q:\n%s", want, said)
			}
		}
		return ""
	})
	code, stdout, stderr := run(t, nil, "healthcheck", "--Http:Port="+p.HTTP[strings.LastIndex(p.HTTP, ":")+1:])
	if code != 0 || !strings.Contains(stdout, `"status":"ok"`) {
		t.Errorf("healthcheck: %d %s %s", code, stdout, stderr)
	}
	if code, stdout, _ := run(t, nil, "healthcheck", "--ready", "--Http:Port="+p.HTTP[strings.LastIndex(p.HTTP, ":")+1:]); code != 0 || !strings.Contains(stdout, `"status":"ready"`) {
		t.Errorf("healthcheck --ready: %d %s", code, stdout)
	}
}

func TestCommands(t *testing.T) {
	nobody := strconv.Itoa(servertest.FreePort(t))
	for _, c := range []struct {
		name string
		args []string
		env  []string
		code int
		out  []string
		err  []string
	}{
		{name: "version", args: []string{"version"}, out: []string{"streamsforge ", "go1."}},
		{name: "help", args: []string{"--help"}, out: []string{"serve", "healthcheck", "--Http:Port 8080"}},
		{name: "healthcheck without a server", args: []string{"healthcheck", "--Http:Port", nobody}, code: 1, err: []string{"streamsforge: not well: "}},
		{name: "show", args: []string{"config", "show", "--changed", "--DataDir", "/d"}, env: []string{"JWT__KEY=" + strings.Repeat("s", 32)},
			out: []string{"DataDir  /d     flag --DataDir", "Jwt:Key  ***    environment JWT__KEY"}},
		{name: "show json", args: []string{"config", "show", "--json"}, out: []string{`"key": "Http:Port"`, `"origin": "default"`}},
		{name: "explain", args: []string{"config", "explain", "nats:listen", "--Nats:Listen", ""}, out: []string{"Nats:Listen\n", "NATS__LISTEN", `Nats:Listen = "" (flag --Nats:Listen)`}},
		{name: "explain a section", args: []string{"config", "explain", "Tables"}, out: []string{"Tables:FlushMs", "Tables:CheckpointMs"}},
		{name: "explain everything", args: []string{"config", "explain"}, out: []string{"Http:Port", "Sql:StrictNotIn"}},
		{name: "explain a near miss", args: []string{"config", "explain", "Nats:Lisen"}, code: 2, err: []string{"did you mean Nats:Listen?"}},
		{name: "check", args: []string{"config", "check"}, env: []string{"STREAMS__TRANSPORT=push"}, out: []string{"valid: 1 set"}, err: []string{"Streams:Transport (environment STREAMS__TRANSPORT) is accepted and ignored"}},
		{name: "check says everything", args: []string{"config", "check", "--Http:Port", "x", "--Nope:Key", "1"}, code: 2, err: []string{"Http:Port = ", "Nope:Key is not a configuration key"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := run(t, c.env, c.args...)
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			for _, want := range c.out {
				if !strings.Contains(stdout, want) {
					t.Errorf("output lacks %q:\n%s", want, stdout)
				}
			}
			for _, want := range c.err {
				if !strings.Contains(stderr, want) {
					t.Errorf("errors lack %q:\n%s", want, stderr)
				}
			}
			if strings.Contains(stdout+stderr, "ssss") {
				t.Error("a secret is printed")
			}
		})
	}
}
