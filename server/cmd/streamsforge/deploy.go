package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/streamsforge/streamsforge/engine/project"
	files "github.com/streamsforge/streamsforge/server/project"
)

func newProjectDeploy() *cobra.Command {
	var t files.Target
	var asJSON bool
	c := &cobra.Command{
		Use:   "deploy [dir]",
		Short: "Create or update the models of a project as tables and pipelines of a server",
		Long: "Checks the project, compares its sources with those of the server, and writes what differs: models that are\n" +
			"pipelines as pipelines, all others as tables, in order of dependency, and starts them. Nothing is deleted.\n" +
			"The password, or a token instead of it, can be in STREAMSFORGE_PASSWORD and STREAMSFORGE_TOKEN.\n" + projectHelp,
		Args: projectArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, dir, err := openProject(args)
			if err != nil {
				return err
			}
			if project.HasErrors(o.Findings) {
				return printCheck(cmd.OutOrStdout(), o, dir, asJSON)
			}
			if t.Token == "" {
				t.Token = os.Getenv("STREAMSFORGE_TOKEN")
			}
			if t.Password == "" {
				t.Password = os.Getenv("STREAMSFORGE_PASSWORD")
			}
			done, err := o.Deploy(cmd.Context(), t)
			if asJSON {
				problem := ""
				if err != nil {
					problem = err.Error()
				}
				if err := writeJSON(cmd.OutOrStdout(), map[string]any{"ok": err == nil, "models": append([]files.Deployed{}, done...), "error": problem}); err != nil {
					return err
				}
			} else {
				for _, d := range done {
					fmt.Fprintf(cmd.OutOrStdout(), "%-9s  %s %s\n", d.Action, d.Kind, d.Name)
				}
			}
			return err
		},
	}
	f := c.Flags()
	f.StringVar(&t.URL, "url", "http://localhost:5199", "the server")
	f.StringVar(&t.User, "user", "", "the user who logs in")
	f.StringVar(&t.Password, "password", "", "the user's password")
	f.StringVar(&t.Token, "token", "", "a token instead of user and password")
	f.StringVar(&t.Environment, "env", "", "the environment")
	f.BoolVar(&t.DryRun, "dry-run", false, "say what would be done")
	f.BoolVar(&t.NoStart, "no-start", false, "leave what is new stopped")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
