package server

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamsforge/streamsforge/streams"
)

func TestIdentityAndKeyStay(t *testing.T) {
	dir := t.TempDir()
	first, err := loadIdentity(dir)
	if err != nil || len(first.InstanceID) != 32 {
		t.Fatalf("%+v, %v", first, err)
	}
	key, err := signingKey(dir, "")
	if err != nil || len(key) < 32 {
		t.Fatalf("key of %d bytes, %v", len(key), err)
	}
	again, err := loadIdentity(dir)
	if err != nil || again != first {
		t.Errorf("a restart changes the identity: %+v, %v", again, err)
	}
	if same, err := signingKey(dir, ""); err != nil || string(same) != string(key) {
		t.Errorf("a restart changes the key: %v", err)
	}
	if other, err := signingKey(dir, strings.Repeat("k", 40)); err != nil || string(other) != strings.Repeat("k", 40) {
		t.Errorf("a configured key is not used: %v", err)
	}
	info, err := os.Stat(filepath.Join(dir, keyFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key file can be read by others: %v, %v", info.Mode(), err)
	}
	if content, _ := os.ReadFile(filepath.Join(dir, instanceFile)); string(content) != `{"instanceId":"`+first.InstanceID+"\"}\n" {
		t.Errorf("instance file: %s", content)
	}
	fresh, err := loadIdentity(t.TempDir())
	if err != nil || fresh == first {
		t.Errorf("a new directory has an old identity: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*.*.*"))
	if err != nil || len(left) != 0 {
		t.Errorf("temporary files are left: %q, %v", left, err)
	}
}

func TestDamagedFilesAreNamed(t *testing.T) {
	dir := t.TempDir()
	for name, read := range map[string]func() error{
		instanceFile: func() error { _, err := loadIdentity(dir); return err },
		keyFile:      func() error { _, err := signingKey(dir, ""); return err },
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		var setting *streams.SettingError
		if err := read(); !errors.As(err, &setting) || setting.Key != "DataDir" || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNothingIsKeptWithoutADirectory(t *testing.T) {
	a, errA := loadIdentity("")
	b, errB := loadIdentity("")
	if errA != nil || errB != nil || a == b {
		t.Errorf("%v %v %v %v", a, b, errA, errB)
	}
}
