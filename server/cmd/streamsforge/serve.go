package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"os/signal"
	"syscall"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/spf13/cobra"

	"github.com/streamsforge/streamsforge/server"
)

func newServe() *cobra.Command {
	return &cobra.Command{
		Use:                "serve [settings]",
		Short:              "Start the server (the default command)",
		Long:               "Starts the server.\n" + settingsHelp,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			l, help, err := load(cmd, args)
			if help || err != nil {
				return err
			}
			log := newLogger(cmd.ErrOrStderr())
			limitMemory(log)
			for _, w := range l.Warnings {
				log.Warn(w)
			}
			s, err := server.New(server.Options{
				Settings: l.Settings,
				Logger:   log,
				Started:  func(a server.Started) { fmt.Fprint(cmd.OutOrStdout(), a.Text()) },
			})
			if err != nil {
				return err
			}
			// After the first signal the handlers are gone, so a second one ends the process
			// at once, as the system does by itself.
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, os.Interrupt)
			defer stop()
			context.AfterFunc(ctx, stop)
			if err := s.Run(ctx); !errors.Is(err, context.Canceled) {
				return err
			}
			return nil
		},
	}
}

// newLogger writes text for people and JSON for machines.
func newLogger(w io.Writer) *slog.Logger {
	if f, ok := w.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			return slog.New(slog.NewTextHandler(w, nil))
		}
	}
	return slog.New(slog.NewJSONHandler(w, nil))
}

// memoryShare leaves a tenth of the container to what is not the heap.
const memoryShare = 0.9

// limitMemory makes the garbage collector respect the container's limit, unless GOMEMLIMIT
// says something else.
func limitMemory(log *slog.Logger) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	limit, err := memlimit.Set(
		memlimit.WithRatio(memoryShare), memlimit.WithProvider(memlimit.FromCgroup),
		memlimit.WithLogger(slog.New(slog.DiscardHandler)))
	switch {
	case errors.Is(err, memlimit.ErrNoCgroup), errors.Is(err, memlimit.ErrNoLimit), errors.Is(err, memlimit.ErrCgroupsNotSupported):
	case err != nil:
		log.Warn("the container's memory limit cannot be read; set GOMEMLIMIT instead", "error", err)
	case limit > 0 && limit < math.MaxInt64:
		log.Info("the garbage collector keeps to the container's memory limit", "bytes", limit)
	}
}
