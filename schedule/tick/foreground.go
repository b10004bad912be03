package tick

import (
	"context"
	"io"
	"os"
	"runtime"
	"time"

	"sched/schedule"
	"sched/schedule/run"
	"sched/schedule/run/supervise"
	"sched/schedule/state"
	"sched/schedule/statedir"
)

// A foregroundRunner runs the foreground slots of a tick, one after another.
type foregroundRunner struct {
	launcher   *launcher
	conditions *conditions
	requests   requests
	staying    context.Context // of tickRun.stay
	order      schedule.ForegroundOrder
	failed     bool       // a task failed, or the end of a run could not be recorded
	unrecorded []*run.Run // whose ends could not be recorded
}

// run runs the slots in their order. It waits for slots of later seconds.
func (f *foregroundRunner) run(slots []schedule.Slot) {
	if len(slots) > 0 { // one thing at a time: waking a second processor for each event costs more
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	}
	for i := range slots {
		f.order.Reorder(slots, i, f.launcher.moment.isBehind)
		// A slot of a later second starts only while the tick stays: an interrupt ends that.
		ctx := f.launcher.stops.noNewStarts
		if slots[i].At.After(f.launcher.moment.minute) {
			ctx = f.staying
		}
		if reason := f.launcher.moment.awaitInstant(ctx, slots[i]); reason != "" {
			f.launcher.skipAll(slots[i:], reason)
			return
		}
		if i == 0 || slots[i].At.After(slots[i-1].At) {
			// The store is asked at once for all slots of one instant.
			instant, _ := schedule.SplitAfter(slots[i:], slots[i].At)
			f.launcher.prefetch(instant)
		}
		f.runSlot(ctx, slots[i])
	}
}

// runSlot starts the run of a slot, if the slot may start, and waits for its end.
func (f *foregroundRunner) runSlot(ctx context.Context, slot schedule.Slot) {
	if len(slot.Task.ConditionCommands) > 0 {
		f.runConditional(ctx, slot)
	} else if prepared, ok := f.launcher.prepare(slot); ok {
		f.start(prepared, slot.Task)
	}
}

// runConditional asks the condition commands of a slot. By their verdict it runs the slot, skips it
// or fails it. The slots after it wait.
func (f *foregroundRunner) runConditional(ctx context.Context, slot schedule.Slot) {
	asked := f.conditions.add(ctx, slot)
	defer close(asked.decided)
	f.conditions.ask(asked)
	prepared, failed := f.conditions.decide(asked)
	f.failed = f.failed || failed
	if prepared != nil {
		f.start(prepared, slot.Task)
	}
}

func (f *foregroundRunner) start(prepared *run.Prepared, task *schedule.Task) {
	if begun, ok := f.launcher.beginHere(prepared); ok {
		f.order.Ran(task)
		f.execute(begun)
	}
}

func (f *foregroundRunner) execute(begun *run.Run) {
	f.launcher.report.begun(begun.Own.Row)
	f.launcher.records.flushQuietly() // the command may take hours
	executing, end := context.WithCancel(context.Background())
	go state.CloseWhileIdle(executing, f.launcher.storage.DB)
	row := supervise.Execute(begun, f.launcher.stops.terminate, f.launcher.stops.kill)
	end()
	if begun.DB.InMemory() {
		f.launcher.records.collect(row)
	}
	f.launcher.records.addEnded(row)
	f.failed = f.failed || row.Outcome.Failure() || begun.EndUnrecorded()
	if begun.EndUnrecorded() {
		f.unrecorded = append(f.unrecorded, begun)
	}
}

func (f *foregroundRunner) runRequested() {
	waiting, _ := f.requests.waiting() // again: the tasks of the minute may have taken long
	f.requests.beginAll(waiting, false, f.execute)
}

func (f *foregroundRunner) recordEnds() {
	for _, r := range f.unrecorded {
		if r.RecordEndAgain() == nil {
			f.launcher.report.Problem("run %s of %s is recorded now", r.Own.Row.ID, r.Own.Row.Task)
		}
	}
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
