package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"sched/schedule"

	"sched/schedule/clock"
	"sched/schedule/outcome"

	"sched/schedule/runfile"

	"sched/schedule/process"
)

// Whoever wants a run stopped notes that in the run's file and ends the command's process group. The
// process that supervises the run finds the note when the command has ended, and before it would try
// again. So the command gets its signals also when that process is a tick with other tasks to run.

// ErrNotRunning says that the command of a run is not running any more.
var ErrNotRunning = errors.New("its command has ended already")

// ErrVanished says that nobody watches the run, so that the next tick will finish it.
var ErrVanished = errors.New("its processes have vanished, and the next tick will finish it")

// A Stopping is what became of an order to stop a run.
type Stopping struct {
	Record outcome.Record // its outcome; empty if it was not seen
	Killed bool           // TERM was not enough
	Over   bool           // its hooks have ended, too
}

const (
	// stopPatience bounds the wait for the end of a run after its command had to be ended: two hooks.
	stopPatience = 2 * (hookTimeout + hookKillAfter)
	lookEvery    = 20 * time.Millisecond
)

// Stop ends the command of a live run (TERM, and KILL after the task's kill_after), and waits until
// the run has ended. A run that waits for its next attempt ends at once. The error is ErrNotRunning
// with the result where the command has ended already, ErrVanished, or os.ErrNotExist.
func Stop(state State, id, by string, env []string) (Stopping, error) {
	file, err := runfile.Observe(state.Dir, id)
	if err != nil {
		return Stopping{}, err
	}
	defer file.Close()
	log, watched, err := file.Read()
	switch {
	case err != nil:
		return Stopping{}, err
	case log.Result != nil:
		return Stopping{Record: *log.Result}, ErrNotRunning
	case !watched && !log.Deferred():
		return Stopping{}, ErrVanished
	}
	var task schedule.Task
	if err := json.Unmarshal(log.Begin.Snapshot, &task); err != nil {
		return Stopping{}, fmt.Errorf("run %s: its task: %w: %w", id, runfile.ErrUnreadable, err)
	}
	if err := file.RequestStop(runfile.StopRequest{By: by, At: clock.Now().UTC()}); err != nil {
		return Stopping{}, err
	}
	s := stopper{state: state, id: id, env: env, killAfter: task.KillAfter}
	return s.see(file)
}

// A stopper follows a run to its end.
type stopper struct {
	Stopping
	state     State
	id        string
	env       []string
	killAfter time.Duration

	attempt int // that has got TERM
	killAt  time.Time
}

func (s *stopper) see(file *runfile.Observer) (Stopping, error) {
	for deadline := time.Now().Add(s.killAfter + stopPatience); ; time.Sleep(lookEvery) {
		log, watched, err := file.Read()
		if errors.Is(err, os.ErrNotExist) { // the file is another run's already
			s.Over = true
			return s.Stopping, nil
		}
		if err != nil {
			return s.Stopping, err
		}
		if log.Result != nil {
			s.Record = *log.Result
		}
		switch {
		case log.End != nil:
			s.Record, s.Over = *log.End, true
			return s.Stopping, nil
		case watched:
		case log.Deferred():
			if r, log, err := take(s.state, s.id, s.env); err == nil {
				defer r.postAlone()()
				s.Record, s.Over = r.conclude(log, nil), true
				return s.Stopping, nil
			}
		case log.Result != nil: // a tick goes on with its hooks
			return s.Stopping, nil
		default:
			return s.Stopping, ErrVanished
		}
		if time.Now().After(deadline) {
			return s.Stopping, s.late(log)
		}
		if log.Result == nil {
			s.signal(log)
		}
	}
}

// signal ends the command of the last attempt, if its process group is that of the run: a number that
// the kernel gave to somebody else is safe.
func (s *stopper) signal(log runfile.State) {
	a := log.Attempt
	if a == nil || a.PID == 0 {
		return
	}
	switch again := a.Number == s.attempt; {
	case again && (s.Killed || time.Now().Before(s.killAt)):
	case !slices.Contains(process.Orphans(s.id, a.PID, a.Number), a.PID):
	case again:
		s.Killed = true
		syscall.Kill(-a.PID, syscall.SIGKILL)
	default:
		s.attempt, s.killAt, s.Killed = a.Number, time.Now().Add(s.killAfter), false
		syscall.Kill(-a.PID, syscall.SIGTERM)
		syscall.Kill(-a.PID, syscall.SIGCONT) // a stopped process cannot obey
	}
}

// late says why a run goes on.
func (s *stopper) late(log runfile.State) error {
	switch {
	case log.Result != nil:
		return nil // its hooks take their time
	case log.Attempt == nil || log.Attempt.PID == 0:
		return errors.New("it has not started its command yet; it will not")
	case s.attempt == 0:
		return fmt.Errorf("nobody can tell whether process %d is still its command, so that got no signal; the run ends with its command", log.Attempt.PID)
	}
	return fmt.Errorf("its command (process %d) survived KILL; it may wait for a disk", log.Attempt.PID)
}

// stopAsked reports whether somebody asked to stop the run, and says so in result.
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

// pauseUnlessStopped waits before the next attempt. It returns early when somebody asked to stop the
// run, and reports false when ctx was done first.
func (r *Run) pauseUnlessStopped(ctx context.Context, d time.Duration) bool {
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
