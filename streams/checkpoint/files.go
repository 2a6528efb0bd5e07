package checkpoint

import (
	"os"
)

// files are the steps of a durable write; tests put a disk in their place that fails between them.
type files interface {
	writeSync(path string, parts ...[]byte) error // create, write, sync the content
	rename(from, to string) error
	syncDir(dir string) error // make names durable
}

type osFiles struct{}

func (osFiles) writeSync(path string, parts ...[]byte) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	for _, p := range parts {
		if _, err := f.Write(p); err != nil {
			return err
		}
	}
	return f.Sync()
}

func (osFiles) rename(from, to string) error { return os.Rename(from, to) }

func (osFiles) syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
