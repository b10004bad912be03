package serve

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"

	"sched/schedule/view"
)

// A content is an answer that is not JSON, or JSON with a header.
type content struct {
	status int    // 0: the status of the route
	kind   string // "": the kind of the route
	header map[string]string
	text   []byte
	value  any             // as JSON, if there is no text
	stream func(w *events) // an answer that goes on
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

// leastCompressed is the length of the shortest text that is worth the time to compress it.
const leastCompressed = 1 << 10

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
	if len(c.text) < leastCompressed || !takesGzip(r.Header.Get("Accept-Encoding")) {
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
