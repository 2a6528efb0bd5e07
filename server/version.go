package server

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is the release; a release build sets it with
// -ldflags "-X github.com/streamsforge/streamsforge/server.version=1.2.3".
var version = "0.1.0-dev"

// Version is the release of this build.
func Version() string { return version }

// Revision is the commit that the binary was built from, shortened, with a mark when the
// work tree had changes; it is empty when the build does not say.
func Revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	revision, modified := "", false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	if revision != "" && modified {
		revision += "+changes"
	}
	return revision
}

// VersionLine is the version with everything that tells two builds apart.
func VersionLine() string {
	line := fmt.Sprintf("streamsforge %s (%s %s/%s", Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if r := Revision(); r != "" {
		line += ", commit " + r
	}
	return line + ")"
}
