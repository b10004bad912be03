package serve

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/load"
	"sched/schedule/run"
	"sched/schedule/state"
	"sched/schedule/view"
)

// A content is an answer that is not JSON, or JSON with a header.
type content struct {
	status int    // 0: the status of the route
	kind   string // "": the kind of the route
	header map[string]string
	text   []byte
	value  any                  // as JSON, if there is no text
	stream func(w *eventStream) // an answer that goes on
}

func writeAnswer(w http.ResponseWriter, r *Visit, rt route, value any) {
	for _, p := range r.problems {
		w.Header().Add("Sched-Problem", headerText(p.String()))
	}
	if r.Invalid != nil && r.Schedule != nil {
		w.Header().Add("Sched-Problem",
			"the schedule is invalid now (see `sched check`); this is about "+r.Schedule.InPlace())
	}
	c, ok := value.(content)
	if !ok {
		c = content{value: value}
	}
	if c.stream != nil {
		stream(w, r.Request, c.stream)
		return
	}
	if c.text == nil && c.value != nil {
		var err error
		if c.text, err = view.JSON(c.value); err != nil {
			writeProblem(w, ProblemOf(err))
			return
		}
	}
	c.status = cmp.Or(c.status, rt.status)
	for name, value := range c.header {
		w.Header().Set(name, value)
	}
	if rt.method == http.MethodGet && c.status == http.StatusOK {
		encode(r.Request, w.Header(), &c)
	}
	if c.status != http.StatusNoContent && c.status != http.StatusNotModified {
		w.Header().Set("Content-Type", cmp.Or(c.kind, rt.kind, "application/json"))
		w.Header().Set("Content-Length", strconv.Itoa(len(c.text)))
	}
	w.WriteHeader(c.status)
	w.Write(c.text)
}

func headerText(text string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}, text)
}

// A page is a part of a list. Next is the cursor of the next page; null for the last page.
type page[T any] struct {
	Items []T     `json:"items"`
	Next  *string `json:"next"`
}

// pageOf returns a page. The last page has the zero cursor.
func pageOf[T any](items []T, next cursor) page[T] {
	if items == nil {
		items = []T{}
	}
	if next == (cursor{}) {
		return page[T]{items, nil}
	}
	return page[T]{items, new(next.String())}
}

// minCompressed is the length of the shortest text that is worth the time to compress it.
const minCompressed = 1 << 10

// encode gives an answer its ETag, which begins with the ETag of the file of a task that may be
// written. It leaves out a text that the client has already (If-None-Match), and compresses a long
// text for a client that takes gzip.
func encode(r *http.Request, h http.Header, c *content) {
	tag, file := tagOf(c.text), h.Get("ETag")
	switch {
	case file != "" && c.kind == yamlText:
		tag = file
	case file != "": // the answer has more than the file: what ran
		tag = strings.TrimSuffix(file, `"`) + "." + strings.TrimPrefix(tag, `"`)
	}
	h.Set("ETag", tag)
	h.Set("Vary", "Accept-Encoding")
	if anyTag(r.Header.Get("If-None-Match"), tag) {
		c.status, c.text = http.StatusNotModified, nil
		return
	}
	if len(c.text) < minCompressed || !takesGzip(r.Header.Get("Accept-Encoding")) {
		return
	}
	var short bytes.Buffer
	w, _ := gzip.NewWriterLevel(&short, gzip.BestSpeed)
	w.Write(c.text) // into memory: it cannot fail
	w.Close()
	c.text = short.Bytes()
	h.Set("Content-Encoding", "gzip")
	h.Set("ETag", "W/"+tag) // of other bytes with the same content
}

// anyTag reports whether a list of ETags, as If-None-Match has it, has the tag.
func anyTag(list, tag string) bool {
	for entry := range strings.SplitSeq(list, ",") {
		if entry = strings.TrimSpace(entry); entry == "*" || strings.TrimPrefix(entry, "W/") == tag {
			return true
		}
	}
	return false
}

// fileTag is the part of an ETag that is about the file of a task.
func fileTag(tag string) string {
	tag = strings.TrimPrefix(tag, "W/")
	if file, _, long := strings.Cut(tag, "."); long {
		return file + `"`
	}
	return tag
}

// takesGzip reads the header Accept-Encoding (RFC 9110, 12.5.3). Only a client that names gzip gets
// it.
func takesGzip(accepts string) bool {
	for entry := range strings.SplitSeq(accepts, ",") {
		name, weight, _ := strings.Cut(strings.ReplaceAll(entry, " ", ""), ";")
		if strings.EqualFold(name, "gzip") {
			return strings.Trim(strings.ToLower(weight), "q=0.") != "" || weight == ""
		}
	}
	return false
}

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
	var several *state.AmbiguousError
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
