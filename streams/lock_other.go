//go:build !unix

package streams

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const lockFile = "streamsforge.lock"

// lockDir creates a file that must not exist. Where file locks end with the process (every Unix), lock_unix.go is
// used instead; here a lock that a killed process left behind is removed by hand, and the error says so.
func lockDir(dir string) (release func() error, err error) {
	path := filepath.Join(dir, lockFile)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if os.IsExist(err) {
		holder, _ := os.ReadFile(path)
		return nil, &SettingError{"DataDir", dir, fmt.Errorf("the directory is locked by process %s (%s)", strings.TrimSpace(string(holder)), path),
			"stop that process, or set another DataDir; remove the file if the process is gone"}
	}
	if err != nil {
		return nil, &SettingError{"DataDir", dir, fmt.Errorf("not writable: %w", err), "make the directory writable, or set another DataDir"}
	}
	fmt.Fprintf(f, "%d\n", os.Getpid())
	return func() error {
		f.Close()
		return os.Remove(path)
	}, nil
}
