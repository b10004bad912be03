package runner

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"sched/schedule"

	"sched/schedule/outcome"

	"sched/schedule/runfile"
)

// hookTimeout is how long a hook may take; hookKillAfter is how long it may then take to end.
const (
	hookTimeout   = 30 * time.Second
	hookKillAfter = 2 * time.Second
)

// markAndRun is the shell of a hook: it notes in the run's file that the hook was started, and
// becomes the hook. The mark is written by the process that becomes the hook, so that a finish
// that is killed at this moment leaves both or neither: the one that comes after it does not fire
// the hook again, and does not leave it out. Until the mark is there the process watches the run with
// the descriptor that it inherited, so no other finish comes before it.
const (
	markAndRun  = mark + `exec "$@"`
	markAndEval = mark + `eval "$1"` // a line for /bin/sh needs no second one
	mark        = `printf '\n%s\n' "$0" >&3; exec 3>&-; `
)

// marked returns the command of a hook that leaves its mark, the event.
func marked(event string, hook schedule.Command) []string {
	if slices.Equal(hook.Shell, []string{"/bin/sh", "-c"}) {
		return []string{"/bin/sh", "-c", markAndEval, event, hook.Line}
	}
	return append([]string{"/bin/sh", "-c", markAndRun, event}, hook.Argv()...)
}

// HooksPath names the file with what the hooks of a run print, beside its output.
func HooksPath(output string) string { return strings.TrimSuffix(output, ".log") + ".hooks.log" }

// hook runs one hook in its own process group under its own deadline. It returns "" when it went
// well, else a sentence for the record: a hook fails alone.
func (r *Run) hook(ctx context.Context, name string, hook schedule.Hook, variables []string) (note string) {
	l := launch{
		task: &r.task, command: hook.Run, dir: r.hookDir(), environ: r.environ, variables: variables,
		anyway: !strings.HasPrefix(name, "before "), // whoever tells of a failure must be able to
	}
	if l.run = r.file.Descriptor(); l.run != nil {
		l.mark = fmt.Sprintf(`{"hook":%q}`, name)
	}
	output, err := appendTo(HooksPath(runfile.OutputPath(r.state.Dir, r.record())))
	if err == nil { // a hook runs without it, too
		defer output.Close()
		l.output = output
	}
	p, err := l.start()
	if err != nil {
		return fmt.Sprintf("hook %s: cannot start: %v", name, err)
	}
	timer := time.NewTimer(hookTimeout)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		p.end(ctx, hookKillAfter)
		return fmt.Sprintf("hook %s: no end after %s", name, hookTimeout)
	case <-ctx.Done():
		p.end(context.Background(), hookKillAfter)
		return fmt.Sprintf("hook %s: stopped (%v)", name, context.Cause(ctx))
	}
	if p.refusal != "" {
		return fmt.Sprintf("hook %s: cannot start: %s", name, p.refusal)
	}
	if code := p.exitCode(); code != 0 {
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
