package run

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/outbox"
	"sched/schedule/outcome"
	"sched/schedule/runfile"
	"sched/schedule/statedir"
)

// A Caller is what a process gives to the runs that it begins or finishes.
type Caller struct {
	Storage
	Environ []string       // of this process, and so of commands and hooks
	Sender  *outbox.Sender // nil leaves what is in the outbox to the next tick
}

// A Run is one execution of a task for a slot, in any of the processes that have a part in it.
type Run struct {
	Caller
	task   schedule.Task // the snapshot; the schedule may have changed since
	file   *runfile.File
	lock   mutex.Lock // nil where the task needs none
	output *os.File   // what the command prints; nil in a process that only finishes the run

	deliveries []string           // that this process put into the outbox and has not tried to deliver
	unkept     []*outbox.Delivery // that no outbox took

	lastFailed *bool // whether the run before this one failed; nil until somebody has looked

	deferral *runfile.Deferral // in the process that goes on after a long wait between two attempts
}

// Begin writes down that a run is about to start, and opens its output. From here on the run will be finished,
// whatever happens to this process. The lock (nil: none) is the run's then; after an error it is the caller's still.
func (c Caller) Begin(record outcome.Record, task *schedule.Task, lock mutex.Lock) (*Run, error) {
	create := func(r outcome.Record) (*runfile.File, error) { return runfile.Create(c.Dir, r) }
	return c.begin(create, record, task, lock)
}

// BeginRequest is Begin for a run that was asked for: the request becomes its file.
func (c Caller) BeginRequest(request *runfile.TakenRequest, record outcome.Record, task *schedule.Task, lock mutex.Lock) (*Run, error) {
	return c.begin(request.Begin, record, task, lock)
}

func (c Caller) begin(create func(outcome.Record) (*runfile.File, error), record outcome.Record, task *schedule.Task, lock mutex.Lock) (*Run, error) {
	snapshot, err := json.Marshal(task)
	if err != nil {
		return nil, err
	}
	record.Snapshot = snapshot
	record.Output = runfile.OutputPath(c.Dir, record)
	output, err := createOutput(record.Output)
	if err != nil {
		return nil, err
	}
	file, err := create(record)
	if err != nil {
		output.Close()
		os.Remove(record.Output)
		return nil, err
	}
	return &Run{Caller: c, task: *task, file: file, lock: lock, output: output}, nil
}

// createOutput makes the file that captures a run, locked as long as a process of the run has it
// as its stdout or stderr.
func createOutput(path string) (*os.File, error) {
	if spare, err := os.Lstat(spareOutput(path)); err == nil && spare.Mode().IsRegular() && spare.Size() == 0 {
		unix.Rename(spareOutput(path), path) // os.Rename looks up the new name first
	}
	file, err := appendTo(path)
	if err != nil {
		return nil, err
	}
	unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	return file, nil
}

// recycleOutput leaves the file of a run that printed nothing for the next run of its task (see
// runfile.Recycle), unless something that the command left behind may still print to it.
func recycleOutput(path string) {
	if outputInUse(path) || unix.Rename(path, spareOutput(path)) != nil {
		os.Remove(path)
	}
}

func spareOutput(path string) string { return filepath.Join(filepath.Dir(path), ".spare") }

// appendTo opens a file that only we can read, and makes its folder where that is missing.
func appendTo(path string) (*os.File, error) {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	file, err := statedir.OpenPlain(path, flags)
	if errors.Is(err, os.ErrNotExist) {
		if err = statedir.MakeDir(filepath.Dir(path)); err == nil {
			file, err = statedir.OpenPlain(path, flags)
		}
	}
	return file, err
}

// outputInUse reports whether a process of the run still has its output open.
func outputInUse(path string) bool {
	file, err := statedir.OpenPlain(path, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer file.Close()
	return errors.Is(unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// Record is the record with which the run began.
func (r *Run) Record() outcome.Record { return r.file.Record }

// note writes down what the record shall say, should this process not live to make it.
func (r *Run) note(text string) { r.file.Append(runfile.Event{Note: text}) }

// variables are the SCHED_ variables of a command (DESIGN: environment of a task).
func (r *Run) variables(attempt int) []string {
	record := r.Record()
	variables := append(TaskVariables(record), "SCHED_ATTEMPT="+strconv.Itoa(attempt))
	if record.Fence != 0 {
		variables = append(variables, "SCHED_FENCE="+strconv.FormatInt(record.Fence, 10))
	}
	return variables
}

// TaskVariables are those that are known before there is a run.
func TaskVariables(record outcome.Record) []string {
	return []string{
		"SCHED_TASK=" + record.Task,
		"SCHED_RUN=" + record.Run,
		"SCHED_SLOT=" + record.Slot.UTC().Format(time.RFC3339),
		"SCHED_MUTEX=" + record.Mutex,
	}
}

// outcomeVariables are what hooks find besides.
func outcomeVariables(result outcome.Record) []string {
	code := ""
	if result.ExitCode != nil {
		code = strconv.Itoa(*result.ExitCode)
	}
	return []string{
		"SCHED_OUTCOME=" + string(result.Outcome),
		"SCHED_EXIT_CODE=" + code,
		"SCHED_DURATION=" + strconv.FormatFloat(result.Duration().Seconds(), 'f', 3, 64),
		"SCHED_OUTPUT=" + result.Output,
		"SCHED_REASON=" + result.Reason,
	}
}
