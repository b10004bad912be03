package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/history"
	"sched/schedule/run"
	"sched/schedule/text"
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

	retryAfter int // seconds; 0 says nothing
}

func (p *Problem) Error() string { return p.Detail }

// problem returns an error that is answered with that status. The hint may be empty.
func problem(status int, hint, format string, args ...any) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: fmt.Sprintf(format, args...), Hint: hint}
}

// statusOf is the answer to a kind of error.
func statusOf(kind view.Kind) int {
	switch kind {
	case view.NotFound:
		return http.StatusNotFound
	case view.Conflict:
		return http.StatusConflict
	case view.Denied:
		return http.StatusForbidden
	}
	return http.StatusBadRequest
}

// problemOf returns the answer to a request that ended with an error.
func problemOf(err error) *Problem {
	var known *Problem
	var wrong *view.Error
	var invalid *schedule.InvalidError
	var several *history.AmbiguousError
	var newer *history.NewerError
	var store *mutex.StoreError
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &wrong):
		return problem(statusOf(wrong.Kind), wrong.Hint, "%v", err)
	case errors.As(err, &invalid):
		p := problem(http.StatusServiceUnavailable, "see `sched check`", "the schedule is invalid, and there is no earlier one that was valid")
		p.Problems = problemTexts(invalid.Problems)
		return p
	case errors.As(err, &several):
		return problem(http.StatusConflict, "write more of its id", "%v", err)
	case errors.Is(err, history.ErrNotFound):
		return problem(http.StatusNotFound, "", "%v", err)
	case errors.Is(err, run.ErrVanished):
		return problem(http.StatusConflict, "", "%v", err)
	case errors.As(err, &newer):
		return problem(http.StatusServiceUnavailable, "start `sched serve` with the sched that the ticks use", "%v", err)
	case history.IsCorrupt(err):
		return problem(http.StatusServiceUnavailable, "the next tick moves it aside and begins a new one", "%s", text.Line(err.Error()))
	case errors.As(err, &store):
		return problem(http.StatusServiceUnavailable, store.Hint, "%s", text.Line(store.Error()))
	case errors.As(err, &tooLarge):
		return problem(http.StatusRequestEntityTooLarge, "", "the body is larger than %d KiB", mostBody>>10)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return problem(http.StatusServiceUnavailable, "try again", "it took too long")
	}
	return problem(http.StatusServiceUnavailable, "", "%s", text.Line(err.Error()))
}

func problemTexts(problems []schedule.Problem) (texts []string) {
	for _, p := range problems {
		texts = append(texts, p.String())
	}
	return texts
}

// writeProblem answers with a problem. Where nobody was let in, or a body may still come, the connection ends.
func writeProblem(w http.ResponseWriter, p *Problem) {
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	switch p.Status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="sched"`)
		h.Set("Connection", "close")
	case http.StatusTooManyRequests, http.StatusRequestEntityTooLarge, http.StatusForbidden:
		h.Set("Connection", "close")
	}
	if p.retryAfter > 0 {
		h.Set("Retry-After", fmt.Sprint(p.retryAfter))
	}
	w.WriteHeader(p.Status)
	body, _ := json.MarshalIndent(p, "", "  ")
	w.Write(append(body, '\n'))
}
