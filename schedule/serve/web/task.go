package web

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/serve"
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
	FullPool    string       // with what the next run does then
	IfHeld      string       // what the next run does if Answer.Held is so then; "" without a next run
	Expected    string       // when it will be overdue
	Minutes     []minuteSlot // when it was due last, and is due next
	NextAllowed *moment      // nil if Next is allowed

	Plot          *plot
	Values        []valuePlot
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
		Expected: w.Expected(), FullPool: w.Answer.Pool.Full(p.zoneOf(t.Name))}
	if w.Answer.Next != nil {
		const ifSo = " if that goes on until then"
		made.IfHeld = "; the next run will " + w.WithoutMutex() + ifSo
		if w.CatchesUp() {
			made.IfHeld = "; the next run will wait for its turn" + ifSo
		}
		if made.FullPool != "" {
			made.FullPool += "; the next run will " + w.WithoutSeat() + ifSo
		}
	}
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

// SpreadText says how much later than its expressions the task is due; "" if it is not spread.
func (p taskPage) SpreadText() string {
	if p.Task.Spread == 0 {
		return ""
	}
	return ", and " + humanize.Duration(p.Task.When.Shift) + " later (spread: " + humanize.Setting(p.Task.Spread) + ")"
}

// NoRunsText says that nothing is known of how long the task takes.
func (p taskPage) NoRunsText() string {
	if p.EverywhereURL != "" {
		return "No runs on this server yet."
	}
	return "No runs yet."
}

// MissedText says what becomes of a slot for which no tick came; "" if it is recorded and no more.
func (p taskPage) MissedText() string {
	within := ", for " + humanize.Setting(p.Task.MissedWithin)
	switch {
	case p.Task.RunAllMissed:
		return "each slot without a tick runs later" + within
	case p.Task.RunMissed:
		return "the newest slot without a tick runs later" + within
	}
	return ""
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
	ran, err := all.Find(ctx, past.Query{Task: p.Task.Name, Limit: plottedRuns, Outcomes: outcome.Ran, NoTests: true})
	if err != nil {
		return err
	}
	usual, err := all.Usual(ctx, []string{p.Task.Name})
	if err != nil {
		return err
	}
	if err := all.AddValues(ctx, ran); err != nil {
		return err
	}
	if p.Values, err = newValuePlots(p.page, p.Task, all, ran); err != nil {
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
	for _, running := range t.Running {
		if p.isHere(running.Host) {
			all = append(all, stopButton(p, running.Run, t.Name))
			break // of several runs the first: each has its page
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
