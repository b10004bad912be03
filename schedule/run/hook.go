package run

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/outcome"
	"sched/schedule/process"
	"sched/schedule/run/output"
	"sched/schedule/runfile"
)

// hookTimeout is how long a hook may take; hookKillAfter is how long it may then take to end.
const (
	hookTimeout   = 30 * time.Second
	hookKillAfter = 2 * time.Second
)

// runOne runs one hook in its own process group under its own deadline, and marks it as started in the run's file. The note
// says how it failed, for the record; it is empty for a hook that succeeded.
func (h *hooks) runOne(ctx context.Context, name string, hook schedule.Hook, variables []string) (note string) {
	before := strings.HasPrefix(name, "before ")
	spec := process.Spec{
		Task: &h.task, Command: hook.Run, Dir: h.hookDir(), Caller: h.Environ, Variables: variables,
		Keep:    before && h.keeps(),
		Lenient: !before, // the hooks after a run run even where the command could not
	}
	if spec.MarkFile = h.file.Descriptor(); spec.MarkFile != nil {
		spec.Mark = fmt.Sprintf(`{"hook":%q}`, name)
	}
	captured, err := output.Append(output.HooksPath(output.Path(h.Dir, h.Record())))
	if err == nil { // without that file the hook runs nevertheless
		defer captured.Close()
		spec.Output = captured
	}
	p, err := spec.Start()
	if err != nil {
		return fmt.Sprintf("hook %s: cannot start: %v", name, err)
	}
	if spec.Keep {
		h.keep(p)
	}
	return awaitHook(ctx, name, p, 0)
}

// awaitHook waits for a hook that was started the age ago, under its deadline.
func awaitHook(ctx context.Context, name string, p *process.Process, age time.Duration) (note string) {
	timer := time.NewTimer(max(0, hookTimeout-age))
	defer timer.Stop()
	select {
	case <-p.Done:
	case <-timer.C:
		survivors := p.End(ctx, hookKillAfter)
		return strings.Join(append([]string{fmt.Sprintf("hook %s: no end after %s", name, hookTimeout)}, leftBehind(survivors)...), "; ")
	case <-ctx.Done():
		p.End(context.Background(), hookKillAfter)
		return fmt.Sprintf("hook %s: stopped (%v)", name, context.Cause(ctx))
	}
	if p.Refusal != "" {
		return fmt.Sprintf("hook %s: cannot start: %s", name, p.Refusal)
	}
	if code := p.ExitCode(); code != 0 {
		return fmt.Sprintf("hook %s: exit code %d", name, code)
	}
	return ""
}

// hookName names a hook in marks, notes and messages, as in `after 2`.
func hookName(key string, i int) string { return fmt.Sprintf("%s %d", key, i+1) }

// run runs the commands among the hooks of one key, one after another, and returns the notes about those that failed.
// Those that state has as started are left out (docs/internals/decisions.md#a-hook-marks-itself-as-started).
func (h *hooks) run(f keyedHooks, state runfile.State, result outcome.Record) (notes []string) {
	for i, hook := range f.hooks {
		name := hookName(f.key, i)
		if !hook.IsCommand() || state.Hooks[name] {
			continue
		}
		variables := append(h.variables(result.Attempts), outcomeVariables(result)...)
		if note := h.runOne(context.Background(), name, hook, variables); note != "" {
			notes = append(notes, note)
		}
	}
	return notes
}

// hookDir is the folder of the task. Where that does not exist it is the schedule's: an on_failure hook must be able to report
// just that.
func (h *hooks) hookDir() string {
	if info, err := os.Stat(h.task.Dir); err == nil && info.IsDir() {
		return h.task.Dir
	}
	return h.task.Folder
}
