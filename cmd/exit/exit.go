// Package exit has the exit codes of sched, and the errors that carry one.
package exit

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strings"

	"sched/mutex"
	"sched/schedule/humanize"
	"sched/schedule/notify"
	"sched/schedule/state"
	"sched/schedule/view"
)

// Exit codes, which scripts may rely on.
const (
	OK      = 0
	Failure = 1   // a foreground task failed, or what was named does not exist
	Invalid = 2   // usage, or an invalid schedule
	Stopped = 143 // ended by a signal, whichever it was: 128 + SIGTERM
)

// An Error is an error that ends sched with an exit code.
type Error struct {
	Code int
	Err  error  // nil when all was printed already
	Hint string // may be empty
}

func (e *Error) Error() string { return fmt.Sprint(e.Err) }

func (e *Error) Unwrap() error { return e.Err }

// Failed is an error with exit code 1, and a hint that may be empty.
func Failed(hint, format string, args ...any) error {
	return &Error{Code: Failure, Err: fmt.Errorf(format, args...), Hint: hint}
}

// Usage is an error with exit code 2, and a hint that may be empty.
func Usage(hint, format string, args ...any) error {
	return &Error{Code: Invalid, Err: fmt.Errorf(format, args...), Hint: hint}
}

// HintOf says what to do about an error; "" for an error without a hint.
func HintOf(err error) string {
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
		return "ask as its owner: " + AsUser(denied.Owner)
	}
	if refusal, ok := errors.AsType[*view.Error](err); ok {
		return refusal.Hint
	}
	if ended, ok := errors.AsType[*Error](err); ok {
		return ended.Hint
	}
	return ""
}

// AsUser is for hints: it is the command line of this process as another user would type it.
func AsUser(uid int) string {
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
