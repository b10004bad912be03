package run

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/notify"
	"sched/schedule/process"
	"sched/schedule/run/output"
	"sched/schedule/state"
)

// hookTimeout is how long a hook may take; hookKillAfter is how long it may then take to end.
const (
	hookTimeout   = 30 * time.Second
	hookKillAfter = 2 * time.Second
)

// before runs the before-hooks up to the first that fails; its note is the reason why the run
// failed. Notifications are sent meanwhile, and fail nothing. If a killed supervisor has started
// hooks, it goes on after those.
func (h *hooks) before(terminate context.Context) (note string) {
	defer h.send()
	h.queueStartPings()
	hooks := h.run.task.Hooks.Before
	started := h.lastBeforeHook(hooks)
	for i, hook := range hooks {
		name := hookName("before", i)
		if hook.Notify != nil {
			h.queueMessage(name, name, notify.Start, *hook.Notify, h.run.row.soFar())
			h.send()
			continue
		}
		note, over := h.awaitStarted(terminate, i, started)
		if !over {
			note = h.runOne(terminate, name, hook, runVariables(h.run, 1))
		}
		if note != "" {
			return note
		}
	}
	return ""
}

// runOne runs one hook in its own process group under its own deadline, and notes in the database
// when it begins and when it has ended. The note says how it failed, for the row; it is empty
// for a hook that succeeded, and for a hook that was fired before.
func (h *hooks) runOne(ctx context.Context, name string, hook schedule.Hook, variables []string) (note string) {
	if !h.marks.begin(name) {
		return ""
	}
	defer func() { h.marks.markEnded(name, note) }()
	isBefore := strings.HasPrefix(name, "before ")
	spec := process.Spec{
		Task:       &h.run.task,
		Command:    hook.Run,
		Dir:        h.hookDir(),
		CallerEnv:  h.run.Environ,
		Variables:  variables,
		KeepZombie: isBefore && h.run.row.Background,
		Lenient:    !isBefore, // the hooks after a run start even if the command could not
	}
	captured, err := output.Append(output.HooksPath(output.Path(h.run.Dir, h.run.row.Row)))
	if err == nil { // without that file the hook runs nevertheless
		limit := h.run.task.Output.Limit
		defer h.cutOutput(captured, limit)
		defer output.TrimEachSecond(captured, limit)()
		spec.Output = captured
	}
	p, err := spec.Start()
	if err != nil {
		return fmt.Sprintf("hook %s: cannot start: %v", name, err)
	}
	h.marks.markForked(name, p.PID)
	if spec.KeepZombie {
		h.run.unreaped.add(p)
	}
	return awaitHook(ctx, name, p, 0)
}

// cutOutput closes the output of the hooks, and cuts it to its limit. A line in it says what was
// cut; if that fails, the output stays whole.
func (h *hooks) cutOutput(captured *os.File, limit int64) {
	captured.Close()
	if _, err := output.Cut(captured.Name(), limit); err != nil {
		h.run.complain("the output of the hooks of %s is not cut to output.limit: %v", h.run.row.Task, err)
	}
}

// awaitHook waits for a hook that was started the age ago, under its deadline.
func awaitHook(ctx context.Context, name string, p *process.Process, age time.Duration) (note string) {
	survivors, inTime := p.EndWithin(ctx, max(0, hookTimeout-age), hookKillAfter)
	switch {
	case !inTime && ctx.Err() != nil:
		return fmt.Sprintf("hook %s: stopped (%v)", name, context.Cause(ctx))
	case !inTime:
		notes := []string{fmt.Sprintf("hook %s: no end after %s", name, hookTimeout)}
		return strings.Join(append(notes, leftBehind(survivors)...), "; ")
	case p.Refusal != "":
		return fmt.Sprintf("hook %s: cannot start: %s", name, p.Refusal)
	case p.ExitCode() != 0:
		return fmt.Sprintf("hook %s: exit code %d", name, p.ExitCode())
	}
	return ""
}

// hookName names a hook in marks, notes and messages, as in `after 2`.
func hookName(key string, i int) string { return fmt.Sprintf("%s %d", key, i+1) }

// runCommands runs the commands among the hooks of one key, one after another, and returns the
// notes about hooks that failed. Hooks that have ended before are left out.
func (h *hooks) runCommands(f keyedHooks, result state.Row) (notes []string) {
	for i, hook := range f.due() {
		name := hookName(f.key, i)
		if !hook.IsCommand() {
			continue
		}
		variables := append(runVariables(h.run, result.Attempt.Number), outcomeVariables(result)...)
		if note := h.runOne(context.Background(), name, hook, variables); note != "" {
			notes = append(notes, note)
		}
	}
	return notes
}

// hookDir returns the folder of the task. If that folder does not exist, it is the schedule's
// folder: an on_failure hook must be able to report just that.
func (h *hooks) hookDir() string {
	if info, err := os.Stat(h.run.task.Dir); err == nil && info.IsDir() {
		return h.run.task.Dir
	}
	return h.run.task.Folder
}

// hookMarks note in the database which hooks of a run have begun and ended, in this process or in
// earlier ones.
type hookMarks struct{ row *ownRow }

// begin notes that a hook is about to fire. It reports false for a hook that has ended already. A
// hook that a killed process had begun fires again, unless its command lives on: then begin waits
// for the command.
func (m hookMarks) begin(name string) bool {
	if m.row.unstored {
		return true
	}
	mark := m.find(name)
	if !mark.Ended.IsZero() {
		return false
	}
	if livesOn := func() bool { return process.HasGroup(m.row.ID, mark.PID) }; mark.PID != 0 && livesOn() {
		for end := time.Now().Add(hookTimeout); time.Now().Before(end) && livesOn(); {
			time.Sleep(pollEvery)
		}
		m.markEnded(name, "")
		return false
	}
	fire := true
	err := m.row.write(func(ctx context.Context) (err error) {
		fire, err = m.row.own.HookBegun(ctx, m.row.ID, name, clock.Now())
		return err
	})
	return fire || err != nil && !m.row.isTaken(err)
}

// markForked notes the process of a hook.
func (m hookMarks) markForked(name string, pid int) {
	m.row.write(func(ctx context.Context) error { return m.row.own.HookForked(ctx, m.row.ID, name, pid) })
}

// markEnded notes that a hook has ended, with a note on how it failed; "" if it succeeded.
func (m hookMarks) markEnded(name, note string) {
	m.row.write(func(ctx context.Context) error {
		return m.row.own.HookEnded(ctx, m.row.ID, name, clock.Now(), note)
	})
}

// markMade notes that a notification or a request of a hook was made.
func (m hookMarks) markMade(name string) {
	m.row.write(func(ctx context.Context) error {
		if _, err := m.row.own.HookBegun(ctx, m.row.ID, name, clock.Now()); err != nil {
			return err
		}
		return m.row.own.HookEnded(ctx, m.row.ID, name, clock.Now(), "")
	})
}

// hasEnded reports whether a hook has ended, or was made (markMade).
func (m hookMarks) hasEnded(name string) bool { return !m.find(name).Ended.IsZero() }

// find returns the hook with the name; the zero Hook if it has not begun.
func (m hookMarks) find(name string) state.Hook {
	for _, hook := range m.all() {
		if hook.Name == name {
			return hook
		}
	}
	return state.Hook{}
}

// all returns the hooks that have begun, in this process or in earlier ones. If the database cannot
// be read, it returns nil.
func (m hookMarks) all() []state.Hook {
	if m.row.unstored {
		return nil
	}
	begun, _ := m.row.own.Hooks(context.Background(), m.row.ID)
	return begun
}
