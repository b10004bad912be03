package run

import (
	"context"
	"encoding/json"
	"os"

	"sched/mutex"
	"sched/mutex/queue"
	"sched/schedule"
	"sched/schedule/lease"
	"sched/schedule/notify"
	"sched/schedule/outcome"
	"sched/schedule/process"
	"sched/schedule/run/output"
	"sched/schedule/runfile"
)

// A Caller is what a process gives to the runs that it begins or finishes.
type Caller struct {
	Storage
	Environ []string       // the environment of this process, which commands and hooks inherit
	Sender  *notify.Sender // of messages; nil in a process that fires no hooks
	Leases  *lease.Leases  // of the process; nil: those of each run alone
	Queues  *queue.Seen    // what runs that wait in the process have seen; nil: each looks itself
	// Terminate is done when this process was asked to end; nil: never. It ends what a run waits for and could do without.
	Terminate context.Context
}

// A Run is one execution of a task for a slot, in any of the processes that have a part in it.
type Run struct {
	Caller
	task   schedule.Task // the snapshot
	file   *runfile.File
	lock   mutex.Lock     // nil where the task needs none
	lease  *lease.Renewer // of the lock, while this process renews it
	output *os.File       // what the command prints; nil in a process that only finishes the run

	hooks *hooks

	deferral *runfile.Deferral  // in a process that goes on with a deferred retry, else nil
	left     *leftover          // in a process that goes on where a supervisor was killed, else nil
	apart    bool               // it is finished in a process that may finish others, too (FinishInherited)
	kept     []*process.Process // which this process has started, and whose ends the kernel keeps: see releaseProcesses
	begun    func()             // to be called when the command was started, or hooks come before it; nil in the foreground
}

// Begin writes down that a run is about to start, and opens its output. From here on the run will be finished,
// whatever happens to this process. Then the lock (nil: none) belongs to the run; after an error it is still the caller's.
func (c Caller) Begin(record outcome.Record, task *schedule.Task, lock mutex.Lock) (*Run, error) {
	snapshot, err := json.Marshal(task)
	if err != nil {
		return nil, err
	}
	record.Snapshot = snapshot
	record.Output = output.Path(c.Dir, record)
	captured, err := output.Open(record.Output)
	if err != nil {
		return nil, err
	}
	file, err := runfile.Create(c.Dir, record)
	if err != nil {
		captured.Close()
		os.Remove(record.Output)
		return nil, err
	}
	r := c.newRun(*task, file)
	r.lock, r.output = lock, captured
	return r, nil
}

// newRun returns the run of a file, without its lock and its output.
func (c Caller) newRun(task schedule.Task, file *runfile.File) *Run {
	r := &Run{Caller: c, task: task, file: file}
	r.hooks = &hooks{Run: r}
	return r
}

// Record is the record with which the run began.
func (r *Run) Record() outcome.Record { return r.file.Record }

// note writes a note of the record into the run's file, for the case that another process has to make the record.
func (r *Run) note(text string) { r.file.Append(runfile.Event{Note: text}) }
