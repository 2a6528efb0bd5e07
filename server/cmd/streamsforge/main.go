// Command streamsforge is the server: streaming SQL in one process.
//
//	streamsforge                      start the server
//	streamsforge config explain KEY   what a setting means and what it is now
//	streamsforge healthcheck          exit code 0 while the server answers
//	streamsforge init|check|test|explain|deploy
//	                                  a project of models; only deploy needs a server
//	streamsforge version
//
// Exit codes: 0 after an ordered stop, 1 for a failure while running, 2 when the server
// cannot start because of a setting; one line then names the setting.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/streamsforge/streamsforge/server/config"
	"github.com/streamsforge/streamsforge/streams"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1
	exitRefused = 2
)

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	code := exitFailure
	var setting *streams.SettingError
	var problems config.Errors
	var usage *usageError
	switch {
	case errors.Is(err, errSilent):
		return exitFailure
	case errors.As(err, &problems):
		for _, p := range problems {
			fmt.Fprintln(stderr, "streamsforge: "+p.Error())
		}
		return exitRefused
	case errors.As(err, &setting):
		err, code = setting, exitRefused
	case errors.As(err, &usage):
		code = exitRefused
	}
	fmt.Fprintln(stderr, "streamsforge: "+err.Error())
	return code
}

// errSilent is a failure that has been told already.
var errSilent = errors.New("failed")

// usageError is a command line that cannot be understood.
type usageError struct{ error }
