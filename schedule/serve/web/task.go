package web

import (
	"net/url"
	"slices"
	"time"

	"github.com/a-h/templ"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/serve"
	"sched/schedule/state"
	"sched/schedule/view"
)

const plottedRuns = 60

// A taskPage is all that is known of a task.
type taskPage struct {
	*page
	Task    *schedule.Task
	Shown   view.Task
	Buttons []button

	Answer      view.Why
	FullPool    string
	Minutes     []minuteSlot // when it was due last, and is due next
	NextAllowed *moment      // nil if Next is allowed

	Plot          *plot
	Definition    view.Definition
	SuccessCodes  string  // unless it is 0 alone
	NotEdited     string  // why it cannot be edited here; "" also for who may not edit
	Delete        *button // nil unless it can be edited here
	Runs          *runList
	EverywhereURL string // the list of its runs on all servers; "" without a store
}

// A minuteSlot is a slot of a minute.
type minuteSlot struct {
	Label  string
	Minute *view.Minute
	view.Slot
}

func readTask(p *page) (made taskPage, err error) {
	w, err := view.Explain(p.request.Context(), p.View, p.request.PathValue("name"), time.Time{})
	if err != nil {
		return made, err
	}
	t := w.Task
	p.title = t.Name
	isIt := func(other *schedule.Task) bool { return other == t }
	shown := view.ListTasks(p.request.Context(), p.View, isIt, p.now, 5).Items[0]
	made = taskPage{page: p, Task: t, Shown: shown, Buttons: taskButtons(p, shown), Answer: w.Answer,
		FullPool: w.Answer.Pool.Full(p.zoneOf(t.Name))}
	made.addMinute("Last due", w.Answer.Last)
	made.addMinute("Next", w.Answer.Next)
	if at := w.Answer.NextAllowed; at != nil {
		made.NextAllowed = new(p.Away(at.Time, t.Name))
	}
	if err := made.readHistory(); err != nil {
		return made, err
	}
	if !slices.Equal(made.Definition.SuccessCodes, []int{0}) {
		made.SuccessCodes = numbersText(made.Definition.SuccessCodes)
	}
	made.readEditing()
	made.Runs, err = newRunList(p, t.Name, 20)
	made.Runs.WithTask = false
	if p.View.Controls.Store != nil {
		query := url.Values{"all_servers": {"true"}, "task": {t.Name}}.Encode()
		made.EverywhereURL = p.Base + "/runs?" + query
	}
	return made, err
}

func (p *taskPage) addMinute(label string, m *view.Minute) {
	if m == nil {
		return
	}
	for _, slot := range m.Slots {
		p.Minutes = append(p.Minutes, minuteSlot{label, m, slot})
	}
}

// readHistory reads how long the last runs took, and what takes part in the definition.
func (p *taskPage) readHistory() error {
	ctx := p.request.Context()
	all, err := p.View.Records(ctx)
	if err != nil {
		return err
	}
	defer all.Close()
	ran, err := all.Find(ctx, past.Query{Task: p.Task.Name, Limit: plottedRuns, Outcomes: outcome.Ran})
	if err != nil {
		return err
	}
	usual, err := all.Usual(ctx, []string{p.Task.Name})
	if err != nil {
		return err
	}
	p.Plot = newPlot(p.page, ran, usual[p.Task.Name].Duration)
	p.Definition = view.DefinitionOf(p.Task, p.Shown, usual[p.Task.Name].Duration)
	return nil
}

// readEditing reads whether the task can be edited here.
func (p *taskPage) readEditing() {
	if !p.Edits() {
		return
	}
	name := p.Task.Name
	written, err := serve.Folder{Visit: p.Visit}.Written(name)
	if err != nil {
		p.NotEdited = err.Error()
		return
	}
	p.Delete = &button{ID: "delete", Label: "Delete", Grave: true, Path: p.TaskURL(name) + "/delete", Tag: written.Tag,
		Effect: "The file of " + name + " is removed. " +
			"It does not run any more; what runs goes on, and its history stays."}
}

func taskButtons(p *page, t view.Task) (all []button) {
	at := p.TaskURL(t.Name)
	if p.Schedule.Active(p.tasks[t.Name]) {
		all = append(all, button{ID: "trigger", Label: "Trigger", Path: at + "/trigger",
			Params: paramFields(p.tasks[t.Name], t.Name, nil),
			Effect: "Run " + t.Name + " once more, now or with the next tick: " + t.Command})
	}
	if t.Paused == nil {
		return append(all, button{ID: "pause", Label: "Pause", HowLong: true, Path: at + "/pause",
			Effect: t.Name + " will not start, and its slots will be skipped. Runs go on to their ends."})
	}
	if !t.Paused.Everything && !t.Paused.Raw.InFile {
		all = append(all, button{ID: "resume", Label: "Resume", Path: at + "/resume",
			Effect: t.Name + " will start again at its next slot."})
	}
	return all
}

// A plot shows how long the last runs took.
type plot struct {
	Picture        templ.Component
	Runs           int
	Longest, Usual time.Duration // Usual is 0 while it is not known
}

func (p plot) UsualText() string {
	if p.Usual == 0 {
		return ""
	}
	return "; usually " + humanize.Duration(p.Usual) + " (the line)"
}

// newPlot draws runs, given newest first; nil without runs.
func newPlot(p *page, records []state.Row, usual time.Duration) *plot {
	const height = 96.0
	longest := usual
	for _, r := range records {
		longest = max(longest, r.Duration())
	}
	if longest == 0 || len(records) == 0 {
		return nil
	}
	heightOf := func(d time.Duration) float64 { return max(2, float64(d)/float64(longest)*height) }
	var d drawing
	d.put(`<svg aria-hidden="true">`)
	if usual > 0 {
		d.put(`<line class="usual" x1="0" x2="100%%" y1="%.1f" y2="%.1f"/>`, height-heightOf(usual), height-heightOf(usual))
	}
	width := 100.0 / float64(max(len(records), 20))
	for i, r := range records {
		class, _ := shape(r.Result)
		up := heightOf(r.Duration())
		d.bar(bar{
			left: 100 - float64(i+1)*width, width: width * 0.8, top: height - up, height: up,
			class: class, href: p.RunURL(r.ID), title: p.recordTitle(r),
		})
		if class == "bad" {
			d.put(`<text class="mark" x="%.2f%%" y="%.1f">✕</text>`, 100-(float64(i)+0.6)*width, height-4)
		}
	}
	d.put(`</svg>`)
	return &plot{d.picture(), len(records), longest, usual}
}
