package cmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"sched/schedule"
	"sched/schedule/history"
	"sched/schedule/outcome"
	"sched/schedule/runfile"
	"sched/schedule/runner"
	"sched/schedule/text"
)

func (a *app) logsCommand() *cobra.Command {
	var follow bool
	c := &cobra.Command{
		Use:   "logs TASK|RUN",
		Short: "Print what a run printed: the newest of a task, or the one named",
		Long: `logs prints the output of one run to stdout, as it was. What its hooks printed follows on stderr.
A run is named by its id, or by the last part of it that sched history shows.

With --follow it goes on until the run has ended, with all its attempts, and then says on stderr how.`,
		Example: `  sched logs nightly-report
  sched logs nightly-report -f
  sched logs 5c2f9a1b3d4e`,
		Args: arguments(1, 1),
		RunE: func(_ *cobra.Command, args []string) error { return a.logs(args[0], follow) },
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "print what is printed until the run ends")
	return c
}

// logs prints the output of a run, to its end if it should follow.
func (a *app) logs(name string, follow bool) error {
	s, err := a.loadAnyway()
	if err != nil {
		return err
	}
	record, err := a.newestRun(s, name)
	if err != nil {
		return err
	}
	output := record.Output
	if output == "" {
		output = runfile.OutputPath(s.StateDir, record) // of its hooks
	}
	if follow && record.Outcome == "" {
		record, err = a.follow(s, record)
	} else {
		err = copyFile(a.out, output)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return failed("", "%w", err)
	}
	err = copyFile(a.err, runner.HooksPath(output))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return failed("", "%w", err)
	}
	switch {
	case follow && record.Outcome == "":
		a.problem("%s vanished; the next tick will finish its run", record.Task)
	case follow:
		a.problem("%s %s", record.Task, text.Line(describe(record)))
	}
	return nil
}

// newestRun returns the newest run of a task, or the one named. One that has not ended has no outcome. The
// output is empty, or names a file that is missing, where nothing was printed.
func (a *app) newestRun(s *schedule.Schedule, name string) (outcome.Record, error) {
	live, lost, records, err := a.recall(s, history.Query{Task: name, Outcomes: outcome.Ran, Limit: 1})
	if err != nil {
		return outcome.Record{}, err
	}
	for _, log := range slices.Backward(append(lost, live...)) { // oldest first
		if log.Begin.Task == name || log.Begin.Run == name || text.ShortRun(log.Begin.Run) == name {
			if log.Deferred() {
				if log.Begin.Task == name && len(records) > 0 && records[0].Run > log.Begin.Run {
					continue // a newer one has come and gone
				}
				a.problem("run %s waits for attempt %d, until %s", text.ShortRun(log.Begin.Run), log.Deferral.Attempt, a.clock(log.Deferral.Until, s.Location))
			}
			return log.Begin, nil
		}
	}
	if len(records) == 0 {
		return a.findRun(s, name)
	}
	return records[0], nil
}

// findRun returns the record of a run by its id or the end of it.
func (a *app) findRun(s *schedule.Schedule, name string) (outcome.Record, error) {
	db, err := history.OpenRead(s.StateDir)
	if err != nil {
		return outcome.Record{}, err
	}
	defer db.Close()
	record, err := db.Get(ctx, name)
	if err == nil || !errors.Is(err, history.ErrNotFound) {
		return record, err
	}
	if r, err := oneRequest(s, name); err != nil || r.Run != "" {
		return outcome.Record{}, errors.Join(err, a.notBegun(s, r))
	}
	if _, err := task(s, name); err == nil {
		return outcome.Record{}, failed("run it once with `sched test "+name+"`", "%s never ran", name)
	}
	var names []string
	for _, t := range s.Tasks {
		names = append(names, t.Name)
	}
	hint := didYouMean(name, names)
	if newest, err := db.Find(ctx, history.Query{Limit: 1000}); err == nil && nearestRun(name, newest) != "" {
		hint = nearestRun(name, newest)
	}
	return outcome.Record{}, failed(hint, "there is no task and no run %q", name)
}

func copyFile(w io.Writer, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := io.Copy(w, file); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
