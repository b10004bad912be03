package web

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/view"
)

type runPage struct{ *page }

func showRun(made *page) error {
	p := runPage{made}
	r, err := p.View.Run(p.request.Context(), p.request.PathValue("id"))
	if err != nil {
		return err
	}
	p.title = r.Task + " " + humanize.ShortRun(r.Record.Run)
	p.put(`<h1><a href="%s">%s</a> <code>%s</code></h1>`, p.taskURL(r.Task), r.Task, humanize.ShortRun(r.Record.Run))
	p.runButtons(r)
	p.put(`<section id="run" data-live aria-label="What became of it"><p class="outcome">`)
	if r.State == view.RunEnded {
		p.put(`%s%s`, badge(r.Outcome), details(r.Begin))
	} else {
		p.put(`%s`, badge(string(r.State)))
		if r.Since != nil {
			p.put(` for %s`, humanize.Duration(max(0, p.now.Sub(stamp(*r.Since)))))
		}
	}
	p.put(`</p>`)
	p.runFacts(r)
	p.put(`</section>`)
	return p.log(r)
}

func (p runPage) runFacts(r view.Run) {
	zone := p.zoneOf(r.Task)
	p.put(`<dl class="facts"><dt>Slot<dd>%s`, p.exactly(r.Begin.Slot, zone))
	fact := func(label markup, format markup, args ...any) {
		p.put(`<dt>%s<dd>`, label)
		p.put(format, args...)
	}
	if r.Begin.IsRange() {
		fact("Stands for", `%s, to %s`, humanize.Count(r.Slots, "slot"), p.exactly(r.Begin.Until, zone))
	}
	switch {
	case r.State == view.RunQueued:
		fact("Waits for", `its turn, until %s at the latest`, p.exactly(r.Begin.Wait.Until, zone))
	case r.At != nil:
		fact("Waits for", `%s`, p.when(stamp(*r.At), zone))
	}
	if r.Begin.Waited > 0 {
		fact("Waited", `%s for its turn`, humanize.Duration(r.Begin.Waited))
	}
	if !r.Begin.Started.IsZero() {
		fact("Started", `%s, %s after its slot`, p.exactly(r.Begin.Started, zone), humanize.Duration(max(0, r.Begin.Lateness())))
	}
	if r.State == view.RunEnded && !r.Begin.Ended.IsZero() {
		fact("Ended", `%s`, p.exactly(r.Begin.Ended, zone))
	}
	if r.State == view.RunEnded && !r.Begin.Started.IsZero() {
		fact("Took", `%s`, humanize.Duration(r.Begin.Duration()))
	}
	if r.Origin != "" && r.Cause == nil {
		fact("Asked for by", `%s`, r.Origin)
	}
	if c := r.Cause; c != nil {
		fact("Triggered by", `<a href="%s">%s</a>, which %s`, p.runURL(c.Run), c.Task, c.Outcome.Verb())
	}
	for _, t := range r.Triggered {
		fact("Triggered", `<a href="%s">%s</a>`, p.runURL(t.Run), t.Task)
	}
	if r.State == view.RunEnded && r.Attempt > 1 {
		fact("Attempts", `%d, one after another; what each printed is in the output`, r.Attempt)
	} else {
		fact("Attempts", `%d`, r.Attempt)
	}
	if r.ExitCode != nil {
		fact("Exit code", `%d`, *r.ExitCode)
	}
	if r.PID != nil {
		fact("Process", `%d`, *r.PID)
	}
	if r.UserCPU+r.SystemCPU > 0 {
		fact("CPU", `%s of the user, %s of the system`, seconds(r.UserCPU), seconds(r.SystemCPU))
	}
	if r.PeakMemory != nil {
		fact("Memory", `%s at most`, humanize.Bytes(*r.PeakMemory))
	}
	if r.Server != "" {
		fact("Server", `%s`, r.Server)
	}
	if other, ok := p.View.RanElsewhere(p.request.Context(), []outcome.Record{r.Begin})[r.Begin.Run]; ok && r.State == view.RunEnded {
		p.put(`<dt>This slot</dt><dd>`)
		p.elsewhere(other)
		p.put(`</dd>`)
	}
	if r.StopBy != "" {
		fact("Stopped by", `%s`, r.StopBy)
	}
	if len(r.Hooks) > 0 {
		fact("Hooks so far", `%s`, strings.Join(r.Hooks, ", "))
	}
	if r.State == view.RunEnded && r.Hooked > 0 {
		fact("Hooks", `<a href="#hooks">what they printed</a>; one that failed has a note here`)
	}
	for _, note := range r.Notes {
		fact("Note", `%s`, note)
	}
	p.put(`</dl>`)
}

