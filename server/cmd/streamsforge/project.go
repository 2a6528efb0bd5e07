package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/streamsforge/streamsforge/engine/project"
	files "github.com/streamsforge/streamsforge/server/project"
)

const projectHelp = `
A project is a directory with streamsforge.yml (or streamform.yml), statements in models/ and fixtures in fixtures/.
Exit codes: 0 ok, 1 something was found, 2 the command line or the directory is wrong.
`

// projectArgs accepts a directory, and more where there is more; anything else is a wrong command line.
func projectArgs(most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := cobra.MaximumNArgs(most)(cmd, args); err != nil {
			return &usageError{err}
		}
		return nil
	}
}

// openProject reads and checks the project in the directory that is the first argument.
func openProject(args []string) (o *files.Opened, dir string, err error) {
	dir = "."
	if len(args) > 0 {
		dir = args[0]
	}
	if o, err = files.Open(os.DirFS(dir)); errors.Is(err, files.ErrNoProject) {
		return nil, dir, &usageError{fmt.Errorf("%w in %s; `streamsforge init %s` writes one", err, dir, dir)}
	} else if err != nil {
		return nil, dir, &usageError{err}
	}
	return o, filepath.ToSlash(dir), nil
}

// within gives a place the directory, so that a terminal can open it.
func within(dir string, p *project.Place) {
	if p.File != "" && dir != "." {
		p.File = path.Join(dir, p.File)
	}
}

func located(dir string, found []project.Finding) []project.Finding {
	out := make([]project.Finding, len(found))
	copy(out, found)
	for i := range out {
		within(dir, &out[i].Place)
	}
	return out
}

