package runner

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"sched/schedule"

	"sched/schedule/outcome"

	"sched/schedule/runfile"

	"sched/schedule/process"
)

// hookTimeout is how long a hook may take; hookKillAfter is how long it may then take to end.
const (
	hookTimeout   = 30 * time.Second
	hookKillAfter = 2 * time.Second
)

// HooksPath names the file with what the hooks of a run print, beside its output.
func HooksPath(output string) string { return strings.TrimSuffix(output, ".log") + ".hooks.log" }

// hook runs one hook in its own process group under its own deadline. It returns "" when it went
// well, else a sentence for the record: a hook fails alone.
func (r *Run) hook(ctx context.Context, name string, hook schedule.Hook, variables []string) (note string) {
	l := process.Spec{
		Task: &r.task, Command: hook.Run, Dir: r.hookDir(), Caller: r.environ, Variables: variables,
		Lenient: !strings.HasPrefix(name, "before "), // whoever tells of a failure must be able to
	}
	if l.MarkFile = r.file.Descriptor(); l.MarkFile != nil {
		l.Mark = fmt.Sprintf(`{"hook":%q}`, name)
	}
	output, err := appendTo(HooksPath(runfile.OutputPath(r.state.Dir, r.record())))
	if err == nil { // a hook runs without it, too
		defer output.Close()
		l.Output = output
	}
	p, err := l.Start()
	if err != nil {
		return fmt.Sprintf("hook %s: cannot start: %v", name, err)
	}
	timer := time.NewTimer(hookTimeout)
	defer timer.Stop()
	select {
	case <-p.Done:
	case <-timer.C:
		p.End(ctx, hookKillAfter)
		return fmt.Sprintf("hook %s: no end after %s", name, hookTimeout)
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

// hookName names a hook in marks, notes and letters: after 2.
func hookName(key string, i int) string { return fmt.Sprintf("%s %d", key, i+1) }

// fire runs the commands among the hooks of one key that were not started yet, and returns the notes of those
// that failed.
func (r *Run) fire(f firing, log runfile.State, result outcome.Record) (notes []string) {
	for i, hook := range f.hooks {
		name := hookName(f.key, i)
		if hook.Notify != nil || log.Hooks[name] {
			continue
		}
		variables := append(r.variables(result.Attempts), outcomeVariables(result)...)
		if note := r.hook(context.Background(), name, hook, variables); note != "" {
			notes = append(notes, note)
		}
	}
	return notes
}

// hookDir is the task's folder; where that is missing, the schedule's, so that the hook that tells
// of it can still run.
func (r *Run) hookDir() string {
	if info, err := os.Stat(r.task.Dir); err == nil && info.IsDir() {
		return r.task.Dir
	}
	return r.task.Folder
}
