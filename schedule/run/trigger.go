package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/state"
)

// trigger asks for the runs that the hooks of a key trigger, each once, and notes in the result
// which these are. A run that starts no chain asks for no other. They are started by
// startTriggered, or by the next tick.
func (h *hooks) trigger(f keyedHooks, result *state.Row) {
	for i, hook := range f.due() {
		if hook.Trigger == "" || result.NoChain {
			continue
		}
		name := hookName(f.key, i)
		r := h.request(name, hook.Trigger, *result)
		if !h.fired(name) {
			if err := h.ask(r); err != nil {
				result.Notes = append(result.Notes, fmt.Sprintf("hook %s: %s is not triggered: %v", name, r.Task, err))
				continue
			}
			h.mark(name) // after a kill before this, asking again changes nothing
		}
		result.Triggered = append(result.Triggered, outcome.Triggered{Task: r.Task, Run: r.ID})
	}
}

// request returns the waiting run of the task that a hook asks for.
func (h *hooks) request(hook, task string, result state.Row) state.Row {
	return state.Row{
		ID: outcome.TriggeredID(result.ID, hook, result.Ended.Truncate(time.Microsecond)), Task: task, Mutex: task, Slot: result.Ended.UTC(),
		Origin: fmt.Sprintf("triggered by run %s of %s, which %s", humanize.ShortRun(result.ID), result.Task, result.Outcome.Verb()),
		Cause:  &outcome.Cause{Task: result.Task, Run: result.ID, Outcome: result.Outcome},
	}
}

func (h *hooks) ask(r state.Row) error {
	if h.r.DB.InMemory() {
		return errors.New("the state folder cannot be written")
	}
	_, err := h.r.DB.Runs().Request(context.Background(), r)
	return err
}

// startTriggered starts what the hooks have asked for, unless this process is told to end: then the
// next tick does. A state folder that cannot be written is for ticks, too.
func (h *hooks) startTriggered(result state.Row) {
	ending := h.r.Terminate != nil && h.r.Terminate.Err() != nil
	if len(result.Triggered) == 0 || ending || h.r.DB.InMemory() {
		return
	}
	StartTriggered(h.r.Dir, h.r.task.Sender.File, h.r.Environ) // after an error the next tick does
}
