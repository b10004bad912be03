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
	return caller.FinishUnrecorded(t.newRow(schedule.Slot{Task: task, At: t.Minute}), task, code)
}

// AnswerTriggered starts the runs that are to start at once, in the background, and nothing else.
// Runs that may not start yet are left to ticks. When noNewStarts is done it starts no other.
func (t *Tick) AnswerTriggered(noNewStarts, kill context.Context) {
	go t.supervisors().StartAhead(t.Storage)
	r := t.prepare(stops{noNewStarts, noNewStarts, kill})
	defer r.close()
	r.deliveries.start(kill)
	r.requests.startTriggered()
	r.launcher.supervisors.Close()
	r.launcher.skipHooks.Wait()
	r.deliveries.sender.Wait(noNewStarts, notify.Patience)
	r.records.write(0)
}

// Collect finishes lost runs, and reports them and the background runs that failed, unless a tick
// has reported them. The next tick would do the same. It starts no run, and waits for no message.
func (t *Tick) Collect() {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	r := t.prepare(stops{noNewStarts: over, terminate: context.Background(), kill: over})
	defer r.close()
	r.deliveries.start(over)
	r.collectLost()
	r.launcher.supervisors.Close()
	r.records.write(0)
	r.reportEnded()
}

// Test runs the task now, whatever its schedule and conditions, copies its output to out as it
// comes, and returns the row, with the origin and the params: the run stands for no slot of the
// schedule. It takes the lock of the task; when that is held the row says skipped. When terminate
// is done the command is stopped; when kill is done too it is killed.
func (t *Tick) Test(terminate, kill context.Context, task *schedule.Task, params map[string]string, origin string, out io.Writer) (state.Row, error) {
	r := t.prepare(stops{terminate, terminate, kill})
	defer r.close()
	here := *task
	here.OneServer, here.Background, here.PauseAfter = false, false, 0 // whoever tests it sees that it fails
	slot := schedule.Slot{Task: &here, At: t.Minute}
	row := t.newRow(slot)
	row.Origin, row.Params, row.Test = origin, params, true
	lock, no := r.locks.take(&row, slot)
	if no.cause != nothing {
		row.Outcome, row.Reason, row.Ended = outcome.Skipped, no.reason, clock.Now()
		return row, nil
	}
	r.deliveries.start(kill)
	begun, err := r.launcher.caller().Begin(row, &here, lock)
	if err != nil {
		if lock != nil {
			lock.Release(context.Background())
		}
		return row, fmt.Errorf("cannot begin: %w", err)
	}
	t.Report.begun(begun.Row())
	var shown sync.WaitGroup
	over := make(chan struct{})
	shown.Go(func() { follow(begun.Row().Output, out, over) })
	row = begun.ExecuteThen(terminate, kill, func() {
		close(over)
		shown.Wait()
	})
	r.deliveries.sender.Wait(terminate, notify.Patience)
	r.records.write(0)
	return row, nil
}

// followEvery is how often the output of a running command is looked at: often enough for the eye.
const followEvery = 50 * time.Millisecond

// follow copies what is appended to the file at path, until over is closed and all was copied. It
// leaves out the holes that a limit of the output has made.
func follow(path string, out io.Writer, over <-chan struct{}) {
	file, err := statedir.OpenPlain(path, os.O_RDONLY)
	if err != nil {
		return
	}
	defer file.Close()
	for at, last := int64(0), false; !last; {
		select {
		case <-over:
			last = true
		case <-time.After(followEvery):
		}
		info, err := file.Stat()
		if err != nil {
			return
		}
		for at < info.Size() {
			from, to := statedir.DataAt(file, at, info.Size())
			io.Copy(out, io.NewSectionReader(file, from, to-from))
			at = to
		}
	}
}
