package cmd

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"sched/cmd/terminal"
	"sched/mutex"
	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/load"
	"sched/schedule/notify"
	"sched/schedule/state"
	"sched/schedule/statedir"
	"sched/schedule/view"
)

// Exit codes, which scripts may rely on.
const (
	exitOK      = 0
	exitFailed  = 1 // a foreground task failed, or what was named does not exist
	exitUsage   = 2 // usage, or an invalid schedule
	exitStopped = 143
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
	printedLater := writeErr != nil && errors.Is(e.err, writeErr) // by codeAfterWriting
	if e.err != nil && !printedLater {
		a.problem("%v", e.err)
	}
	if e.hint != "" && hintOf(e.err) == "" {
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

// problem prints a line to stderr: what is wrong, or what people should know besides the result.
// The hint of an error among the arguments follows. Several goroutines may call it at once.
func (c *console) problem(format string, args ...any) {
	text := fmt.Sprintf("sched: "+format+"\n", args...)
	for _, arg := range args {
		if err, ok := arg.(error); ok && hintOf(err) != "" {
			text += "hint: " + hintOf(err) + "\n"
		}
	}
	io.WriteString(c.err, text) // in one write, so that lines do not mix
}

// problemWithHint prints a line to stderr as problem does, and the hint below it.
func (c *console) problemWithHint(hint, format string, args ...any) {
	c.problem("%v", failed(hint, format, args...))
}

// printProblems prints all problems of a schedule, each with its hint.
func (c *console) printProblems(problems []schedule.Problem) {
	for _, p := range problems {
		fmt.Fprintf(c.err, "%s\n", p)
	}
}

// mostProblems is how many problems of a schedule commands other than check print: cron may mail
// what a tick prints, each minute.
const mostProblems = 10

// printFirstProblems prints at most mostProblems, and how many more there are.
func (c *console) printFirstProblems(problems []schedule.Problem) {
	first := problems[:min(mostProblems, len(problems))]
	c.printProblems(first)
	if more := len(problems) - len(first); more > 0 {
		fmt.Fprintf(c.err, "and %s: see `sched check`\n", humanize.Count(more, "more problem"))
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

// A printedNote says which problems of the schedule a tick printed last, and when. It is a file of
// the state folder, until the schedule is valid again. cron mails what ticks print, so ticks print
// the same problems only once an hour. The zero note is not recent, and cannot be written.
type printedNote struct {
	stateDir string
	digest   string // of the problems of this tick
}

const (
	printedFile   = "told-invalid"
	repeatInvalid = time.Hour
)

// printedNote returns the note for the problems of an invalid schedule. It returns the zero note if
// this tick shall print them in any case: to a terminal, with -v or --dry-run, and if no state
// folder can be trusted.
func (a runCommand) printedNote(o runOptions, err error) printedNote {
	invalid, ok := errors.AsType[*load.InvalidError](err)
	if !ok || o.dryRun || o.verbose || terminal.Is(a.err) || statedir.Check(invalid.StateDir) != nil {
		return printedNote{}
	}
	sum := sha256.New()
	for _, p := range invalid.Problems {
		fmt.Fprintln(sum, p)
	}
	return printedNote{stateDir: invalid.StateDir, digest: fmt.Sprintf("%x", sum.Sum(nil))}
}

// isRecent reports whether a tick printed the same problems in the last hour.
func (n printedNote) isRecent(now time.Time) bool {
	if n.stateDir == "" {
		return false
	}
	text, _ := statedir.ReadFile(filepath.Join(n.stateDir, printedFile))
	digest, printed, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	at, err := time.Parse(time.RFC3339, printed)
	return err == nil && digest == n.digest && !now.Before(at) && now.Before(at.Add(repeatInvalid))
}

// write notes that a tick prints the problems now. It makes no state folder, because an invalid
// schedule may name the wrong one.
func (n printedNote) write(now time.Time) {
	if _, err := os.Stat(n.stateDir); err != nil {
		return
	}
	line := fmt.Appendln(nil, n.digest, now.UTC().Format(time.RFC3339))
	statedir.Replace(filepath.Join(n.stateDir, printedFile), line)
}

// forgetPrinted lets the next tick with problems print them, even if they are the same.
func forgetPrinted(s *schedule.Schedule) { os.Remove(filepath.Join(s.StateDir, printedFile)) }
