package cmd

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	captured "sched/schedule/run/output"
	"sched/schedule/statedir"
	"sched/schedule/text"
	"sched/schedule/view"
	"sched/schedule/view/runs"
)

type logsCommand struct{ *app }

func newLogsCommand(a *app) *cobra.Command {
	var follow bool
	c := &cobra.Command{
		Use:   "logs TASK|RUN",
		Short: "Print what a run printed: the newest of a task, or the one named",
		Long: `logs prints the output of one run to stdout, as it was. What its hooks printed follows on stderr.
A run is named by its id, or by the last part of it that sched history shows.

With --follow it goes on until the run has ended, with all its attempts, and then says on stderr how.

The output of a run of another server of the store is on that server: logs says on which.`,
		Example: `  sched logs nightly-report
  sched logs nightly-report -f
  sched logs 5c2f9a1b3d4e`,
		Args: arguments(1, 1),
		RunE: func(_ *cobra.Command, args []string) error { return logsCommand{a}.logs(args[0], follow) },
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "print what is printed until the run ends")
	return c
}

func (a logsCommand) logs(name string, follow bool) error {
	a.look()
	s, err := a.loadAnyway()
	if err != nil {
		return err
	}
	record, err := runs.Of(a.view(s)).NewestRun(ctx, name)
	if err != nil {
		return a.view(s).ElseThere(ctx, "logs", name, err)
	}
	path := record.Output
	if path == "" {
		path = captured.Path(s.StateDir, record) // of its hooks
	}
	if follow && record.Outcome == "" {
		record, err = a.follow(s, record)
	} else {
		err = copyFile(a.out, path)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return failed("", "%w", err)
	}
	err = copyFile(a.err, captured.HooksPath(path))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return failed("", "%w", err)
	}
	switch {
	case follow && record.Outcome == "":
		a.problem("%s vanished; the next tick will finish its run", record.Task)
	case follow:
		a.problem("%s %s", record.Task, text.Line(view.Describe(record)))
	}
	return nil
}

func copyFile(w io.Writer, path string) error {
	file, err := statedir.OpenPlain(path, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer file.Close()
	from := outputReader{file: file}
	for {
		text, err := from.read()
		if err == nil && len(text) > 0 {
			_, err = w.Write(text)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if len(text) == 0 {
			return nil
		}
	}
}
