package web

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

//go:embed all:dist
var dist embed.FS

//go:embed fallback.html
var fallback []byte

// Assets is the console that was built into this binary; Built tells whether there is one.
func Assets() fs.FS {
	sub, err := fs.Sub(dist, "dist")
	if err != nil {
		panic("BUG: the embedded console has no dist folder: " + err.Error())
	}
	return sub
}

// Built tells whether assets hold a console. The index page decides: the folder itself is
// always there.
func Built(assets fs.FS) bool {
	_, err := fs.Stat(assets, "index.html")
	return err == nil
}

// ErrNoConsole is returned by Folder for a folder that holds no console.
var ErrNoConsole = errors.New("it holds no index.html")

// Folder is a console on disk (the setting Web:Dist).
func Folder(path string) (fs.FS, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%s is not a directory", path)
	case !Built(os.DirFS(path)):
		return nil, ErrNoConsole
	}
	return os.DirFS(path), nil
}
