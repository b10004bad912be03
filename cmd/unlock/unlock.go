// Package unlock is the command `sched unlock`.
package unlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/cmd/flags"
	"sched/mutex"
	"sched/schedule"
	"sched/schedule/pause"
	"sched/schedule/view"
)

func New(a *app.App) *cobra.Command {
	var all bool
	var reason string
	c := &cobra.Command{
		Use:   "unlock TASK|--all",
		Short: "Break the lock of a task: the last resort",
		Long: `unlock frees the mutex of a task although a run has it, and the seats that its runs have in a pool.
The runs go on, and the next ones may overlap with them. It is not needed after a crash: the kernel
drops the lock of a dead run by itself.`,
		Example: `  sched unlock nightly-report --reason "it hangs on a dead NFS server"`,
		Args:    flags.Arguments(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			if all == (len(args) == 1) {
				return exit.Usage("see `sched list"+a.ConfigFlag()+"` for the names", "name one task, or say --all")
			}
			return unlock(a, flags.Optional(args), reason)
		},
	}
	c.Flags().BoolVar(&all, "all", false, "of every task")
	flags.AddReason(c, &reason)
	return c
}

func unlock(a *app.App, name, reason string) error {
	s, err := a.LoadToChange()
	if err != nil {
		return err
	}
	tasks := s.Tasks
	if name != "" {
		t, err := view.FindTask(s, name)
		if err != nil {
			return err
		}
		tasks = []*schedule.Task{t}
	}
	var locks []string
	for _, t := range tasks {
		locks = append(locks, t.Mutex)
	}
	seats, err := seatsOf(a, s, tasks)
	if err != nil {
		return err
	}
	broken, err := breakLocks(a, s, append(locks, seats...))
	if broken > 0 { // also if another lock could not be broken
		a.NoteChange(s, "unlock", cmp.Or(name, pause.Everything), reason)
	} else if err == nil {
		fmt.Fprintln(a.Out, "nothing is locked")
	}
	return err
}

// seatsOf returns the seats of pools that runs of the tasks have on this machine or in the store.
func seatsOf(a *app.App, s *schedule.Schedule, tasks []*schedule.Task) (seats []string, err error) {
	live := a.View(s).Live()
	for _, t := range tasks {
		pool := t.Pool
		if pool.Name == "" {
			continue
		}
		holders, err := a.Caller(s).Holders(context.Background(), live, mutex.Need{Pool: pool.Name, Seats: pool.Seats})
		if err != nil {
			return nil, exit.Failed("", "cannot unlock pool %s: %w", pool.Name, err)
		}
		for _, seat := range mutex.Seats(pool.Name, pool.Seats) {
			if holder, taken := holders[seat]; taken && holder.Task == t.Name {
				seats = append(seats, seat)
			}
		}
	}
	return seats, nil
}

// breakLocks breaks each of the locks once, and returns how many of them somebody had.
func breakLocks(a *app.App, s *schedule.Schedule, names []string) (broken int, err error) {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			continue
		}
		holder, err := a.Caller(s).Mutexes().Break(context.Background(), name)
		if errors.Is(err, mutex.ErrFree) {
			continue
		}
		if err != nil {
			return broken, exit.Failed("", "cannot unlock %s: %w", name, err)
		}
		broken++
		fmt.Fprintf(a.Out, "unlocked %s, which was held %s; %s\n", name, holder.Text(s.Location), unlockedRun(s, name))
	}
	return broken, nil
}

// unlockedRun says what becomes of the run that had the lock.
func unlockedRun(s *schedule.Schedule, name string) string {
	pool, isSeat := mutex.PoolOf(name)
	stopsOnLoss := func(t *schedule.Task) bool {
		needsLock := t.Mutex == name || isSeat && t.Pool.Name == pool
		return t.StopOnLostLease && needsLock
	}
	if len(s.Store.Servers) > 0 && slices.ContainsFunc(s.Tasks, stopsOnLoss) {
		return "`on_lost_lease: stop` ends that run within seconds"
	}
	return "that run goes on"
}
