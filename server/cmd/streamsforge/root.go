package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/streamsforge/streamsforge/server"
	"github.com/streamsforge/streamsforge/server/config"
)

const settingsHelp = `
Settings are flags, environment variables or entries of streamsforge.json:
  --Http:Port 8080   or   HTTP__PORT=8080   or   {"Http": {"Port": 8080}}
  --config FILE      reads another file
The first of flag, environment, file, default wins. All of them: streamsforge config explain
`

func newRoot() *cobra.Command {
	serve := newServe()
	root := &cobra.Command{
		Use:   "streamsforge",
		Short: "Streaming SQL in one process",
		Long:  "StreamsForge keeps SQL tables up to date while rows stream in. Without a command it starts the server.\n" + settingsHelp,
		// Settings have names that a flag library cannot know, so each command reads its own.
		DisableFlagParsing:         true,
		SilenceErrors:              true,
		SilenceUsage:               true,
		SuggestionsMinimumDistance: 2,
		Args:                       cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
				return unknownCommand(cmd, args[0])
			}
			return serve.RunE(cmd, args)
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	root.AddCommand(serve, newVersion(), newHealthcheck(), newConfig(),
		newProjectCheck(), newProjectTest(), newProjectExplain(), newProjectInit(), newProjectDeploy())
	return root
}

func unknownCommand(root *cobra.Command, name string) error {
	hint := "`streamsforge --help` lists the commands"
	if near := root.SuggestionsFor(name); len(near) > 0 {
		hint = "did you mean " + near[0] + "?"
	}
	return &usageError{fmt.Errorf("unknown command %q: %s", name, hint)}
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			fmt.Fprintln(cmd.OutOrStdout(), server.VersionLine())
			return nil
		},
	}
}

// load reads the settings of this process; help is printed when it was asked for.
func load(cmd *cobra.Command, args []string) (l *config.Loaded, help bool, err error) {
	l, err = config.Load(config.Input{Args: args, Environ: os.Environ(), Dir: ".", Version: server.Version()})
	if l.Help {
		return l, true, cmd.Help()
	}
	return l, false, err
}
