package tick

import (
	"os"
	"path/filepath"
	"time"

	"sched/schedule/state"
	"sched/schedule/statedir"
)

// A Report receives what a tick does, as it happens. Several goroutines may call its functions at
// once.
type Report struct {
	// Begun is called when a foreground run begins; may be nil.
	Begun func(state.Row)
	// Started is called when a background run was handed over. Others may follow at once.
	Started func(state.Row)
	// Flush shows what Started has collected, because no other run follows at once; may be nil.
	Flush func()
	// Done is called when a foreground run, or a skipped slot, has its outcome, and with background
	// runs that were lost, or ended badly, or could not start. If it is nil, a later tick reports
	// the background runs.
	Done func(state.Row)
	// Skipped is called with slots of one task without on_skip hooks that were skipped together for
	// one reason. If it is nil, Done is called for each.
	Skipped func([]state.Row)
	// Problem reports that something is wrong that is not a task's own failure.
	Problem func(format string, a ...any)
	// Detail reports something for people who asked for more; may be nil.
	Detail func(format string, a ...any)

	// Apart leaves what this tick did not start, and what is reported once, to the ticks that come.
	Apart bool
}

func (r Report) begun(row state.Row) {
	if r.Begun != nil {
		r.Begun(row)
	}
}

func (r Report) done(row state.Row) {
	if r.Done != nil {
		r.Done(row)
	}
}

func (r Report) flush() {
	if r.Flush != nil {
		r.Flush()
	}
}

func (r Report) skipped(rows []state.Row) {
	if r.Skipped != nil {
		r.Skipped(rows)
		return
	}
	for _, row := range rows {
		r.done(row)
	}
}

func (r Report) detail(format string, a ...any) {
	if r.Detail != nil {
		r.Detail(format, a...)
	}
}

// repeatAfter is how often a problem that goes on is reported.
const repeatAfter = time.Hour

// Hourly reports a problem that goes on, at most once an hour. The parameter kind names the
// problem, and dir is the state folder.
func (r Report) Hourly(dir, kind, format string, a ...any) {
	path := filepath.Join(dir, "told-"+kind)
	if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()).Abs() < repeatAfter {
		return
	}
	if !r.Apart {
		_ = statedir.Replace(path, nil) // after an error the next tick reports the problem, too
	}
	r.Problem(format, a...)
}
