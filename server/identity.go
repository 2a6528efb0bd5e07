package server

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/streamsforge/streamsforge/streams"
)

// Files of the data directory that are not the log's.
const (
	instanceFile = "instance.json"
	keyFile      = "jwt.key"
	seedingFile  = "seeding" // exists while the demo world is being created
)

// identity is who this server is: the same through restarts, new with a new directory.
type identity struct {
	InstanceID string `json:"instanceId"`
}

// loadIdentity reads the identity of a data directory, or makes one. An empty directory
// name stands for a server that keeps nothing.
func loadIdentity(dir string) (identity, error) {
	fresh := identity{InstanceID: randomHex(16)}
	if dir == "" {
		return fresh, nil
	}
	path := filepath.Join(dir, instanceFile)
	content, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		content, err = json.Marshal(fresh)
		if err == nil {
			err = writeFile(path, append(content, '\n'))
		}
		return fresh, inDataDir(dir, err)
	case err != nil:
		return identity{}, inDataDir(dir, err)
	}
	var id identity
	if err := json.Unmarshal(content, &id); err != nil || id.InstanceID == "" {
		return identity{}, inDataDir(dir, fmt.Errorf("%s does not hold an instanceId", path))
	}
	return id, nil
}

// signingKey is the configured key, else the one that the data directory keeps, so that
// logins survive a restart.
func signingKey(dir, configured string) ([]byte, error) {
	if configured != "" {
		return []byte(configured), nil
	}
	fresh := randomHex(32)
	if dir == "" {
		return []byte(fresh), nil
	}
	path := filepath.Join(dir, keyFile)
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return []byte(fresh), inDataDir(dir, writeFile(path, []byte(fresh+"\n")))
	}
	if err != nil {
		return nil, inDataDir(dir, err)
	}
	key := strings.TrimSpace(string(content))
	if len(key) < 32 {
		return nil, inDataDir(dir, fmt.Errorf("%s is damaged: remove it to make a new key, which ends all logins", path))
	}
	return []byte(key), nil
}

// writeFile puts a small secret file in place whole, or not at all.
func writeFile(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the write's error is the one that matters
		return err
	}
	return nil
}

func inDataDir(dir string, err error) error {
	if err == nil {
		return nil
	}
	return &streams.SettingError{Key: "DataDir", Value: dir, Err: err, Hint: "make the directory readable and writable, or set another DataDir"}
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // it never fails: the runtime ends the process instead
	return hex.EncodeToString(b)
}
