package project

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
)

// errNoFile is returned by readFile for what has no end that is known, as a pipe or a device, and for a directory.
var errNoFile = errors.New("it is not a regular file")

// readFile reads a file of a project and at most one byte more than maxFile, so that whoever finds it too large has not
// read all of it.
func readFile(fsys fs.FS, name string) ([]byte, error) {
	// Opening a pipe waits for a writer, so the look comes first.
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errNoFile}
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	_, err = io.Copy(&b, io.LimitReader(f, maxFile+1))
	return b.Bytes(), errors.Join(err, f.Close())
}