// tail is how many bytes of a log a page shows.
const tail = 64 << 10

// log shows the end of what the run printed. While the run lives, the script appends new output.
func (p runPage) log(r view.Run) error {
	if err := r.Elsewhere("logs"); err != nil {
		p.put(`<section aria-labelledby="output-h"><h2 id="output-h">Output</h2><p class="quiet">%s</p></section>`, err.Error())
		return nil
	}
	log, err := p.View.Log(r, false, 0, tail, tail)
	if err != nil {
		p.put(`<section><h2>Output</h2><p class="alert">! %s</p></section>`, err.Error())
		return nil
	}
	p.put(`<section aria-labelledby="output-h"><h2 id="output-h">Output</h2><p id="log-size" data-live>`)
	raw := p.base + "/runs/" + r.Record.Run + "/log"
	if log.Size == 0 && r.State == view.RunEnded {
		p.put(`It printed nothing.`)
	} else {
		if log.Offset > 0 {
			p.put(`The last %s of %s. `, humanize.Bytes(tail), humanize.Bytes(log.Size))
		}
		p.put(`<a href="%s" download>Download all of it</a>`, raw)
	}
	p.put(`</p>`)
	if log.Size > 0 || r.State != view.RunEnded {
		follow := markup("")
		if r.State != view.RunEnded {
			follow = markup(` data-follow="` + strconv.FormatInt(log.Offset+int64(len(log.Text)), 10) + `"`)
		}
		p.put(`<pre class="log" id="log" tabindex="0" aria-label="The output" data-run="%s"%s>`, r.Record.Run, follow)
		p.printed(wholeLines(log))
		p.put(`</pre>`)
	}
	if r.Hooked > 0 {
		hooks, err := p.View.Log(r, true, 0, tail, tail)
		if err != nil {
			return err
		}
		p.put(`<details id="hooks"><summary>What its hooks printed</summary><p><a href="%s?hooks=true" download>Download all of it</a></p><pre class="log" tabindex="0">`, raw)
		p.printed(wholeLines(hooks))
		p.put(`</pre></details>`)
	}
	p.put(`</section>`)
	return nil
}

// wholeLines leaves out a first line whose beginning is cut off.
func wholeLines(log view.Log) string {
	shown := string(log.Text)
	if _, rest, ok := strings.Cut(shown, "\n"); ok && log.Offset > 0 {
		return rest
	}
	return shown
}

func (p *pages) download(w http.ResponseWriter, r *http.Request) {
	visit, leave, err := p.Visit(r, false)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	one, err := visit.View.Run(r.Context(), r.PathValue("id"))
	leave()
	hooks := r.URL.Query().Get("hooks") == "true"
	var log view.Log
	if err == nil {
		log, err = visit.View.Log(one, hooks, 0, 0, part)
	}
	if err != nil {
		p.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="`+humanize.ShortRun(one.Record.Run)+`.log"`)
	size, controller := log.Size, http.NewResponseController(w)
	for sent := int64(0); len(log.Text) > 0; {
		controller.SetWriteDeadline(time.Now().Add(30 * time.Second)) // of this part: all of it may take long
		if _, err := w.Write(log.Text); err != nil {
			return
		}
		if sent += int64(len(log.Text)); sent >= size {
			return
		}
		if log, err = visit.View.Log(one, hooks, sent, 0, part); err != nil {
			panic(http.ErrAbortHandler) // a download that is cut off does not look whole
		}
	}
}

// part is how many bytes of a download are read at a time.
const part = 256 << 10
