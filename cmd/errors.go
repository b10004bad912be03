package cmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/load"
	"sched/schedule/notify"
	"sched/schedule/state"
	"sched/schedule/view"
)

// Exit codes, which scripts may rely on.
const (
	exitOK      = 0
	exitFailed  = 1   // a foreground task failed, or what was named does not exist
	exitUsage   = 2   // usage, or an invalid schedule
	exitStopped = 143 // ended by a signal, whichever it was: 128 + SIGTERM
)

// An exit is an error that ends sched with an exit code.
type exit struct {
	code int
	err  error  // nil when all was printed already
	hint string // may be empty
}

func (e *exit) Error() string { return fmt.Sprint(e.err) }

func (e *exit) Unwrap() error { return e.err }

// failed is an error with exit code 1, and a hint that may be empty.
func failed(hint, format string, args ...any) error {
	return &exit{code: exitFailed, err: fmt.Errorf(format, args...), hint: hint}
}

// usage is an error with exit code 2, and a hint that may be empty.
func usage(hint, format string, args ...any) error {
	return &exit{code: exitUsage, err: fmt.Errorf(format, args...), hint: hint}
}

// reportError prints an error with its hint, and returns its exit code. All errors that end a
// command are printed here.
func (a *app) reportError(err error) (code int) {
	if err == nil {
		return exitOK
	}
	if invalid, ok := errors.AsType[*load.InvalidError](err); ok {
		a.printFirstProblems(invalid.Problems)
		return exitUsage
	}
	e, ok := errors.AsType[*exit](err)
	if !ok {
		e = a.exitOf(err)
	}
	writeErr := a.results.firstError()
	printedLater := writeErr != nil && errors.Is(e.err, writeErr) // codeAfterWriting prints it
	if e.err != nil && !printedLater {
		a.warn("%v", e.err)
	}
	if e.hint != "" && hintOf(e.err) == "" { // warn prints the hint of e.err itself
		fmt.Fprintf(a.err, "hint: %s\n", e.hint)
	}
	return e.code
}

// exitOf returns the exit of an error that does not say its exit code.
func (a *app) exitOf(err error) *exit {
	if !a.parsed { // an error of cobra
		return &exit{code: exitUsage, err: err, hint: "see `sched --help`"}
	}
	code := exitFailed
	if refusal, ok := errors.AsType[*view.Error](err); ok && refusal.Kind == view.Invalid {
		code = exitUsage
	}
	return &exit{code: code, err: err}
}

// warn prints a line to stderr: what is wrong, or what people should know besides the result. The
// hint of an error among the arguments follows. Several goroutines may call it at once.
func (c *console) warn(format string, args ...any) {
	text := fmt.Sprintf("sched: "+format+"\n", args...)
	for _, arg := range args {
		if err, ok := arg.(error); ok && hintOf(err) != "" {
			text += "hint: " + hintOf(err) + "\n"
		}
	}
	io.WriteString(c.err, text) // in one write, so that lines do not mix
}

// warnWithHint prints a line to stderr as warn does, and the hint below it.
func (c *console) warnWithHint(hint, format string, args ...any) {
	c.warn("%v", failed(hint, format, args...))
}

// printProblems prints all problems of a schedule, each with its hint.
func (c *console) printProblems(problems []schedule.Problem) {
	for _, p := range problems {
		fmt.Fprintf(c.err, "%s\n", humanize.Plain(p.String()))
	}
}

// maxProblems is how many problems of a schedule commands other than check print: cron may mail
// what a tick prints, each minute.
const maxProblems = 10

// printFirstProblems prints at most maxProblems, and how many more there are.
func (f *scheduleFile) printFirstProblems(problems []schedule.Problem) {
	first := problems[:min(maxProblems, len(problems))]
	f.printProblems(first)
	if more := len(problems) - len(first); more > 0 {
		fmt.Fprintf(f.err, "and %s: see `sched check%s`\n", humanize.Count(more, "more problem"), f.configFlag())
	}
}

// hintOf says what to do about an error; "" for an error without a hint.
func hintOf(err error) string {
	if _, ok := errors.AsType[*state.NewerError](err); ok {
		return "run the newer sched again; ticks of this one go on, but nobody records what becomes of their runs"
	}
	if store, ok := errors.AsType[*mutex.StoreError](err); ok {
		return store.Hint
	}
	if delivery, ok := errors.AsType[*notify.Error](err); ok {
		return delivery.Hint
	}
	if denied, ok := errors.AsType[*view.DeniedError](err); ok {
		return "ask as its owner: " + asUser(denied.Owner)
	}
	if refusal, ok := errors.AsType[*view.Error](err); ok {
		return refusal.Hint
	}
	if ended, ok := errors.AsType[*exit](err); ok {
		return ended.hint
	}
	return ""
}

// asUser is for hints: it is the command line of this process as another user would type it.
func asUser(uid int) string {
	name := fmt.Sprintf("'#%d'", uid)
	if u, err := user.LookupId(fmt.Sprint(uid)); err == nil {
		name = u.Username
	}
	words := []string{"sudo", "-u", name, "sched"}
	for _, arg := range os.Args[1:] {
		words = append(words, humanize.ShellWord(arg))
	}
	return strings.Join(words, " ")
}
