package project

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// sample is the project that Init writes: the customers of the documentation.
//
//go:embed all:sample
var sample embed.FS

const sampleDir = "sample"

// Sample is the files of the sample project.
func Sample() fs.FS {
	sub, err := fs.Sub(sample, sampleDir)
	if err != nil {
		panic("BUG: the sample is not embedded: " + err.Error())
	}
	return sub
}

// ErrNotEmpty is returned by Init for a directory that has a file of the sample.
var ErrNotEmpty = errors.New("the directory has a project already")

// Init writes the sample project into a directory, which is made when it is not there. It overwrites nothing. It
// returns the files that it wrote.
func Init(dir string) ([]string, error) {
	var names []string
	err := fs.WalkDir(Sample(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		names = append(names, name)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, name := range append(append([]string(nil), FileNames...), names...) {
		if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name))); err == nil {
			return nil, fmt.Errorf("%w: %s", ErrNotEmpty, name)
		}
	}
	for _, name := range names {
		text, err := fs.ReadFile(Sample(), name)
		if err != nil {
			return nil, err
		}
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(path.Dir(name))), 0o750); err != nil {
			return nil, err
		}
		if err := os.WriteFile(to, text, 0o600); err != nil {
			return nil, err
		}
	}
	return names, nil
}
