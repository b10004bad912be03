package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/outcome"
	"sched/schedule/process"
	"sched/schedule/runfile"
)

// This file is about `sched stop`: it writes into the run's file that the run is to be stopped, and signals the command's
// process group itself (docs/internals/decisions.md#sched-stop-signals-the-command). The supervisor of the run finds what was written
// when the command has ended, and before the next attempt.

// ErrNotRunning says that the command of a run is not running any more.
var ErrNotRunning = errors.New("its command has ended already")

// ErrVanished says that the run is lost, and that the next tick will finish it.
var ErrVanished = errors.New("its processes have vanished, and the next tick will finish it")

// A Stopping says what became of a run that was to be stopped.
type Stopping struct {
	Record outcome.Record // of the end; without an outcome if Stop did not see that
	Killed bool           // TERM was not enough
	Over   bool           // the hooks of the run have ended, too
}

const (
	// stopPatience bounds the wait for the end of a run after its command had to be ended: the time of two hooks.
	stopPatience = 2 * (hookTimeout + hookKillAfter)
	// pollEvery is the time between two looks at the run's file.
	pollEvery = 20 * time.Millisecond
	// lookAgainAfter is the time between two looks through all processes of the machine.
	lookAgainAfter = time.Second
)

// Stop ends the command of a live run (TERM, and KILL after the task's kill_after), and waits until the run has ended. A run
// that waits for its next attempt ends at once. The error is ErrNotRunning, with the result, where the command has ended
// already; ErrVanished; os.ErrNotExist where there is no such run; or says why the run goes on. The text by names who stops it.
func (c Caller) Stop(id, by string) (Stopping, error) {
	file, err := runfile.Observe(c.Dir, id)
	if err != nil {
		return Stopping{}, err
	}
	defer file.Close()
	state, alive, err := file.Read()
	switch {
	case err != nil:
		return Stopping{}, err
	case state.Result != nil:
		return Stopping{Record: *state.Result}, ErrNotRunning
	case !alive && !state.Waits():
		return Stopping{}, ErrVanished
	}
	var task schedule.Task
	if err := json.Unmarshal(state.Begin.Snapshot, &task); err != nil {
		return Stopping{}, fmt.Errorf("run %s: its task: %w: %w", id, runfile.ErrUnreadable, err)
	}
	if err := file.RequestStop(runfile.StopRequest{By: by, At: clock.Now().UTC()}); err != nil {
		return Stopping{}, err
	}
	s := stopper{caller: c, id: id, killAfter: task.KillAfter}
	return s.follow(file)
}

// A stopper follows a run to its end.
type stopper struct {
	Stopping
	caller    Caller
	id        string
	killAfter time.Duration

	attempt int       // the number of the one that has got TERM
	killAt  time.Time // when it gets KILL
	lookAt  time.Time // when to look again for a process group that was not found
}

// follow waits for the end of the run, and signals its command until then. The error is that of Stop.
func (s *stopper) follow(file *runfile.Observer) (Stopping, error) {
	for deadline := time.Now().Add(s.killAfter + stopPatience); ; time.Sleep(pollEvery) {
		state, alive, err := file.Read()
		if errors.Is(err, os.ErrNotExist) { // the file is another run's already
			s.Over = true
			return s.Stopping, nil
		}
		if err != nil {
			return s.Stopping, err
		}
		if state.Result != nil {
			s.Record = *state.Result
		}
		switch {
		case state.End != nil:
			s.Record, s.Over = *state.End, true
			return s.Stopping, nil
		case alive:
		case state.Waits():
			if r, state, err := s.caller.take(s.id); err == nil {
				defer r.sendAlone()()
				s.Record, s.Over = r.conclude(state, nil), true
				return s.Stopping, nil
			}
		case state.Result != nil: // a tick goes on with its hooks
			return s.Stopping, nil
		default:
			return s.Stopping, ErrVanished
		}
		if time.Now().After(deadline) {
			return s.Stopping, s.late(state)
		}
		if state.Result == nil {
			s.signal(state)
		}
	}
}

// signal signals the command of the last attempt, if its process group is that of the run: the kernel may have given the
// number to processes of others.
func (s *stopper) signal(state runfile.State) {
	a := state.Attempt
	if a == nil || a.PID == 0 {
		return
	}
	switch again := a.Number == s.attempt; {
	case again && (s.Killed || time.Now().Before(s.killAt)), time.Now().Before(s.lookAt):
	case !process.HasGroup(s.id, a.PID):
		s.lookAt = time.Now().Add(lookAgainAfter)
	case again:
		s.Killed = true
		syscall.Kill(-a.PID, syscall.SIGKILL)
	default:
		s.attempt, s.killAt, s.Killed = a.Number, time.Now().Add(s.killAfter), false
		syscall.Kill(-a.PID, syscall.SIGTERM)
		syscall.Kill(-a.PID, syscall.SIGCONT) // a stopped process cannot obey
	}
}

// late returns why a run has not ended in time; nil when it is only its hooks that take long.
func (s *stopper) late(state runfile.State) error {
	switch {
	case state.Result != nil:
		return nil // its hooks take their time
	case state.Attempt == nil || state.Attempt.PID == 0:
		return errors.New("it has not started its command yet; it will not")
	case s.attempt == 0:
		return fmt.Errorf("nobody can tell whether process %d is still its command, so that got no signal; the run ends with its command", state.Attempt.PID)
	}
	return fmt.Errorf("its command (process %d) survived KILL; it may wait for a disk", state.Attempt.PID)
}

// stopAsked reports whether the run was asked to stop, and then sets that in result.
func (r *Run) stopAsked(result *outcome.Record) bool {
	stop, asked := r.file.StopRequested()
	if asked {
		stoppedBy(result, stop)
	}
	return asked
}

func stoppedBy(result *outcome.Record, stop runfile.StopRequest) {
	result.Outcome, result.Reason = outcome.Stopped, "sched stop by "+stop.By
}

// waitUnlessStopped waits before the next attempt. It returns early when the run was asked to stop, and reports false when
// ctx was done first.
func (r *Run) waitUnlessStopped(ctx context.Context, d time.Duration) bool {
	for ; d > time.Second; d -= time.Second {
		if !clock.Wait(ctx, time.Second) {
			return false
		}
		if _, asked := r.file.StopRequested(); asked {
			return true
		}
	}
	return clock.Wait(ctx, d)
}
