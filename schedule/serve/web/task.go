package web

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
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

const (
	plottedRuns = 60
	roomForSign = 14 // pixels of a bar: the sign of a lower bar stands above it
)

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
		if moved := p.Task.When.Meaning(slot.Slot.Time).Moved; moved != "" {
			slot.Says = strings.TrimSuffix(moved+"; "+slot.Says, "; ")
		}
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
		if t.LastRun.ID != "" && t.LastRun.Wrong() {
			all = append(all, retryButton(p, t.LastRun))
		}
	}
	if t.Paused == nil {
		return append(all, button{ID: "pause", Label: "Pause", Ends: pauseEnds(p), Path: at + "/pause",
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
	Picture, Axis  templ.Component
	Scale          []string // the numbers of the vertical axis, from the top down
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
	top := axisTop(longest)
	heightOf := func(d time.Duration) float64 { return max(2, float64(d)/float64(top)*height) }
	var d drawing
	d.put(`<svg aria-hidden="true"><line class="line" x1="0" x2="100%%" y1="%.1f" y2="%.1f"/>`, height/2, height/2)
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
			sign, y := "mark", height-4
			if up < roomForSign {
				sign, y = "sign bad", height-up-3
			}
			d.put(`<text class="%s" x="%.2f%%" y="%.1f">✕</text>`, sign, 100-(float64(i)+0.6)*width, y)
		}
	}
	d.put(`</svg>`)
	scale := []string{axisText(top), axisText(top / 2), "0"}
	return &plot{d.picture(), plotAxis(p, records, width), scale, len(records), longest, usual}
}

// plotAxis is the horizontal axis: the slots of the first run and of the last one.
func plotAxis(p *page, records []state.Row, width float64) templ.Component {
	text := func(r state.Row) string { return humanize.MinuteNearZone(r.Slot, p.now, p.zoneOf(r.Task)) }
	var d drawing
	d.put(`<svg class="axis" aria-hidden="true">`)
	const room = 50 // percent: further right the labels of both would overlap on a phone
	if left := 100 - float64(len(records))*width; left < room {
		d.put(`<text class="first" x="%.2f%%" y="13">%s</text>`, left, text(records[len(records)-1]))
	}
	d.put(`<text class="last" x="100%%" y="13">%s</text></svg>`, text(records[0]))
	return d.picture()
}

// axisTop returns where an axis ends that reaches up to longest. Half of it is a round number, too.
func axisTop(longest time.Duration) time.Duration {
	for _, unit := range []time.Duration{time.Millisecond, time.Second, time.Minute} {
		for _, n := range []time.Duration{2, 4, 10, 20, 30, 60, 100, 200, 400} {
			if n*unit >= longest && (n <= 60 || unit == time.Millisecond) {
				return n * unit
			}
		}
	}
	for hours := 2 * time.Hour; ; hours *= 2 {
		if hours >= longest {
			return hours
		}
	}
}

// axisText writes a duration in one unit.
func axisText(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%d m", d/time.Minute)
	case d%time.Second == 0:
		return fmt.Sprintf("%d s", d/time.Second)
	}
	return fmt.Sprintf("%d ms", d/time.Millisecond)
}
