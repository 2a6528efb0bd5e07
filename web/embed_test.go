package web_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/streamsforge/streamsforge/web"
)

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	if _, err := web.Folder(dir); !errors.Is(err, web.ErrNoConsole) {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := web.Folder(filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
	index := filepath.Join(dir, "index.html")
	if err := os.WriteFile(index, []byte("<!doctype html>"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := web.Folder(index); err == nil {
		t.Error("a file is taken for a folder")
	}
	assets, err := web.Folder(dir)
	if err != nil || !web.Built(assets) {
		t.Errorf("a console is not seen: %v", err)
	}
}

// TestAssets holds for a fresh clone and for a built console alike: the placeholder is
// there, and Built agrees with the index page.
func TestAssets(t *testing.T) {
	_, err := fs.Stat(web.Assets(), "index.html")
	if web.Built(web.Assets()) != (err == nil) {
		t.Errorf("Built is %v although index.html: %v", web.Built(web.Assets()), err)
	}
	if os.Getenv("SF_RELEASE") != "" && err != nil {
		t.Error("a release binary would serve the placeholder: run `go tool task web:build` first")
	}
}