func newProjectCheck() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "check [dir]",
		Short: "Compile the models of a project and hold what they declare against what they emit",
		Long:  "Compiles every model, in order of dependency, and reports everything that is wrong at once, with file, line and column.\n" + projectHelp,
		Args:  projectArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, dir, err := openProject(args)
			if err != nil {
				return err
			}
			return printCheck(cmd.OutOrStdout(), o, dir, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func printCheck(out io.Writer, o *files.Opened, dir string, asJSON bool) error {
	found := located(dir, o.Findings)
	failed := project.HasErrors(found)
	models := []files.ModelReport{}
	for _, m := range o.Checked.Models {
		models = append(models, files.Report(m))
	}
	if asJSON {
		if err := writeJSON(out, map[string]any{"ok": !failed, "findings": found, "models": models}); err != nil {
			return err
		}
	} else {
		for _, f := range found {
			fmt.Fprintln(out, f)
		}
		if !failed {
			w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
			for _, m := range o.Checked.Models {
				fmt.Fprintf(w, "%s\t%s\t%s\treads %s\n", m.Name, m.Mode, m.Effective, strings.Join(m.Reads, ", "))
			}
			if err := w.Flush(); err != nil {
				return err
			}
		}
		fmt.Fprintln(out, summary(found, o))
	}
	if failed {
		return errSilent
	}
	return nil
}

// summary is the last line of a check.
func summary(found []project.Finding, o *files.Opened) string {
	errs := 0
	for _, f := range found {
		if f.Severity == project.Error {
			errs++
		}
	}
	s := fmt.Sprintf("ok: %s, %s, %s", count(len(o.Files.Project.Sources), "source"), count(len(o.Checked.Models), "model"), count(len(o.Files.Fixtures), "fixture"))
	if errs > 0 {
		s = count(errs, "error")
	}
	if warnings := len(found) - errs; warnings > 0 {
		s += ", " + count(warnings, "warning")
	}
	return s
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

func writeJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func newProjectTest() *cobra.Command {
	var asJSON bool
	var opts files.TestOptions
	c := &cobra.Command{
		Use:   "test [dir]",
		Short: "Run the fixtures of a project, record by record, without a server",
		Long: "Checks the project, gives the rows of every fixture to its models and compares what they emit, record by record. Every\n" +
			"fixture runs again with a restart after every epoch, with one epoch for the rows of a step, and with one for each row:\n" +
			"none of that may show.\n" + projectHelp,
		Args: projectArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, dir, err := openProject(args)
			if err != nil {
				return err
			}
			return printTest(cmd.OutOrStdout(), o, dir, opts, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().StringVar(&opts.Run, "run", "", "only the fixtures whose `name` contains this")
	c.Flags().BoolVar(&opts.RestartEverywhere, "restart-everywhere", false, "compare the run that restarts after every epoch with what is expected")
	return c
}

func printTest(out io.Writer, o *files.Opened, dir string, opts files.TestOptions, asJSON bool) error {
	found := located(dir, o.Unforeseen())
	reports := []files.FixtureReport{}
	ok := !project.HasErrors(found)
	if ok {
		reports = o.Test(opts)
	}
	failed := 0
	for i := range reports {
		r := &reports[i]
		within(dir, &r.Place)
		for j := range r.Problems {
			within(dir, &r.Problems[j].Place)
		}
		if !r.OK {
			failed++
		}
	}
	nothing := ok && len(reports) == 0 && opts.Run != ""
	if asJSON {
		if err := writeJSON(out, map[string]any{"ok": ok && failed == 0 && !nothing, "findings": found, "fixtures": reports}); err != nil {
			return err
		}
	} else {
		for _, f := range found {
			fmt.Fprintln(out, f)
		}
		for _, r := range reports {
			printFixture(out, r)
		}
		switch {
		case !ok:
			fmt.Fprintln(out, "the project has errors: no fixture was run")
		case nothing:
			fmt.Fprintf(out, "no fixture has a name with %q\n", opts.Run)
		default:
			fmt.Fprintf(out, "%s: %d passed, %d failed\n", count(len(reports), "fixture"), len(reports)-failed, failed)
		}
	}
	if !ok || failed > 0 || nothing {
		return errSilent
	}
	return nil
}

func printFixture(out io.Writer, r files.FixtureReport) {
	if r.OK {
		fmt.Fprintf(out, "pass  %s (%s)\n", r.Name, count(r.Records, "record"))
		return
	}
	fmt.Fprintf(out, "FAIL  %s (%s)\n", r.Name, r.Place)
	for _, p := range r.Problems {
		fmt.Fprintln(out, "  "+strings.ReplaceAll(p.String(), "\n", "\n  "))
	}
}

func newProjectExplain() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "explain [dir] [model]",
		Short: "Print the plans of the models of a project, with the changelog mode of every operator",
		Long:  "Prints each model with what it reads, its changelog, its columns and its plan.\n" + projectHelp,
		Args:  projectArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			only := ""
			if len(args) == 1 && !isDir(args[0]) {
				args = []string{".", args[0]}
			}
			if len(args) == 2 {
				only = args[1]
			}
			o, dir, err := openProject(args[:min(len(args), 1)])
			if err != nil {
				return err
			}
			return printExplain(cmd.OutOrStdout(), o, dir, only, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

func printExplain(out io.Writer, o *files.Opened, dir, only string, asJSON bool) error {
	found := located(dir, o.Findings)
	failed := project.HasErrors(found)
	type explained struct {
		files.ModelReport
		Plan string `json:"plan"`
	}
	models := []explained{}
	for _, m := range o.Checked.Models {
		if only == "" || m.Name == only {
			models = append(models, explained{files.Report(m), m.Program.Explain()})
		}
	}
	if only != "" && len(models) == 0 && !failed {
		return &usageError{fmt.Errorf("no model %q", only)}
	}
	if asJSON {
		if err := writeJSON(out, map[string]any{"ok": !failed, "findings": found, "models": models}); err != nil {
			return err
		}
	} else {
		for _, f := range found {
			fmt.Fprintln(out, f)
		}
		for i, m := range models {
			if i > 0 {
				fmt.Fprintln(out)
			}
			c := o.Checked.Model(m.Name)
			fmt.Fprintf(out, "%s: %s, %s, reads %s\n", m.Name, m.Kind, c.Effective, strings.Join(m.Reads, ", "))
			fmt.Fprintf(out, "  (%s)\n", c.Program.Output())
			for line := range strings.Lines(m.Plan) {
				fmt.Fprint(out, "  "+line)
			}
		}
	}
	if failed {
		return errSilent
	}
	return nil
}

func newProjectInit() *cobra.Command {
	return &cobra.Command{
		Use:   "init [dir]",
		Short: "Write a sample project",
		Long:  "Writes two models with their fixture into a directory, and overwrites nothing.\n" + projectHelp,
		Args:  projectArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			names, err := files.Init(dir)
			if err != nil {
				return &usageError{err} // the directory is taken, or cannot be written
			}
			for _, name := range names {
				fmt.Fprintln(cmd.OutOrStdout(), path.Join(filepath.ToSlash(dir), name))
			}
			fmt.Fprintf(cmd.OutOrStdout(), "next: streamsforge test %s\n", dir)
			return nil
		},
	}
}
