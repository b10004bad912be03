package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/load"
	"sched/schedule/past"
	"sched/schedule/run"
	"sched/schedule/state"
	"sched/schedule/view"
)

// A Problem is an answer that says what is wrong (RFC 9457), and what to do about it.
type Problem struct {
	Type     string   `json:"type"`  // about:blank: the status says what kind of problem it is
	Title    string   `json:"title"` // of the status
	Status   int      `json:"status"`
	Detail   string   `json:"detail"`             // what is wrong
	Hint     string   `json:"hint"`               // what to do; may be empty
	Problems []string `json:"problems,omitempty"` // all that is wrong with a schedule

	RetryAfter int `json:"-"` // seconds; 0 says nothing
}

func (p *Problem) Error() string { return p.Detail }

// IsStale reports whether somebody has changed meanwhile what was to be changed.
func (p *Problem) IsStale() bool {
	return p.Status == http.StatusPreconditionFailed || p.Status == http.StatusPreconditionRequired
}

// NewProblem returns an error that is answered with the status. The hint may be empty.
func NewProblem(status int, hint, format string, args ...any) *Problem {
	return &Problem{
		Type:   "about:blank",
		Title:  http.StatusText(status),
		Status: status,
		Detail: fmt.Sprintf(format, args...),
		Hint:   hint,
	}
}

// badRequest returns the answer to a request that is written wrongly.
func badRequest(hint, format string, args ...any) *Problem {
	return NewProblem(http.StatusBadRequest, hint, format, args...)
}

// forbidden returns the answer to somebody who is known, and may not do that.
func forbidden(hint, format string, args ...any) *Problem {
	return NewProblem(http.StatusForbidden, hint, format, args...)
}

func notFound(hint, format string, args ...any) *Problem {
	return NewProblem(http.StatusNotFound, hint, format, args...)
}

// conflict returns the answer to a request that what is there does not allow.
func conflict(hint, format string, args ...any) *Problem {
	return NewProblem(http.StatusConflict, hint, format, args...)
}

// unavailable returns the answer of a server that cannot do this now.
func unavailable(hint, format string, args ...any) *Problem {
	return NewProblem(http.StatusServiceUnavailable, hint, format, args...)
}

// tryAgain returns an error of a server that can answer after some seconds.
func tryAgain(after int, hint, format string, args ...any) *Problem {
	p := unavailable(hint, format, args...)
	p.RetryAfter = after
	return p
}

var statusOf = map[view.Kind]int{
	view.NotFound: http.StatusNotFound,
	view.Conflict: http.StatusConflict,
	view.Denied:   http.StatusForbidden,
}

// ProblemOf returns the answer to a request that ended with an error.
func ProblemOf(err error) *Problem {
	var known *Problem
	var wrong *view.Error
	var invalid *load.InvalidError
	var several *past.AmbiguousError
	var newer *state.NewerError
	var store *mutex.StoreError
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &wrong):
		hint := wrong.Hint
		if missing, is := errors.AsType[*schedule.MissingValueError](err); is && wrong.Kind == view.Invalid {
			hint = fmt.Sprintf(`"params": {"%s": "…"} sets one`, missing.Param)
		}
		return NewProblem(cmp.Or(statusOf[wrong.Kind], http.StatusBadRequest), hint, "%v", err)
	case errors.As(err, &invalid):
		p := unavailable("see `sched check`", "the schedule is invalid, and there is no earlier one that was valid")
		p.Problems = problemTexts(invalid.Problems)
		return p
	case errors.As(err, &several):
		return conflict("write more of its id", "%v", err)
	case errors.Is(err, state.ErrNotFound):
		return notFound("", "%v", err)
	case errors.Is(err, run.ErrVanished):
		return conflict("", "%v", err)
	case errors.As(err, &newer):
		return unavailable("start `sched serve` with the sched that the ticks use", "%v", err)
	case state.Damaged(err):
		return unavailable("the next tick moves it aside and begins a new one", "%s", humanize.Line(err.Error()))
	case state.Locked(err):
		return tryAgain(1, "try again; a tick holds it for moments", "%s", humanize.Line(err.Error()))
	case errors.As(err, &store):
		return unavailable(store.Hint, "%s", humanize.Line(store.Error()))
	case errors.As(err, &tooLarge):
		return NewProblem(http.StatusRequestEntityTooLarge, "", "the body is larger than %d KiB", tooLarge.Limit>>10)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return unavailable("try again", "it took too long")
	}
	return unavailable("", "%s", humanize.Line(err.Error()))
}

// problemTexts are the problems of a schedule, each with its place.
func problemTexts(problems []schedule.Problem) (texts []string) {
	for _, p := range problems {
		texts = append(texts, p.String())
	}
	return texts
}

// writeProblem answers with a problem. If the caller was not let in, or a body may still come, the
// connection ends.
func writeProblem(w http.ResponseWriter, p *Problem) {
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	switch p.Status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="sched"`)
		h.Set("Connection", "close")
	case http.StatusRequestEntityTooLarge, http.StatusRequestTimeout, http.StatusForbidden:
		h.Set("Connection", "close")
	}
	if p.RetryAfter > 0 {
		h.Set("Retry-After", fmt.Sprint(p.RetryAfter))
	}
	w.WriteHeader(p.Status)
	body, _ := json.MarshalIndent(p, "", "  ")
	w.Write(append(body, '\n'))
}

// Shortened is what somebody sent, as a problem may repeat it.
func Shortened(sent string) string {
	const maxSent = 100
	if len(sent) > maxSent {
		return sent[:maxSent] + "…"
	}
	return sent
}
