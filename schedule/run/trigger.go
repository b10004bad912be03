package run

import (
	"fmt"

	"sched/schedule/chain"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/runfile"
	"sched/schedule/statedir"
)

// trigger asks for the runs that the hooks of a key trigger, each exactly once (runfile.AddTrigger), and notes in the
// result which these are. They are started by startTriggered, or by the next tick.
func (h *hooks) trigger(f keyedHooks, state runfile.State, result *outcome.Record) {
	for i, hook := range f.hooks {
		if hook.Trigger == "" {
			continue
		}
		name := hookName(f.key, i)
		r := h.request(name, hook.Trigger, *result)
		err := h.ask(name, r, state)
		if err != nil {
			result.Notes = append(result.Notes, fmt.Sprintf("hook %s: %s is not triggered: %v", name, r.Task, err))
			continue
		}
		result.Triggered = append(result.Triggered, outcome.Triggered{Task: r.Task, Run: r.Run})
	}
}

// request returns the request of a hook for a run of the task.
func (h *hooks) request(hook, task string, result outcome.Record) runfile.Request {
	return runfile.Request{
		Run: outcome.TriggeredID(result.Run, hook, result.Ended), Task: task, At: result.Ended.UTC(),
		Origin: fmt.Sprintf("triggered by run %s of %s, which %s", humanize.ShortRun(result.Run), result.Task, result.Outcome.Verb()),
		Cause:  &outcome.Cause{Task: result.Task, Run: result.Run, Outcome: result.Outcome},

		Triggered: true,
	}
}

func (h *hooks) ask(name string, r runfile.Request, state runfile.State) error {
	if state.Hooks[name] {
		return runfile.ResumeTrigger(h.Dir, r.Run)
	}
	return runfile.AddTrigger(h.Dir, r, func() error {
		if h.file.Descriptor() == nil {
			return nil // a run that no folder could hold: nothing goes on with it after a kill
		}
		if err := h.file.Append(runfile.Event{Hook: name}); err != nil {
			return err
		}
		h.file.Sync() // best effort: some file systems cannot
		return nil
	})
}

// startTriggered starts what the hooks have asked for, unless this process is told to end: then the next tick does. A state
// folder that cannot be written is for ticks, too.
func (h *hooks) startTriggered(result outcome.Record) {
	ending := h.Terminate != nil && h.Terminate.Err() != nil
	if len(result.Triggered) == 0 || ending || statedir.IsSpare(h.Dir) {
		return
	}
	chain.Start(h.Dir, h.task.Sender.File, h.Environ) // after an error the next tick does
}
