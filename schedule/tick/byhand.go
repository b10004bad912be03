package tick

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/notify"
	"sched/schedule/outcome"
	"sched/schedule/run"
	"sched/schedule/state"
	"sched/schedule/statedir"
)

// FinishUnrecorded fires the after-hooks of a task as if a run of it that nobody recorded had ended
// now with the code (nil: 0).
func (t *Tick) FinishUnrecorded(task *schedule.Task, code *int) (state.Row, error) {
	caller := run.NewCaller(t.Storage, state.Tick, t.Host.Environ)
	defer caller.Self.Close()
	return caller.FinishUnrecorded(t.rowOf(schedule.Slot{Task: task, At: t.Minute}), task, code)
}

// AnswerTriggered starts the runs that are to start at once, in the background, and nothing else.
// Runs that may not start yet are left to ticks. When noNewStarts is done it starts no more runs.
func (t *Tick) AnswerTriggered(noNewStarts, kill context.Context) {
	go t.supervisors().StartAhead(t.Storage)
	r := t.prepare(stopContexts{noNewStarts, noNewStarts, kill})
	defer r.close()
	r.launcher.startSender(kill)
	r.requests.startAtOnce()
	r.launcher.supervisors.Close()
	r.launcher.hooks.Wait()
	r.launcher.sender.Wait(noNewStarts, notify.Patience)
	r.records.writeAll(0)
}

// Collect finishes lost runs, and reports them and the background runs that failed, unless a tick
// has reported them. The next tick would do the same. It starts no run, and waits for no message.
func (t *Tick) Collect() {
	done, cancel := context.WithCancel(context.Background())
	cancel()
	r := t.prepare(stopContexts{noNewStarts: done, terminate: context.Background(), kill: done})
	defer r.close()
	r.launcher.startSender(done)
	r.collectLost()
	r.launcher.supervisors.Close()
	r.records.writeAll(0)
	r.reportEnded()
}

// A TestRun is a run of a task that stands for no slot of its schedule.
type TestRun struct {
	Task   *schedule.Task
	Params map[string]string
	Origin string    // who asked for the run
	Output io.Writer // gets the output of the run as it comes
}

// Test runs a task now, whatever its schedule and its conditions. If the mutex is held, nothing
// runs, and the row has the outcome skipped. When terminate is done, the command is stopped. When
// kill is done, it is killed.
func (t *Tick) Test(terminate, kill context.Context, test TestRun) (state.Row, error) {
	r := t.prepare(stopContexts{terminate, terminate, kill})
	defer r.close()
	task := *test.Task
	// The person who tests the task sees that it fails: no pause is needed.
	task.OneServer, task.Background, task.PauseAfter = false, false, 0
	slot := schedule.Slot{Task: &task, At: t.Minute}
	row := t.rowOf(slot)
	row.Origin, row.Params, row.Test = test.Origin, test.Params, true
	lock, refusal := r.locks.take(&row, slot)
	if refusal.cause != noRefusal {
		row.Outcome, row.Reason, row.Ended = outcome.Skipped, refusal.reason, clock.Now()
		return row, nil
	}
	r.launcher.startSender(kill)
	begun, err := r.launcher.caller().Begin(row, &task, lock)
	if err != nil {
		if lock != nil {
			lock.Release(context.Background())
		}
		return row, fmt.Errorf("cannot begin: %w", err)
	}
	t.Report.begun(begun.Row())
	var following sync.WaitGroup
	ended := make(chan struct{})
	following.Go(func() { follow(begun.Row().Output, test.Output, ended) })
	row = run.ExecuteThen(begun, terminate, kill, func() {
		close(ended)
		following.Wait()
	})
	r.launcher.sender.Wait(terminate, notify.Patience)
	r.records.writeAll(0)
	return row, nil
}

// followEvery is how often follow looks at the output of a running command: often enough for the
// eye.
const followEvery = 50 * time.Millisecond

// follow copies what is appended to the file at path, until ended is closed and everything was
// copied. It leaves out the holes that a limit of the output has made.
func follow(path string, out io.Writer, ended <-chan struct{}) {
	file, err := statedir.OpenPlain(path, os.O_RDONLY)
	if err != nil {
		return
	}
	defer file.Close()
	for at, last := int64(0), false; !last; {
		select {
		case <-ended:
			last = true
		case <-time.After(followEvery):
		}
		info, err := file.Stat()
		if err != nil {
			return
		}
		for at < info.Size() {
			from, to := statedir.NextData(file, at, info.Size())
			io.Copy(out, io.NewSectionReader(file, from, to-from))
			at = to
		}
	}
}
