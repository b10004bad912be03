package web

import (
	"net/http"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/serve"
	"sched/schedule/state"
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
	all, err := p.View.Records(p.request.Context())
	if err != nil {
		return err
	}
	defer all.Close()
	if err := p.neighbours(r, all); err != nil {
		return err
	}
	usual, err := all.Usual(p.request.Context(), []string{r.Task})
	if err != nil {
		return err
	}
	p.put(`<div id="run" data-live><p class="outcome">`)
	if r.State == view.RunEnded {
		p.put(`%s%s`, endedBadge(r.Row.Result), details(r.Row))
	} else {
		p.state(r)
	}
	p.put(`</p>`)
	if r.State == view.RunRunning && r.Since != nil {
		p.progress(r, usual[r.Task])
	}
	p.put(`</div>`)
	p.runButtons(r)
	if err := p.log(r); err != nil {
		return err
	}
	p.put(`<section id="facts" data-live aria-label="All that is known of it">`)
	p.runFacts(r)
	p.put(`</section>`)
	return nil
}

// state writes the state of a run that has not ended. A run that waits has words for what.
func (p runPage) state(r view.Run) {
	switch {
	case r.State == view.RunDeferred && r.At != nil:
		p.put(`%s for attempt %d at %s`, badge("waiting"), r.Attempt, p.timeAndDistance(parseTime(*r.At), p.zoneOf(r.Task)))
	case r.State == view.RunQueued:
		p.put(`%s for its turn`, badge("waiting"))
	default:
		p.put(`%s`, badge(string(r.State)))
	}
	if r.Since != nil {
		p.put(` for %s`, humanize.Age(parseTime(*r.Since), p.now))
	}
}

// neighbours leads to the run of the task before this one, and to the one after it.
func (p runPage) neighbours(r view.Run, all *view.Records) error {
	p.put(`<nav class="neighbours" id="neighbours" data-live aria-label="Runs of the task">`)
	earlier, ok, err := all.Previous(p.request.Context(), r.Task, r.Record.Run)
	if ok {
		p.put(`<a href="%s" rel="prev">← earlier %s</a>`, p.runURL(earlier.ID), endedBadge(earlier.Result))
	}
	if err != nil {
		return err
	}
	later, ok, err := all.Following(p.request.Context(), r.Task, r.Record.Run)
	if ok {
		p.put(`<a href="%s" rel="next">later %s →</a>`, p.runURL(later.ID), endedBadge(later.Result))
	}
	p.put(`<a href="%s">all runs</a></nav>`, p.runsURL(r.Task, ""))
	return err
}

// progress says how much of its usual time a run has had.
func (p runPage) progress(r view.Run, usual state.Usual) {
	if usual.Runs == 0 {
		return
	}
	took, long := max(0, p.now.Sub(parseTime(*r.Since))), usual.Duration
	p.put(`<p><progress max="%d" value="%d" aria-label="Of its usual time"></progress> `, int64(long/time.Millisecond), int64(min(took, long)/time.Millisecond))
	if took > long {
		p.put(`%s longer than usual: it usually takes %s`, humanize.Duration(took-long), humanize.Duration(long))
	} else {
		p.put(`it usually takes %s, so about %s are left`, humanize.Duration(long), humanize.Duration(long-took))
	}
	p.put(`</p>`)
}

func (p runPage) runFacts(r view.Run) {
	p.put(`<dl class="facts">`)
	p.timeFacts(r, p.zoneOf(r.Task))
	p.causeFacts(r)
	p.processFacts(r)
	if other, ok := p.ranElsewhere(r); ok {
		p.put(`<dt>This slot</dt><dd>`)
		p.runElsewhere(other)
		p.put(`</dd>`)
	}
	p.factIfAny("Stopped by", r.StopBy)
	p.factIfAny("Hooks so far", strings.Join(r.Hooks, ", "))
	if r.State == view.RunEnded && r.Hooked > 0 {
		p.fact("Hooks", `<a href="#hooks">what they printed</a>; one that failed has a note here`)
	}
	for _, note := range r.Notes {
		p.factIfAny("Note", note)
	}
	p.put(`</dl>`)
}

// timeFacts are the slot of the run, when it began and ended, and what it waits for.
func (p runPage) timeFacts(r view.Run, zone *time.Location) {
	p.fact("Slot", `%s`, p.timeExact(r.Row.Slot, zone))
	if !r.Row.Repeats.IsZero() {
		p.fact("Repeats", `the slot of %s`, p.timeExact(r.Row.Repeats, zone))
	}
	if r.Row.IsRange() {
		p.fact("Stands for", `%s, to %s`, humanize.Count(r.Slots, "slot"), p.timeExact(r.Row.LastSlot, zone))
	}
	switch {
	case r.State == view.RunQueued:
		p.fact("Waits for", `its turn, until %s at the latest`, p.timeExact(r.Row.Wait.Until, zone))
	case r.At != nil:
		p.fact("Waits for", `%s`, p.timeAndDistance(parseTime(*r.At), zone))
	}
	if r.Row.Wait.Waited > 0 {
		p.fact("Waited", `%s for its turn`, humanize.Duration(r.Row.Wait.Waited))
	}
	if !r.Row.Started.IsZero() {
		p.fact("Started", `%s, %s after its slot`, p.timeExact(r.Row.Started, zone), humanize.Duration(max(0, r.Row.Lateness())))
	}
	hasEnded := r.State == view.RunEnded
	if hasEnded && !r.Row.Ended.IsZero() {
		p.fact("Ended", `%s`, p.timeExact(r.Row.Ended, zone))
	}
	if hasEnded && !r.Row.Started.IsZero() {
		p.factIfAny("Took", humanize.Duration(r.Row.Duration()))
	}
}

