package runner

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"sched/schedule"

	"sched/schedule/clock"
	"sched/schedule/outcome"

	"sched/schedule/runfile"

	"sched/schedule/outbox"
)

// FinishUnrecorded fires the after-hooks of a task of whose run nothing is known, as if it had
// ended now with the code (nil: 0).
func (t *Tick) FinishUnrecorded(task *schedule.Task, code *int) (outcome.Record, error) {
	if code == nil {
		code = new(int)
	}
	r, err := begin(t.State, t.newRecord(schedule.Slot{Task: task, At: t.Minute}), task, nil, t.Environ)
	if err != nil {
		return outcome.Record{}, err
	}
	result := r.settle(runfile.State{}, code)
	result.Outcome, result.Reason = r.judge(*code)
	result.Reason = join(result.Reason, "finished by hand")
	defer r.postAlone()()
	return r.finish(runfile.State{}, result), nil
}

// Test runs the task now, whatever its schedule and conditions, copies its output to out as it
// comes, and returns the record. It takes the lock of the task; when that is held the record says
// skipped.
func (t *Tick) Test(ctx, hurry context.Context, task *schedule.Task, out io.Writer) (outcome.Record, error) {
	record := t.newRecord(schedule.Slot{Task: task, At: t.Minute})
	record.Background = false
	alone := *task
	alone.OneServer, alone.Background = false, false
	t.State.meetStore()
	lock, reason := t.lock(&record, schedule.Slot{Task: &alone, At: t.Minute})
	if reason != "" {
		record.Outcome, record.Reason, record.Ended = outcome.Skipped, reason, clock.Now()
		return record, nil
	}
	r, err := begin(t.State, record, &alone, lock, t.Environ)
	if err != nil {
		return record, fmt.Errorf("cannot begin: %w", err)
	}
	t.openPost(hurry)
	r.postman = t.postman
	t.begun(r)
	var shown sync.WaitGroup
	over := make(chan struct{})
	shown.Go(func() { follow(r.record().Output, out, over) })
	result := r.supervise(ctx, hurry)
	close(over)
	shown.Wait()
	record = r.finish(runfile.State{}, result)
	t.postman.Wait(ctx, outbox.Patience)
	t.keep(finished{record, r.state.Dir, false})
	t.remember()
	return record, nil
}

// followEvery is how often the output of a running command is looked at: often enough for the eye.
const followEvery = 50 * time.Millisecond

// follow copies what is appended to the file at path, until over is closed and all was copied.
func follow(path string, out io.Writer, over <-chan struct{}) {
	file, err := os.Open(path)
	if err != nil {
		return
	}
	defer file.Close()
	for {
		select {
		case <-over:
			io.Copy(out, file)
			return
		case <-time.After(followEvery):
			io.Copy(out, file)
		}
	}
}
