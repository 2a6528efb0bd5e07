package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/streamsforge/streamsforge/server/config"
)

func newConfig() *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Show, explain and check settings",
		Long:  "Show, explain and check settings.\n" + settingsHelp,
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(newShow(), newExplain(), newCheck(), newDocs())
	return c
}

func newShow() *cobra.Command {
	return &cobra.Command{
		Use:                "show [--changed] [--json] [settings]",
		Short:              "Print the values in force and where each came from; secrets are masked",
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			args, changed := take(args, "--changed")
			args, asJSON := take(args, "--json")
			l, help, err := load(cmd, args)
			if help || err != nil {
				return err
			}
			values := l.Effective()
			if changed {
				values = slices.DeleteFunc(values, func(v config.Value) bool { return v.Source == config.FromDefault })
			}
			if asJSON {
				return showJSON(cmd.OutOrStdout(), values)
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "KEY\tVALUE\tORIGIN")
			for _, v := range values {
				fmt.Fprintf(w, "%s\t%s\t%s\n", v.Name, shown(v), v.Origin)
			}
			return w.Flush()
		},
	}
}

func shown(v config.Value) string {
	if s := v.Shown(); s != "" {
		return s
	}
	return `""`
}

func showJSON(w io.Writer, values []config.Value) error {
	type line struct {
		Key    string `json:"key"`
		Value  string `json:"value"`
		Origin string `json:"origin"`
	}
	lines := []line{}
	for _, v := range values {
		lines = append(lines, line{v.Name, v.Shown(), v.Origin})
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(lines)
}

func newExplain() *cobra.Command {
	return &cobra.Command{
		Use:                "explain [KEY or SECTION] [settings]",
		Short:              "Say what a setting means, what it expects and what it is now; without a key, list all",
		DisableFlagParsing: true,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, k := range config.Keys() {
				names = append(names, k.Name)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			name := ""
			if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
				name, args = args[0], args[1:]
			}
			// A setting that is wrong must not stand in the way of its own explanation.
			l, help, err := load(cmd, args)
			if help {
				return err
			}
			out := cmd.OutOrStdout()
			if name == "" {
				return list(out, config.Keys())
			}
			if section := config.Section(name); len(section) > 1 {
				return list(out, section)
			}
			k, err := config.Find(name)
			if err != nil {
				var p *config.Problem
				if errors.As(err, &p) {
					return config.Errors{p}
				}
				return err
			}
			fmt.Fprint(out, k.Explain(l.Effective()))
			return nil
		},
	}
}

func list(out io.Writer, keys []*config.Key) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, k := range keys {
		first, _, _ := strings.Cut(k.Doc, ". ")
		fmt.Fprintf(w, "%s\t%s\n", k.Name, strings.TrimSuffix(first, ".")+".")
	}
	return w.Flush()
}

func newCheck() *cobra.Command {
	return &cobra.Command{
		Use:                "check [settings]",
		Short:              "Read all settings and report every problem; exit code 2 when there is one",
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			l, help, err := load(cmd, args)
			if help || err != nil {
				return err
			}
			for _, w := range l.Warnings {
				fmt.Fprintln(cmd.ErrOrStderr(), "warning: "+w)
			}
			set := 0
			for _, v := range l.Effective() {
				if v.Source != config.FromDefault {
					set++
				}
			}
			file := "no configuration file"
			if l.File != "" {
				file = l.File
			}
			fmt.Fprintf(cmd.OutOrStdout(), "valid: %d set, the rest at their defaults (%s)\n", set, file)
			return nil
		},
	}
}

func newDocs() *cobra.Command {
	return &cobra.Command{
		Use:    "docs",
		Short:  "Print docs/configuration.md",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			fmt.Fprint(cmd.OutOrStdout(), config.Markdown())
			return nil
		},
	}
}

// take removes a flag of the command itself from its settings.
func take(args []string, flag string) (rest []string, found bool) {
	for _, a := range args {
		if a == flag {
			found = true
			continue
		}
		rest = append(rest, a)
	}
	return rest, found
}
