package serve

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/view"
)

// NewVisit prepares the answer to a request that came through Handler, by somebody who needs a
// scope. Call leave when the page is made: the number of pages is bounded, for forecasts apart. The
// error is for ProblemOf.
func NewVisit(s *Server, hr *http.Request, needs Scope, work Work) (v *Visit, leave func(), err error) {
	v = &Visit{Request: hr, server: s, Who: whoIs(hr.Context())}
	if err := v.Who.needs(needs); err != nil {
		return nil, nil, err
	}
	leave, err = prepare(v, route{work: work})
	return v, leave, err
}

// handlerOf returns the handler of a route of a server.
func handlerOf(s *Server, rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		r := &Visit{Request: hr, server: s}
		value, err := makeAnswer(w, r, rt)
		if c, ok := value.(content); ok && c.later != nil && err == nil {
			http.NewResponseController(w).SetWriteDeadline(time.Time{})
			value, err = c.later(hr.Context())
			http.NewResponseController(w).SetWriteDeadline(time.Now().Add(maxSendTime))
		}
		if err != nil {
			writeProblem(w, ProblemOf(err))
			return
		}
		writeAnswer(w, r, rt, value)
	})
}

// makeAnswer makes the answer. While it is sent, another one may be made.
func makeAnswer(w http.ResponseWriter, r *Visit, rt route) (value any, err error) {
	if r.Who, err = r.server.access.Admit(r.Request, rt.scope); err != nil {
		return nil, err
	}
	if err := receive(w, r, rt); err != nil {
		return nil, err
	}
	if rt.scope != ScopeHook { // others call hooks: what they send is not read
		if err := checkQuery(rt.params, r.URL.Query()); err != nil {
			return nil, err
		}
	}
	leave, err := prepare(r, rt)
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := r.readQuery(rt.params); err != nil {
		return nil, err
	}
	return rt.handle(r)
}

// maxBodyTime bounds the time in which a body comes.
const maxBodyTime = 10 * time.Second

// receive reads the body, before the request gets its place: a client that sends slowly keeps no
// other request from a place. A body that the route does not take is thrown away.
func receive(w http.ResponseWriter, r *Visit, rt route) (err error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	conn := http.NewResponseController(w)
	conn.SetReadDeadline(time.Now().Add(r.server.bodyTimeout))
	r.body, err = io.ReadAll(r.Body)
	if !rt.takesBody() {
		r.body = nil
	}
	if err == nil {
		conn.SetReadDeadline(time.Time{}) // net/http takes a deadline that is over for the end of the client
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = NewProblem(http.StatusRequestTimeout, "", "the body did not come within %s",
			humanize.Duration(r.server.bodyTimeout))
	}
	return err
}

// prepare waits for a place among the requests that are answered, and loads the schedule. A stream
// gives its place back before it begins.
func prepare(r *Visit, rt route) (leave func(), err error) {
	ctx, cancel := context.WithTimeout(r.Context(), maxAnswerTime)
	giveBack, err := r.server.takePlace(ctx, rt.work, r.Who.Name)
	if err != nil {
		cancel()
		return nil, err
	}
	leave = func() { giveBack(); cancel() }
	if rt.kind != eventStreamType {
		r.Request = r.Request.WithContext(ctx)
	}
	if rt.needsNoSchedule {
		return leave, nil
	}
	now, invalid, err := r.server.current.get()
	if err != nil {
		leave()
		return nil, err
	}
	r.Invalid = invalid
	r.setSchedule(now)
	return leave, nil
}

// taking returns the handler of a route that takes a body: handle gets it, read as JSON.
func taking[T any](handle func(*Visit, T) (any, error)) func(*Visit) (any, error) {
	return func(r *Visit) (any, error) {
		var body T
		if err := readBody(r.Header.Get("Content-Type"), r.body, &body); err != nil {
			return nil, err
		}
		return handle(r, body)
	}
}

// A content is an answer that is not JSON, or JSON with a header.
type content struct {
	status int    // 0: the status of the route
	kind   string // "": the kind of the route
	header map[string]string
	text   []byte
	value  any                  // as JSON, if there is no text
	stream func(w *eventStream) // an answer that goes on

	// later makes the answer when the request has given back its place. Its context ends with the
	// client, or with the server.
	later func(context.Context) (any, error)
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
