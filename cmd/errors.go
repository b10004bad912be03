package cmd

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
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
	return &exit{exitFailed, fmt.Errorf(format, args...), hint}
}

// usage is an error with exit code 2, and a hint that may be empty.
func usage(hint, format string, args ...any) error {
	return &exit{exitUsage, fmt.Errorf(format, args...), hint}
}

// exitCode prints an error with its hint, and returns its exit code. All errors that end a command
// are printed here.
func (a *app) exitCode(err error) int {
	if err == nil {
		return exitOK
	}
	if invalid, is := errors.AsType[*load.InvalidError](err); is {
		a.printFirstProblems(invalid.Problems)
		return exitUsage
	}
	e, is := errors.AsType[*exit](err)
	if !is {
		e = &exit{exitFailed, err, ""}
		if wrong, is := errors.AsType[*view.Error](err); is && wrong.Kind == view.Invalid {
			e.code = exitUsage
		} else if !a.begun { // cobra's own errors
			e = &exit{exitUsage, err, "see `sched --help`"}
		}
	}
	if failed := a.results.firstError(); e.err != nil && (failed == nil || !errors.Is(e.err, failed)) { // else exitOfResults prints it
		a.problem("%v", e.err)
	}
	if e.hint != "" && hintOf(e.err) == "" {
		fmt.Fprintf(a.err, "hint: %s\n", e.hint)
	}
	return e.code
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

// printProblems prints problems of a schedule, each with its hint.
func (c *console) printProblems(problems []schedule.Problem) {
	for _, p := range problems {
		fmt.Fprintf(c.err, "%s\n", p)
	}
}

// mostProblems is how many problems of a schedule commands other than check print: cron may mail
// what a tick prints, each minute.
const mostProblems = 10

func (c *console) printFirstProblems(problems []schedule.Problem) {
	first := problems[:min(mostProblems, len(problems))]
	c.printProblems(first)
	if more := len(problems) - len(first); more > 0 {
		fmt.Fprintf(c.err, "and %s: see `sched check`\n", humanize.Count(more, "more problem"))
	}
}

// hintOf says what to do about an error; "" for an error without a hint.
func hintOf(err error) string {
	if errors.As(err, new(*state.NewerError)) {
		return "run that one again; ticks of this one go on, and nobody records what becomes of their runs until then"
	}
	if down, is := errors.AsType[*mutex.StoreError](err); is {
		return down.Hint
	}
	if delivery, is := errors.AsType[*notify.Error](err); is {
		return delivery.Hint
	}
	if denied, is := errors.AsType[*view.DeniedError](err); is {
		return "ask as its owner: " + asUser(denied.Owner)
	}
	if wrong, is := errors.AsType[*view.Error](err); is {
		return wrong.Hint
	}
	if ends, is := errors.AsType[*exit](err); is {
		return ends.hint
	}
	return ""
}

// repeatInvalid limits how often ticks print the same problems: cron mails what they print.
const repeatInvalid = time.Hour

// printedInvalid reports whether a tick printed these problems in the last hour, or else notes them
// as printed now. It returns false for terminals, -v and --dry-run, and without a state folder.
func (a runCommand) printedInvalid(o runOptions, err error) bool {
	invalid, is := errors.AsType[*load.InvalidError](err)
	if !is || o.dryRun || o.verbose || terminal.Is(a.err) || statedir.Check(invalid.StateDir) != nil {
		return false
	}
	path, digest, now := printedPath(invalid.StateDir), digestOf(invalid.Problems), a.now()
	text, _ := statedir.ReadFile(path)
	last, when, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	at, err := time.Parse(time.RFC3339, when)
	if lately := err == nil && !now.Before(at) && now.Before(at.Add(repeatInvalid)); lately && last == digest {
		return true
	}
	if _, err := os.Stat(invalid.StateDir); err == nil { // an invalid file makes no folder: it may name the wrong one
		statedir.Replace(path, fmt.Appendln(nil, digest, now.UTC().Format(time.RFC3339)))
	}
	return false
}

func digestOf(problems []schedule.Problem) string {
	sum := sha256.New()
	for _, p := range problems {
		fmt.Fprintln(sum, p)
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// printedPath is a file with the digest of the problems that were printed last, and when. It is
// there until the schedule is valid again.
func printedPath(dir string) string { return filepath.Join(dir, "told-invalid") }

// forgetInvalid lets the next problems be printed at once, also if they are the same ones.
func forgetInvalid(s *schedule.Schedule) { os.Remove(printedPath(s.StateDir)) }