// causeFacts are who or what asked for the run, and the runs that it has triggered.
func (p runPage) causeFacts(r view.Run) {
	if r.Cause == nil {
		p.factIfAny("Asked for by", r.Origin)
	}
	for _, pair := range schedule.Pairs(r.Params) {
		p.fact("Param", `<code>%s</code>`, pair)
	}
	if c := r.Cause; c != nil {
		p.fact("Triggered by", `<a href="%s">%s</a>, which %s`, p.runURL(c.Run), c.Task, c.Outcome.Verb())
	}
	for _, t := range r.Triggered {
		p.fact("Triggered", `<a href="%s">%s</a>`, p.runURL(t.Run), t.Task)
	}
}

// processFacts are the attempts, and what the processes of the run used.
func (p runPage) processFacts(r view.Run) {
	switch {
	case r.State == view.RunEnded && r.Attempt > 1:
		p.fact("Attempts", `%d, one after another; what each printed is in the output`, r.Attempt)
	case r.State == view.RunDeferred:
		p.fact("Attempts", `%d so far`, r.Attempt-1)
	default:
		p.fact("Attempts", `%d`, r.Attempt)
	}
	if r.ExitCode != nil {
		p.fact("Exit code", `%d`, *r.ExitCode)
	}
	if r.PID != nil {
		p.fact("Process", `%d`, *r.PID)
	}
	if r.UserCPU+r.SystemCPU > 0 {
		p.fact("CPU", `%s of the user, %s of the system`, secondsText(r.UserCPU), secondsText(r.SystemCPU))
	}
	if r.PeakMemory != nil {
		p.fact("Memory", `%s at most`, humanize.Bytes(*r.PeakMemory))
	}
	p.factIfAny("Limits", r.Limits)
	p.factIfAny("Server", r.Server)
}

// ranElsewhere returns the run of another server for the slot of a run that has ended.
func (p runPage) ranElsewhere(r view.Run) (other state.Row, ok bool) {
	if r.State != view.RunEnded {
		return other, false
	}
	other, ok = view.RanElsewhere(p.request.Context(), p.View, []state.Row{r.Row})[r.Row.ID]
	return other, ok
}

// download answers with all that a run, or with hooks=true its hooks, printed. It sends a part
// before it reads the next.
func (p *pages) download(w http.ResponseWriter, r *http.Request) {
	visit, leave, err := p.Visit(r, serve.ScopeRead, serve.Quick)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	shown, err := visit.View.Run(r.Context(), r.PathValue("id"))
	leave()
	hooks := r.URL.Query().Get("hooks") == "true"
	var log view.Log
	if err == nil {
		log, err = visit.View.Log(shown, hooks, 0, 0, downloadPart)
	}
	if err != nil {
		p.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="`+humanize.ShortRun(shown.Record.Run)+`.log"`)
	size, controller := log.Size, http.NewResponseController(w)
	for sent := int64(0); len(log.Text) > 0; {
		controller.SetWriteDeadline(time.Now().Add(30 * time.Second)) // of this part: all of it may take long
		if _, err := w.Write(log.Text); err != nil {
			return
		}
		if sent += int64(len(log.Text)); sent >= size {
			return
		}
		if log, err = visit.View.Log(shown, hooks, sent, 0, downloadPart); err != nil {
			panic(http.ErrAbortHandler) // a download that is cut off does not look whole
		}
	}
}

// downloadPart is how many bytes of a download are read at a time.
const downloadPart = 256 << 10

// runButtons writes the buttons of the actions that the state of the run allows.
func (p runPage) runButtons(r view.Run) {
	command := "stop"
	if r.State == view.RunEnded {
		command = "retry"
	}
	if err := r.Elsewhere(command); err != nil {
		p.put(`<p class="quiet">%s</p>`, err.Error())
		return
	}
	if !p.Operates() {
		return
	}
	at := p.base + "/runs/" + r.Record.Run
	p.put(`<div class="buttons" id="buttons" data-live>`)
	switch t := p.tasks[r.Task]; {
	case r.State == view.RunStarting, r.State == view.RunRunning, r.State == view.RunQueued,
		r.State == view.RunDeferred:
		p.button(button{id: "stop", label: "Stop", reasoned: true, grave: true, path: at + "/stop",
			effect: "The command of " + r.Task + " gets TERM, and KILL if it goes on."})
	case r.State == view.RunWaiting:
		p.button(button{id: "cancel", label: "Cancel the run", reasoned: true, grave: true, path: at + "/cancel",
			effect: "The run of " + r.Task + " does not begin: it is skipped."})
	case r.State == view.RunEnded && t != nil && p.Schedule.Active(t):
		p.button(button{id: "retry", label: "Retry", reasoned: true, path: at + "/retry",
			fields: paramFields(t, r.Record.Run, r.Row.Params),
			effect: "Run " + r.Task + " again, now or with the next tick, as it is defined then."})
	}
	p.put(`</div>`)
}
