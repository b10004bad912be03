package web

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"sched/schedule/humanize"
	"sched/schedule/view"
)

const (
	shownOfLog = 64 << 10 // bytes of a log that a page shows
	hitsOfLog  = 100      // lines of a search that a page lists
)

// log shows a part of what the run printed: its end, or what surrounds the line at the parameter
// at. Parameter q searches all of it. While the run lives, the script appends new output.
func (p runPage) log(r view.Run) error {
	p.put(`<section class="output" aria-labelledby="output-h"><h2 id="output-h">Output</h2>`)
	defer p.put(`</section>`)
	if err := r.Elsewhere("logs"); err != nil {
		p.put(`<p class="quiet">%s</p>`, err.Error())
		return nil
	}
	at, err := strconv.ParseInt(p.query("at"), 10, 64)
	around := err == nil && at >= 0
	offset, tail := max(0, at-shownOfLog/4), int64(0)
	if !around {
		tail = shownOfLog
	}
	log, err := p.View.Log(r, false, offset, tail, shownOfLog)
	if err != nil {
		p.put(`<p class="alert">! %s</p>`, err.Error())
		return nil
	}
	trouble, found := p.firstTrouble(r)
	p.logHead(r, log, trouble, found)
	p.hits(r)
	if log.Size > 0 || r.State != view.RunEnded {
		follow := markupIf(r.State != view.RunEnded && !around, format(` data-follow="%d"`, log.Offset+int64(len(log.Text))))
		p.put(`<pre class="log" id="log" tabindex="0" role="region" aria-label="The output" data-run="%s"%s>`, r.Record.Run, follow)
		marks := map[int64]string{}
		if found {
			marks[trouble.Offset] = "error"
		}
		if around {
			marks[at] = "line"
		}
		p.marked(log, marks)
		p.put(`</pre>`)
	}
	return p.hookLog(r)
}

// logHead says which part of the log is shown, and leads to the others.
func (p runPage) logHead(r view.Run, log view.Log, trouble view.Hit, found bool) {
	p.put(`<div class="loghead"><p id="log-size" data-live>`)
	if log.Size == 0 && r.State == view.RunEnded {
		p.put(`It printed nothing.`)
	} else {
		if int64(len(log.Text)) < log.Size {
			p.put(`%s of %s, `, humanize.Bytes(int64(len(log.Text))), humanize.Bytes(log.Size))
			if log.Offset+int64(len(log.Text)) == log.Size {
				p.put(`the end. `)
			} else {
				p.put(`from %s on. <a href="%s">To the end</a> `, humanize.Bytes(log.Offset), p.urlWith("at", ""))
			}
		}
		p.put(`<a href="%s" download>Download all of it</a>`, p.base+"/runs/"+r.Record.Run+"/log")
	}
	p.put(`</p>`)
	if log.Size > 0 {
		if found {
			p.put(`<a class="chip" href="%s">first error: line %d</a>`, p.lineURL(log, trouble, "error"), trouble.Line)
		}
		p.attempts(r, log)
		p.put(`<form class="filter" role="search" method="get"><input type="search" name="q" value="%s" placeholder="in all of the output" aria-label="Search the output"><button>Search</button></form>`, p.query("q"))
	}
	p.put(`</div>`)
}

// lineURL leads to a line: in this page if it is shown, else in a page that shows what is around
// it.
func (p runPage) lineURL(log view.Log, hit view.Hit, mark string) string {
	if hit.Offset >= log.Offset && hit.Offset < log.Offset+int64(len(log.Text)) && mark == "error" {
		return "#" + mark
	}
	return p.urlWith("at", strconv.FormatInt(hit.Offset, 10)) + "#line"
}

// attempts leads to the beginning of each attempt that left a line of its own in the log.
func (p runPage) attempts(r view.Run, log view.Log) {
	if r.Attempt < 2 {
		return
	}
	begins, _, err := view.Search(p.View, r, 50,
		func(line []byte) bool { return bytes.HasPrefix(line, []byte("sched: attempt ")) })
	for i, hit := range begins {
		if i == 0 && err == nil {
			p.put(`<a class="chip" href="%s">attempt 1</a>`, p.lineURL(log, view.Hit{}, ""))
		}
		p.put(`<a class="chip" href="%s">%s</a>`, p.lineURL(log, hit, ""), strings.TrimPrefix(hit.Text, "sched: "))
	}
}

// hits lists the lines that have the words of parameter q.
func (p runPage) hits(r view.Run) {
	words := strings.ToLower(strings.TrimSpace(p.query("q")))
	if words == "" {
		return
	}
	hits, more, err := view.Search(p.View, r, hitsOfLog, func(line []byte) bool {
		return strings.Contains(strings.ToLower(humanize.Plain(string(line))), words)
	})
	p.put(`<div id="hits"><p>`)
	switch {
	case err != nil:
		p.put(`! %s`, err.Error())
	case more:
		p.put(`The first %d lines with `, hitsOfLog)
	case len(hits) == 0:
		p.put(`No line has `)
	default:
		p.put(`%s with `, humanize.Count(len(hits), "line"))
	}
	if err == nil {
		p.put(`<b>%s</b>. <a href="%s">End the search</a></p>`, words, p.urlWith("q", "", "at", ""))
	}
	if r.Size > view.MaxSearched {
		p.put(`<p class="quiet">The first %s were searched.</p>`, humanize.Bytes(view.MaxSearched))
	}
	for i, hit := range hits {
		if i == 0 {
			p.put(`<ol class="hits">`)
		}
		at := strconv.FormatInt(hit.Offset, 10)
		p.put(`<li><a href="%s"%s><span>%d</span> <code>%s</code></a></li>`, p.urlWith("at", at)+"#line", currentIf(p.query("at") == at),
			hit.Line, cut(humanize.Plain(hit.Text), 300))
	}
	if len(hits) > 0 {
		p.put(`</ol>`)
	}
	p.put(`</div>`)
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
func (p runPage) firstTrouble(r view.Run) (first view.Hit, found bool) {
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

// marked writes a part of a log; lines at some offsets have an id.
func (p runPage) marked(log view.Log, marks map[int64]string) {
	out := printer{writer: &p.writer}
	at := log.Offset
	lines := strings.SplitAfter(string(log.Text), "\n")
	for i, line := range lines {
		switch id := marks[at]; {
		case i == 0 && at > 0 && id == "" && len(lines) > 1: // leave it out: its beginning may be cut off
		case id != "":
			p.put(`<mark id="%s">`, id)
			out.putLog(line)
			p.put(`</mark>`)
		default:
			out.putLog(line)
		}
		at += int64(len(line))
	}
}

// hookLog writes what the hooks of a run printed.
func (p runPage) hookLog(r view.Run) error {
	if r.Hooked == 0 {
		return nil
	}
	hooks, err := p.View.Log(r, true, 0, shownOfLog, shownOfLog)
	if err != nil {
		return err
	}
	p.put(`<details id="hooks"><summary>What its hooks printed</summary><p><a href="%s?hooks=true" download>Download all of it</a></p><pre class="log" tabindex="0">`,
		p.base+"/runs/"+r.Record.Run+"/log")
	p.marked(hooks, nil)
	p.put(`</pre></details>`)
	return nil
}
