package web

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"sched/schedule/humanize"
	"sched/schedule/view"
)

const (
	shownOfLog = 64 << 10 // bytes of a log that a page shows
	hitsOfLog  = 100      // lines of a search that a page lists
)

// A runLog is a part of what the run printed: its end, or what surrounds the line at the parameter
// at. Parameter q searches all of it. While the run lives, the script appends new output.
type runLog struct {
	*page
	Run                   string
	Elsewhere, Unreadable string // why there is no log; "" if there is one

	Size       int64
	Nothing    string // says that there is no output, or none yet; "" if there is some
	Shown, All string
	From       string // where the part begins, if it is not the end
	FirstError *logLine
	Attempts   []logLine // where each attempt begins
	Search     *search   // nil without parameter q
	Printed    bool      // there is a log to show, or one to come
	Text       templ.Component
	Follow     string          // the offset from which the script appends; "" if it does not
	Hooks      templ.Component // what the hooks of the run printed; nil for nothing

	part view.Log
}

// A logLine is a link to a line of the log.
type logLine struct {
	URL, Text string
	Line      int
	Current   bool
}

// A search is the lines that have the words of parameter q.
type search struct {
	Words  string
	Hits   []logLine
	More   bool   // there are more lines
	Failed string // why there is no search; "" if there is one
	Bound  string // how much was searched, if that is not all
}

func newRunLog(p *page, r view.Run) (*runLog, error) {
	l := &runLog{page: p, Run: r.Record.Run}
	if err := r.Elsewhere("logs"); err != nil {
		l.Elsewhere = err.Error()
		return l, nil
	}
	at, err := strconv.ParseInt(p.Query("at"), 10, 64)
	around := err == nil && at >= 0
	offset, tail := max(0, at-shownOfLog/4), int64(0)
	if !around {
		tail = shownOfLog
	}
	if l.part, err = view.ReadLog(p.View, r, false, offset, tail, shownOfLog); err != nil {
		l.Unreadable = err.Error()
		return l, nil
	}
	hasEnded, end := r.State == view.RunEnded, l.part.Next
	l.Size, l.Printed = l.part.Size, l.part.Size > 0 || !hasEnded
	switch {
	case l.Size > 0:
	case hasEnded:
		l.Nothing = "It printed nothing."
	case r.State == view.RunWaiting, r.State == view.RunQueued:
		l.Nothing = "It has not begun."
	default:
		l.Nothing = "It has printed nothing yet."
	}
	if shown := int64(len(l.part.Text)); shown < l.Size {
		l.Shown, l.All = humanize.Bytes(shown), humanize.Bytes(l.Size)
		if end != l.Size {
			l.From = humanize.Bytes(l.part.Offset)
		}
	}
	marks := map[int64]string{}
	if trouble, found := firstTrouble(p, r); found {
		l.FirstError = &logLine{URL: l.urlOf(trouble, "error"), Line: trouble.Line}
		marks[trouble.Offset] = "error"
	}
	l.addAttempts(r)
	l.search(r)
	if !hasEnded && !around {
		l.Follow = strconv.FormatInt(end, 10)
	}
	if around {
		marks[at] = "line"
	}
	l.Text = marked(l.part, marks)
	if r.Hooked == 0 {
		return l, nil
	}
	hooks, err := view.ReadLog(p.View, r, true, 0, shownOfLog, shownOfLog)
	l.Hooks = marked(hooks, nil)
	return l, err
}

func (l *runLog) DownloadURL() string { return l.Base + "/runs/" + l.Run + "/log" }

// urlOf leads to a line: in this page if it is shown, else in a page that shows what is around it.
func (l *runLog) urlOf(hit view.Hit, mark string) string {
	if hit.Offset >= l.part.Offset && hit.Offset < l.part.Offset+int64(len(l.part.Text)) && mark == "error" {
		return "#" + mark
	}
	return l.With("at", strconv.FormatInt(hit.Offset, 10)) + "#line"
}

// addAttempts leads to the beginning of each attempt that left a line of its own in the log.
func (l *runLog) addAttempts(r view.Run) {
	if r.Attempt < 2 {
		return
	}
	begins, _, err := view.Search(l.View, r, 50,
		func(line []byte) bool { return bytes.HasPrefix(line, []byte("sched: attempt ")) })
	for i, hit := range begins {
		if i == 0 && err == nil {
			l.Attempts = append(l.Attempts, logLine{URL: l.urlOf(view.Hit{}, ""), Text: "attempt 1"})
		}
		l.Attempts = append(l.Attempts, logLine{URL: l.urlOf(hit, ""), Text: strings.TrimPrefix(hit.Text, "sched: ")})
	}
}

// search reads the lines that have the words of parameter q.
func (l *runLog) search(r view.Run) {
	words := strings.ToLower(strings.TrimSpace(l.Query("q")))
	if words == "" {
		return
	}
	hits, more, err := view.Search(l.View, r, hitsOfLog, func(line []byte) bool {
		return strings.Contains(strings.ToLower(humanize.Plain(string(line))), words)
	})
	l.Search = &search{Words: words, More: more}
	if err != nil {
		l.Search.Failed = err.Error()
	}
	if r.Size > view.MaxSearched {
		l.Search.Bound = humanize.Bytes(view.MaxSearched)
	}
	for _, hit := range hits {
		at := strconv.FormatInt(hit.Offset, 10)
		l.Search.Hits = append(l.Search.Hits, logLine{URL: l.With("at", at) + "#line", Line: hit.Line,
			Text: cut(humanize.Plain(hit.Text), 300), Current: l.Query("at") == at})
	}
}

// cut shortens a text to at most so many bytes.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

var errorWords = [][]byte{
	[]byte("error"), []byte("fatal"), []byte("exception"), []byte("traceback"), []byte("panic"),
	[]byte("failed"), []byte("failure"),
	[]byte("denied"), []byte("cannot"), []byte("not found"),
}

// mentionsTrouble reports whether a line has one of errorWords. A regular expression would take ten
// times as long.
func mentionsTrouble(line []byte) bool {
	line = bytes.ToLower(line)
	return slices.ContainsFunc(errorWords, func(word []byte) bool { return bytes.Contains(line, word) })
}

// firstTrouble returns the first line of a failed run that is red, or else the first that has a
// word of trouble.
func firstTrouble(p *page, r view.Run) (first view.Hit, found bool) {
	if !r.Row.Outcome.Failure() || r.Size == 0 {
		return view.Hit{}, false
	}
	for _, isTrouble := range []func([]byte) bool{isRed, mentionsTrouble} {
		if hits, _, err := view.Search(p.View, r, 1, isTrouble); err == nil && len(hits) > 0 {
			return hits[0], true
		}
	}
	return view.Hit{}, false
}

// isRed reports whether a part of a line is written in red.
func isRed(line []byte) bool {
	for text := string(line); ; {
		_, rest, ok := strings.Cut(text, "\x1b[")
		if !ok {
			return false
		}
		if n := humanize.EscapeLen("\x1b[" + rest); n > 0 {
			var now pen
			codes, _ := colours(("\x1b[" + rest)[:n])
			now.set(codes)
			if now.fore == red || now.fore == brightRed {
				return true
			}
		}
		text = rest
	}
}
