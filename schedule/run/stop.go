package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/process"
	"sched/schedule/run/holding"
	"sched/schedule/run/hook"
	"sched/schedule/run/ownrow"
	"sched/schedule/state"
)

// A Stopping says what became of a run that was to be stopped.
type Stopping struct {
	Record state.Row // of the end; without an outcome if Stop did not see that
	Killed bool      // TERM was not enough
	Over   bool      // the hooks of the run have ended, too
}

// This file is about `sched stop`: it writes an order into the row, which the supervisor reads when
// the command has ended, and signals the command's process group itself
// (docs/internals/decisions.md#sched-stop-signals-the-command).

// ErrNotRunning says that the command of a run is not running any more.
var ErrNotRunning = errors.New("its command has ended already")

// ErrVanished says that the run is lost, that no process of it lives, and that the next tick will
// finish it.
var ErrVanished = errors.New("its processes have vanished, and the next tick will finish it")

// stopBecause is Stop for each reason: by a person, by a newer run, or by a pause.
func stopBecause(p holding.Process, id string, why state.Stop) (Stopping, error) {
	ctx := context.Background()
	row, lives, err := p.DB.RowAndOwner(ctx, id)
	switch {
	case err != nil:
		return Stopping{}, err
	case row.Phase == state.Ended, row.Pending():
		return Stopping{}, state.ErrNotFound
	case row.Outcome != "":
		return Stopping{Record: row}, ErrNotRunning
	case !row.Waits() && !lives && !holding.LivesOn(row):
		return Stopping{}, ErrVanished
	case !row.Waits() && !lives:
		return stopUnwatched(p, row, why)
	}
	var task schedule.Task
	if err := json.Unmarshal(row.Snapshot, &task); err != nil {
		return Stopping{}, fmt.Errorf("run %s: its task cannot be read: %w", id, err)
	}
	err = p.DB.Runs().AskStop(ctx, id, why)
	if err != nil && !errors.As(err, new(*state.OverError)) { // else it has ended meanwhile, and follow reports how
		return Stopping{}, err
	}
	s := stopper{from: p, id: id, user: task.As.User, killAfter: task.KillAfter}
	err = s.follow()
	s.ending.Wait()
	return s.Stopping, err
}

// stopUnwatched ends the command of a run whose tick or supervisor was killed, and the run.
func stopUnwatched(p holding.Process, row state.Row, why state.Stop) (Stopping, error) {
	o, err := take(p, row)
	if err != nil {
		return Stopping{}, err
	}
	result := EndUnwatched(o.run, nil)
	ownrow.SetStoppedBy(&result, why)
	return Stopping{Record: FinishAndSend(o.run, result), Over: true}, nil
}

// A stopper follows a run to its end.
type stopper struct {
	Stopping
	from      holding.Process
	id        string
	user      string // of the task
	killAfter time.Duration

	attempt int            // the number of the attempt that is being ended, or has been
	ending  sync.WaitGroup // of that attempt
	lookAt  time.Time      // when to look again for a process group that was not found
}

// follow waits for the end of the run, and signals its command until then. Its errors are Stop's.
func (s *stopper) follow() error {
	for deadline := time.Now().Add(s.killAfter + stopPatience); ; time.Sleep(lookEvery) {
		row, lives, err := s.from.DB.RowAndOwner(context.Background(), s.id)
		if s.Over = errors.Is(err, state.ErrNotFound); s.Over {
			return nil
		}
		if err != nil {
			return err
		}
		if row.Outcome != "" {
			s.Record = row
		}
		switch Next(row, Facts{OwnerLives: lives}) {
		case Nothing:
			if row.Phase == state.Ended {
				s.Over = true
				return nil
			} // else its owner ends the run: wait
		case FireHooks: // a tick goes on with them
			return nil
		default:
			if !row.Waits() {
				return ErrVanished
			}
			if o, err := take(s.from, row); err == nil { // else another process ends it: wait
				s.Record, s.Over = FinishAndSend(o.run, o.result(nil)), true
				return nil
			}
		}
		if time.Now().After(deadline) {
			return s.lateError(row)
		}
		if row.Phase == state.Running {
			s.signal(row.Attempt, row.Output)
		}
	}
}

const (
	// stopPatience bounds the wait after a command had to be ended: the time of two hooks.
	stopPatience = 2 * hook.MaxTime
	// lookEvery is the time between two looks at the row.
	lookEvery = 20 * time.Millisecond
	// lookAgainAfter is the time between two looks through all processes of the machine.
	lookAgainAfter = time.Second
)

// lateError returns why a run has not ended in time; nil if only its hooks take long.
func (s *stopper) lateError(row state.Row) error {
	switch {
	case row.Outcome != "":
		return nil // its hooks take their time
	case row.Attempt.PID == 0:
		return errors.New("it has not started its command yet; it will not")
	case s.attempt == 0:
		return fmt.Errorf("nobody can tell whether process %d is still its command, so that got no signal;"+
			" the run ends with its command", row.Attempt.PID)
	}
	return fmt.Errorf("its command (process %d) survived KILL; it may wait for a disk", row.Attempt.PID)
}

// signal begins to end the command of the last attempt, if its process group belongs to the run:
// the supervisor may have reaped the command, and the kernel may have given the number to other
// processes since.
func (s *stopper) signal(a state.Attempt, output string) {
	switch now := time.Now(); {
	case a.PID == 0, a.Number == s.attempt, now.Before(s.lookAt): // wait
	case !process.HasGroup(s.id, a.PID) && !process.Prints(a.PID, output):
		s.lookAt = now.Add(lookAgainAfter)
	default:
		s.ending.Wait() // an attempt before it was ended, and the run went on all the same
		s.attempt = a.Number
		s.ending.Go(func() {
			family := process.Family{Groups: []int{a.PID}, Run: s.id, Attempt: a.Number, User: s.user}
			_, s.Killed = process.End(context.Background(), family, s.killAfter)
		})
	}
}

// A Replacement is what `without_overlapping: replace` means for the run that has the mutex of a
// task.
type Replacement int

// ReplacementOf returns what a task does with the run that has its mutex. isOurs says that the run
// is in the history of this state folder.
func ReplacementOf(task *schedule.Task, holder mutex.Holder, isOurs bool) Replacement {
	switch {
	case !task.Replace || holder.Task != task.Name:
		return NotReplaced
	case !isOurs:
		return ReplacedThere
	}
	return ReplacedHere
}

const (
	NotReplaced   Replacement = iota // the task does not replace runs, or the run is of another task
	ReplacedHere                     // the next run of the task ends it
	ReplacedThere                    // it can be ended elsewhere only, so the next run is skipped
)

// OnlyThere ends the reason of a skip on a server because of ReplacedThere.
func OnlyThere(holder mutex.Holder, server string) string {
	if holder.Host == server {
		return ", of another state folder or another machine of that name, where alone it can be replaced"
	}
	return ", where alone it can be replaced"
}

// replacedBy returns the request to stop a run that the run with the id replaces.
func replacedBy(id string) state.Stop {
	by := "run " + humanize.ShortRun(id) + ", which replaces it"
	return state.Stop{By: by, At: clock.Now().UTC(), Reason: "by " + by}
}
