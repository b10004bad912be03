package cmd

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/cluster"
	"sched/schedule/humanize"
)

type forgetCommand struct{ *app }

func newForgetCommand(a *app) *cobra.Command {
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
		Args: arguments(1, 1),
		RunE: func(_ *cobra.Command, args []string) error { return forgetCommand{a}.forget(args[0], reason) },
	}
	reasonFlag(c, &reason)
	return c
}

// forget removes what the store keeps of the name, of a task or of a server.
func (a forgetCommand) forget(name, reason string) error {
	s, err := a.loadTrusted()
	if err != nil {
		return err
	}
	store := a.store(s)
	if store == nil {
		return failed("what this machine keeps ends by itself: see `history:`", "%s has no store, so nothing is kept for others", s.File)
	}
	if slices.ContainsFunc(s.Tasks, func(t *schedule.Task) bool { return t.Name == name }) {
		return usage("take it out of the file first, on every server", "%s is a task of this schedule", name)
	}
	all, err := cluster.List(ctx, store)
	if err != nil {
		return failed("", "%w", err)
	}
	if i := slices.IndexFunc(all, func(s cluster.Server) bool { return s.Name == name }); i >= 0 && !all[i].Silent() {
		return failed("stop its ticks first", "%s has ticked %s ago", name, humanize.Duration(all[i].Age))
	}
	if err := a.remove(s, store, name); err != nil {
		return err
	}
	a.noteChange(s, "forget", name, reason)
	return nil
}

func (a forgetCommand) remove(s *schedule.Schedule, store mutex.Store, name string) error {
	if !slices.ContainsFunc(s.Tasks, func(t *schedule.Task) bool { return t.Mutex == name }) {
		held, err := store.Held(ctx, name)
		if err != nil {
			return failed("", "%w", err)
		}
		if holder, goesOn := held[name]; goesOn {
			return failed("wait for its end, or end it with `sched stop` on that server", "a run of %s goes on: its mutex is held %s", name, holder)
		}
	}
	found, err := cluster.Forget(ctx, store, name)
	switch {
	case err != nil:
		return failed("", "%w", err)
	case !found:
		return failed("", "the store keeps nothing of %s", name)
	}
	fmt.Fprintf(a.out, "the store has forgotten %s\n", name)
	return nil
}
