package run

import (
	"iter"

	"sched/schedule"
	"sched/schedule/notify"
)

// A keyedHooks is a key of hooks, such as on_failure, with what the task has for it.
type keyedHooks struct {
	key   string
	hooks []schedule.Hook

	failures int // in a row: up to this run, or before it for on_recovery; counted if a hook asks for it
}

// due yields the hooks that fire, with their places: not those that are to fire after more failures
// in a row.
func (k keyedHooks) due() iter.Seq2[int, schedule.Hook] {
	return func(yield func(int, schedule.Hook) bool) {
		for i, hook := range k.hooks {
			if hook.After <= k.failures && !yield(i, hook) {
				return
			}
		}
	}
}

// events has the event of a message for each key of hooks.
var events = map[string]notify.Event{
	"before": notify.Start, "after": notify.Finish, "on_success": notify.Success, "on_warning": notify.Warning,
	"on_failure": notify.Failure, "on_recovery": notify.Recovery, "on_skip": notify.Skip, "on_overdue": notify.Overdue,
}

// tailBytes is a few more than a message carries, so that it can begin with a whole character or
// line.
const tailBytes = notify.OutputLimit + 4

// startMark is the mark of a hook that tells of the start of a run, and not of its end.
func startMark(hook string) string { return hook + " start" }
