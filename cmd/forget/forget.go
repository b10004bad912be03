// Package forget is the command `sched forget`.
package forget

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/cmd/flags"
	"sched/mutex"
	"sched/schedule"
	"sched/schedule/cluster"
	"sched/schedule/humanize"
)

func New(a *app.App) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "forget TASK|SERVER",
		Short: "Remove what the store keeps of a task or a server that is gone",
		Long: `forget removes from the store what it keeps of a task that is not in the schedule any more, on any
server, or of a server that does not tick any more: its last run, which of its slots were
claimed, or what it announced. All that has an end, too: forget is for who wants it gone now. The
history of each server keeps what ran.`,
		Example: `  sched forget nightly-report
  sched forget web-3`,
		Args: flags.Arguments(1, 1),
		RunE: func(_ *cobra.Command, args []string) error { return forget(a, args[0], reason) },
	}
	flags.AddReason(c, &reason)
	return c
}

func forget(a *app.App, name, reason string) error {
	s, err := a.LoadToChange()
	if err != nil {
		return err
	}
	store := a.Store(s)
	if store == nil {
		return exit.Failed("what this machine keeps ends by itself: see `history:`",
			"%s has no store, so nothing is kept for others", s.File)
	}
	if s.Task(name) != nil {
		return exit.Usage("take it out of the file first, on every server", "%s is a task of this schedule", name)
	}
	servers, err := cluster.List(context.Background(), store)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(servers, func(server cluster.Server) bool { return server.Name == name })
	if i >= 0 && !servers[i].Silent() {
		return exit.Failed("stop its ticks first", "%s ticked %s ago", name, humanize.Duration(servers[i].Age))
	}
	if err := remove(a, s, store, name); err != nil {
		return err
	}
	a.NoteChange(s, "forget", name, reason)
	return nil
}

// remove makes the store forget the name, unless a run holds the mutex with that name. If tasks of
// the schedule have that mutex, its holder says nothing about the task that is gone.
func remove(a *app.App, s *schedule.Schedule, store mutex.Store, name string) error {
	isMutexOfTask := slices.ContainsFunc(s.Tasks, func(t *schedule.Task) bool { return t.Mutex == name })
	if !isMutexOfTask {
		holders, err := store.Held(context.Background(), name)
		if err != nil {
			return err
		}
		if holder, isHeld := holders[name]; isHeld {
			return exit.Failed("wait for its end, or end it with `sched stop` on that server",
				"a run of %s goes on: its mutex is held %s", name, holder.Text(s.Location))
		}
	}
	found, err := cluster.Forget(context.Background(), store, name)
	switch {
	case err != nil:
		return err
	case !found:
		return exit.Failed("", "the store keeps nothing of %s", name)
	}
	fmt.Fprintf(a.Out, "the store has forgotten %s\n", name)
	return nil
}
