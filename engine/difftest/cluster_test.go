package difftest_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// cluster is a private PostgreSQL of this test process. It lives in a temporary folder and listens on a Unix socket.
type cluster struct {
	dir    string
	port   int
	server *exec.Cmd
	exited chan struct{}
}

const debianPackage = "postgresql-15"

var (
	startOnce sync.Once
	shared    *cluster
	errStart  error
)

// errNoPostgres says that PostgreSQL is not there and cannot be installed.
var errNoPostgres = errors.New("the Debian package " + debianPackage + " is missing: run 'sudo apt-get install " + debianPackage + "'")

func TestMain(m *testing.M) {
	code := m.Run()
	if shared != nil {
		shared.stop()
	}
	os.Exit(code)
}

// connect opens a session with the prelude in an own schema search path. The cluster is started by the first call.
func connect(t testing.TB) *pgx.Conn {
	t.Helper()
	startOnce.Do(func() { shared, errStart = startCluster() })
	if errors.Is(errStart, errNoPostgres) {
		t.Skip(errStart)
	}
	if errStart != nil {
		t.Fatal(errStart)
	}
	config, err := pgx.ParseConfig(fmt.Sprintf("host=%s port=%d user=diff dbname=postgres", shared.dir, shared.port))
	if err != nil {
		t.Fatal(err)
	}
	c, err := pgx.ConnectConfig(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// binaries finds the folder of initdb and postgres; as root it installs the Debian package when there is none.
func binaries() (string, error) {
	for range 2 {
		for _, dir := range []string{"/usr/lib/postgresql/15/bin"} {
			if _, err := os.Stat(filepath.Join(dir, "initdb")); err == nil {
				return dir, nil
			}
		}
		apt, err := exec.LookPath("apt-get")
		if os.Getuid() != 0 || err != nil {
			return "", errNoPostgres
		}
		for _, args := range [][]string{{"update", "-qq"}, {"install", "-y", "-qq", "--no-install-recommends", debianPackage}} {
			cmd := exec.Command(apt, args...)
			cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
			if out, err := cmd.CombinedOutput(); err != nil {
				return "", fmt.Errorf("apt-get %s: %w\n%s", args[0], err, out)
			}
		}
	}
	return "", errNoPostgres
}

// unprivileged is how to run PostgreSQL, which refuses to be root: as its own user, else as nobody.
func unprivileged(dir string) (*syscall.SysProcAttr, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	var found error
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			found = err
			continue
		}
		uid, _ := strconv.ParseUint(u.Uid, 10, 32)
		gid, _ := strconv.ParseUint(u.Gid, 10, 32)
		if err := os.Chown(dir, int(uid), int(gid)); err != nil {
			return nil, err
		}
		return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
	}
	return nil, fmt.Errorf("no unprivileged user to run PostgreSQL: %w", found)
}

func startCluster() (*cluster, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	// Not TempDir of a test: the cluster outlives the first one, and the path of a socket must be short.
	dir, err := os.MkdirTemp("", "sf-pg-")
	if err != nil {
		return nil, err
	}
	c := &cluster{dir: dir, exited: make(chan struct{})}
	attr, err := unprivileged(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	data := filepath.Join(dir, "data")
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-U", "diff", "-A", "trust", "-E", "UTF8", "--no-sync",
		"--lc-collate=C", "--lc-ctype=C.UTF-8", "--lc-messages=C", "--lc-numeric=C", "--lc-monetary=C", "--lc-time=C")
	initdb.Dir, initdb.SysProcAttr = dir, attr
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("initdb: %w\n%s", err, out), os.RemoveAll(dir))
	}
	if c.port, err = freePort(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	settings := []string{"-D", data, "-k", dir, "-p", strconv.Itoa(c.port), "-h", ""}
	for _, s := range []string{"fsync=off", "full_page_writes=off", "synchronous_commit=off", "autovacuum=off", "jit=off",
		"max_connections=20", "shared_buffers=64MB", "wal_level=minimal", "max_wal_senders=0", "timezone=UTC", "extra_float_digits=1",
		"max_parallel_workers_per_gather=0", "logging_collector=off", "standard_conforming_strings=on"} {
		settings = append(settings, "-c", s)
	}
	c.server = exec.Command(filepath.Join(bin, "postgres"), settings...)
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	defer log.Close()
	c.server.Dir, c.server.SysProcAttr, c.server.Stdout, c.server.Stderr = dir, attr, log, log
	if err := c.server.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	go func() {
		_ = c.server.Wait() // a server that ends by itself shows in every query
		close(c.exited)
	}()
	if err := c.ready(); err != nil {
		text, _ := os.ReadFile(filepath.Join(dir, "log"))
		c.stop()
		return nil, fmt.Errorf("%w\n%s", err, text)
	}
	return c, nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// ready waits for the server to take connections, and installs the prelude.
func (c *cluster) ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		conn, err := pgx.Connect(ctx, fmt.Sprintf("host=%s port=%d user=diff dbname=postgres", c.dir, c.port))
		if err == nil {
			_, err = conn.Exec(ctx, prelude())
			return errors.Join(err, conn.Close(ctx))
		}
		select {
		case <-again.C:
		case <-c.exited:
			return errors.New("PostgreSQL ended at its start")
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL does not answer: %w", err)
		}
	}
}

// stop ends the server by its process id and removes the folder.
func (c *cluster) stop() {
	if c.server != nil && c.server.Process != nil {
		_ = c.server.Process.Signal(syscall.SIGQUIT) // immediate: nothing of it is kept
		select {
		case <-c.exited:
		case <-time.After(10 * time.Second):
			_ = c.server.Process.Kill()
			<-c.exited
		}
	}
	if err := os.RemoveAll(c.dir); err != nil && !strings.Contains(err.Error(), "no such file") {
		fmt.Fprintln(os.Stderr, "removing the test cluster:", err)
	}
}
