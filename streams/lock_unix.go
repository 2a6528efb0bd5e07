//go:build unix

package streams

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// lockFile is held for as long as the server runs. JetStream itself does not lock its directory, and two servers on
// one directory destroy it. The lock belongs to the open file, so it ends with the process however that ends.
const lockFile = "streamsforge.lock"

func lockDir(dir string) (release func() error, err error) {
	path := filepath.Join(dir, lockFile)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, &SettingError{"DataDir", dir, fmt.Errorf("not writable: %w", err), "make the directory writable, or set another DataDir"}
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer f.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &SettingError{"DataDir", dir, fmt.Errorf("lock %s: %w", path, err), "use a file system that supports file locks"}
		}
		holder, _ := io.ReadAll(io.LimitReader(f, 32))
		pid := strings.TrimSpace(string(holder))
		if pid == "" {
			pid = "(unknown)"
		}
		return nil, &SettingError{"DataDir", dir, fmt.Errorf("the directory is locked by process %s (%s)", pid, path),
			"stop that process, or set another DataDir"}
	}
	if err := writePID(f); err != nil {
		f.Close()
		return nil, &SettingError{"DataDir", dir, fmt.Errorf("write %s: %w", path, err), "make the directory writable, or set another DataDir"}
	}
	return f.Close, nil
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	return err
}
