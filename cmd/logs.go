package cmd

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"sched/schedule/outcome"
	captured "sched/schedule/run/output"
	"sched/schedule/statedir"
	"sched/schedule/text"
	"sched/schedule/view"
	"sched/schedule/view/runs"
)

// A logsCommand is `sched logs`.
type logsCommand struct{ *app }

func newLogsCommand(a *app) *cobra.Command {
	var follow bool
	var o askOptions
	c := &cobra.Command{
		Use:   "logs TASK|RUN",
		Short: "Print what a run printed: the newest of a task, or the one named",
		Long: `logs prints the output of one run to stdout, as it was. What its hooks printed follows on stderr.
A run is named by its id, or by the last part of it that sched history shows.

With --follow it goes on until the run has ended, with all its attempts, and then says on stderr how.

The output of a run of another server of the store is on that server, which is asked for the last
64 KiB of it: its next tick answers, within a minute, or its sched serve at once. So --follow prints
what is new there once a minute, or every second. On a terminal it is shown without escape
sequences.`,
		Example: `  sched logs nightly-report
  sched logs nightly-report -f
  sched logs 5c2f9a1b3d4e
  sched logs nightly-report --server web-2`,
		Args: arguments(1, 1),
		RunE: func(_ *cobra.Command, args []string) error { return logsCommand{a}.logs(args[0], follow, o) },
	}
	o.waitFlags(c, "the newest run of the task there, or the one named")
	c.Flags().BoolVarP(&follow, "follow", "f", false, "print what is printed until the run ends")
	return c
}

// logs prints the output of a run; with follow until the run has ended.
func (a logsCommand) logs(name string, follow bool, o askOptions) error {
	a.look()
	s, err := a.loadAnyway()
	if err != nil {
		return err
	}
	var record outcome.Record
	own := serverName(s.Server)
	if !o.elsewhere(own) {
		record, err = runs.Of(a.view(s)).NewestRun(ctx, name)
	}
	if err != nil || o.elsewhere(own) {
		if there, ok := a.view(s).NewestElsewhere(ctx, name, o.server); ok {
			return a.logsElsewhere(s, there, follow, o)
		}
	}
	if err == nil && o.elsewhere(own) {
		err = failed("see `sched history --all`", "the store knows of no run %s on %s", name, o.server)
	}
	if err != nil {
		return err
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
