package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"sched/mutex"
	"sched/schedule"

	"sched/schedule/outcome"

	"sched/schedule/runfile"

	"sched/schedule/outbox"
)

// The descriptors that the processes which watch a background run inherit.
const (
	runDescriptor  = 3
	lockDescriptor = 4
)

// A Run is one execution of a task for a slot, in any of the processes that have a part in it.
type Run struct {
	task    schedule.Task // the snapshot; the schedule may have changed since
	file    *runfile.File
	state   State
	lock    mutex.Lock // nil where the task needs none
	output  *os.File   // what the command prints; nil in a process that only finishes the run
	environ []string   // of the caller

	postman *outbox.Sender     // nil leaves what is in the outbox to the next tick
	letters []string           // that this process put into the outbox and has not tried to deliver
	unkept  []*outbox.Delivery // that no outbox took

	lastFailed *bool // whether the run before this one failed; nil until somebody has looked

	waited *runfile.Deferral // in the process that goes on after a long wait between two attempts
}

// begin writes down that a run is about to start, and opens its output. From here on the run will
// be finished, whatever happens to this process.
func begin(state State, record outcome.Record, task *schedule.Task, lock mutex.Lock, env []string) (*Run, error) {
	file := func(r outcome.Record) (*runfile.File, error) { return runfile.Create(state.Dir, r) }
	return beginAs(file, state, record, task, lock, env)
}

// beginAs is begin with another way to make the run's file.
func beginAs(make func(outcome.Record) (*runfile.File, error), state State, record outcome.Record, task *schedule.Task, lock mutex.Lock, env []string) (*Run, error) {
	snapshot, err := json.Marshal(task)
	if err != nil {
		return nil, err
	}
	record.Snapshot = snapshot
	record.Output = runfile.OutputPath(state.Dir, record)
	output, err := createOutput(record.Output)
	if err != nil {
		return nil, err
	}
	file, err := make(record)
	if err != nil {
		output.Close()
		os.Remove(record.Output)
		return nil, err
	}
	return &Run{task: *task, file: file, state: state, lock: lock, output: output, environ: env}, nil
}

// createOutput makes the file that captures a run, locked as long as a process of the run has it
// as its stdout or stderr.
func createOutput(path string) (*os.File, error) {
	unix.Rename(spareOutput(path), path) // os.Rename looks up the new name first
	file, err := appendTo(path)
	if err != nil {
		return nil, err
	}
	unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	return file, nil
}

// recycleOutput leaves the file of a run that printed nothing for the next run of its task (see
// history.Recycle), unless something that the command left behind may still print to it.
func recycleOutput(path string) {
	if outputInUse(path) || unix.Rename(path, spareOutput(path)) != nil {
		os.Remove(path)
	}
}

func spareOutput(path string) string { return filepath.Join(filepath.Dir(path), ".spare") }

// appendTo opens a file that only we can read, and makes its folder where that is missing.
func appendTo(path string) (*os.File, error) {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	file, err := os.OpenFile(path, flags, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			file, err = os.OpenFile(path, flags, 0o600)
		}
	}
	return file, err
}

// outputInUse reports whether a process of the run still has its output open.
func outputInUse(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	return errors.Is(unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// restore makes the run of a file that an earlier process wrote.
func restore(state State, file *runfile.File, env []string) (*Run, error) {
	r := &Run{file: file, state: state, environ: env}
	if err := json.Unmarshal(file.Record.Snapshot, &r.task); err != nil {
		return nil, fmt.Errorf("run %s: its task: %w: %w", file.Record.Run, runfile.ErrUnreadable, err)
	}
	return r, nil
}

func (r *Run) record() outcome.Record { return r.file.Record }

// note writes down what the record shall say, should this process not live to make it.
func (r *Run) note(text string) { r.file.Append(runfile.Event{Note: text}) }

// variables are the SCHED_ variables of a command (DESIGN: environment of a task).
func (r *Run) variables(attempt int) []string {
	record := r.record()
	variables := append(taskVariables(record), "SCHED_ATTEMPT="+strconv.Itoa(attempt))
	if record.Fence != 0 {
		variables = append(variables, "SCHED_FENCE="+strconv.FormatInt(record.Fence, 10))
	}
	return variables
}

// taskVariables are those that are known before there is a run.
func taskVariables(record outcome.Record) []string {
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
