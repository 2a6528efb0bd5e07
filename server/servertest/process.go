package servertest

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// ReadyTimeout is how long a start may take before the test fails; a start takes well below a second on an idle
// machine.
const ReadyTimeout = 60 * time.Second

var build struct {
	once sync.Once
	path string
	err  error
}

// Binary builds the server once for the test process and returns its path.
func Binary(t testing.TB) string {
	t.Helper()
	build.once.Do(func() {
		dir, err := os.MkdirTemp("", "streamsforge-bin-")
		if err != nil {
			build.err = err
			return
		}
		build.path = filepath.Join(dir, "streamsforge")
		out, err := exec.Command("go", "build", "-o", build.path, "github.com/streamsforge/streamsforge/server/cmd/streamsforge").CombinedOutput()
		if err != nil {
			build.err = fmt.Errorf("build the server: %w\n%s", err, out)
		}
	})
	if build.err != nil {
		t.Fatal(build.err)
	}
	return build.path
}

// Process is one run of the server.
type Process struct {
	HTTP    string // base URL
	NATS    string // NATS URL without credentials
	DataDir string
	Args    []string
	// Started is the moment the process was started, Ready the moment /readyz first answered 200.
	Started, Ready time.Time

	cmd    *exec.Cmd
	output *lockedBuffer
	exited chan struct{}
	err    error
}

// FreePort returns a loopback TCP port that was free a moment ago.
func FreePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// Start runs the server on a data directory with free ports and waits until it is ready. The process is killed
// when the test ends.
func Start(t testing.TB, dataDir string, args ...string) *Process {
	t.Helper()
	p := Launch(t, dataDir, args...)
	p.AwaitReady(t)
	return p
}

// Launch starts the process without waiting for it.
func Launch(t testing.TB, dataDir string, args ...string) *Process {
	t.Helper()
	httpPort, natsPort := FreePort(t), FreePort(t)
	p := &Process{
		HTTP:    "http://127.0.0.1:" + strconv.Itoa(httpPort),
		NATS:    "nats://127.0.0.1:" + strconv.Itoa(natsPort),
		DataDir: dataDir,
		Args:    args,
		output:  &lockedBuffer{},
		exited:  make(chan struct{}),
	}
	all := append([]string{
		"serve",
		"--Http:Port=" + strconv.Itoa(httpPort),
		"--Nats:Listen=127.0.0.1:" + strconv.Itoa(natsPort),
		"--DataDir=" + dataDir,
	}, args...)
	p.cmd = exec.Command(Binary(t), all...)
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	p.cmd.Dir = t.TempDir()
	p.Started = time.Now()
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start the server: %v", err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	t.Cleanup(func() { p.Kill(t) })
	return p
}

// AwaitReady waits until /readyz answers 200.
func (p *Process) AwaitReady(t testing.TB) {
	t.Helper()
	deadline := time.NewTimer(ReadyTimeout)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-p.exited:
			t.Fatalf("the server ended before it was ready: %v\n%s", p.err, p.Output())
		case <-deadline.C:
			t.Fatalf("the server was not ready after %s\n%s", ReadyTimeout, p.Output())
		case <-tick.C:
			r, err := http.Get(p.HTTP + "/readyz")
			if err != nil {
				continue
			}
			r.Body.Close()
			if r.StatusCode == http.StatusOK {
				p.Ready = time.Now()
				return
			}
		}
	}
}

// Kill ends the process with SIGKILL and waits for it. It does nothing when the process has ended.
func (p *Process) Kill(t testing.TB) {
	t.Helper()
	select {
	case <-p.exited:
		return
	default:
	}
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// Stop sends SIGTERM, waits for the end and returns the exit code.
func (p *Process) Stop(t testing.TB) int {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatalf("send SIGTERM: %v", err)
	}
	return p.Wait(t)
}

// Wait waits for the process to end by itself and returns its exit code.
func (p *Process) Wait(t testing.TB) int {
	t.Helper()
	select {
	case <-p.exited:
	case <-time.After(ReadyTimeout):
		t.Fatalf("the server did not end within %s\n%s", ReadyTimeout, p.Output())
	}
	return p.cmd.ProcessState.ExitCode()
}

// Dump ends the process with SIGQUIT, which prints the stacks of all its goroutines.
func (p *Process) Dump(t testing.TB) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Logf("send SIGQUIT: %v", err)
		return
	}
	<-p.exited
}

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Output returns what the process has printed so far.
func (p *Process) Output() string { return p.output.String() }

// lockedBuffer collects the output of a process while the test reads it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
