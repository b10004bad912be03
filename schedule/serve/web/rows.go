package web

import (
	"maps"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/past"
	"sched/schedule/pause"
	"sched/schedule/state"
	"sched/schedule/view"
)

// A taskRow is a task on a list. Task is read only for rows that are shown.
type taskRow struct {
	view.Task
	definition               *schedule.Task
	active                   bool
	running, waiting, paused bool
	Trouble                  *view.Trouble
	Usual                    past.Usual
	lastOutcomes             []state.Row // the newest first
}

var filters = []struct {
	name    string
	accepts func(taskRow) bool
}{
	{"trouble", func(r taskRow) bool { return r.Trouble != nil }},
	{"running", func(r taskRow) bool { return r.running }},
	{"waiting", func(r taskRow) bool { return r.waiting }},
	{"paused", func(r taskRow) bool { return r.paused }},
	{"off", func(r taskRow) bool { return !r.active }},
	{"ok", func(r taskRow) bool { return r.Trouble == nil && !r.paused && r.active }},
}

// rank orders the tasks of a list: lower ranks come first.
func (r taskRow) rank() int {
	switch {
	case r.Trouble != nil:
		return 0
	case r.running:
		return 1
	case !r.active:
		return 3
	}
	return 2
}

// StateText returns the state of the task in one word, or in a few why it does not run here. If the
// task runs now, it is running, however its last run ended.
func (r taskRow) StateText() string {
	trouble := ""
	if r.Trouble != nil {
		trouble = r.Trouble.Kind
	}
	switch {
	case !r.active:
		short, _, _ := strings.Cut(r.Off, ":")
		return short
	case r.running && trouble != "slow":
		return "running"
	case trouble != "":
		return trouble
	case r.paused:
		return "paused"
	case r.waiting:
		return "waiting"
	case r.Last != nil:
		return r.LastRun.OutcomeText()
	}
	return "never ran"
}

func (r taskRow) Look() look {
	if !r.active {
		found := lookOf("off")
		found.Word = r.StateText()
		return found
	}
	return lookOf(r.StateText())
}

func (r taskRow) Tags() []string { return r.definition.Tags }

// Begun is the first run that has begun and surely lives; nil for none.
func (r taskRow) Begun() *view.Running {
	for i, running := range r.Running {
		if !running.Since.IsZero() && running.LastReported == nil {
			return &r.Running[i]
		}
	}
	return nil
}

// Waits is the first run that waits; nil for none.
func (r taskRow) Waits() *view.Waiting {
	if len(r.Waiting) > 0 {
		return &r.Waiting[0]
	}
	return nil
}

func (r taskRow) UsualText() string {
	return humanize.Duration(r.Usual.Duration.Round(time.Millisecond))
}

// hasAll reports whether a task has all of the words, in lower case, in its name, its description
// or its command.
func (r taskRow) hasAll(words []string) bool {
	t := r.definition
	if len(words) == 0 {
		return true
	}
	all := strings.ToLower(t.Name + " " + t.Description + " " + view.CommandText(t.Command))
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(all, word) })
}

// isIn reports whether a row is in a state of filters; true for any other word.
func (r taskRow) isIn(state string) bool {
	for _, f := range filters {
		if f.name == state {
			return f.accepts(r)
		}
	}
	return true
}

// allRows returns all tasks, those in trouble first, then those that run, then the others in file
// order.
func allRows(p *page, judged view.Status) []taskRow {
	troubles := map[string]*view.Trouble{}
	for i, t := range slices.Backward(judged.Troubles) {
		if t.Task != "" {
			troubles[t.Task] = &judged.Troubles[i]
		}
	}
	pauses := p.View.Pauses()
	running, waiting := runningTasks(p, pauses)
	var ranks [4][]taskRow
	for _, t := range p.Schedule.Tasks {
		r := taskRow{
			definition: t, active: p.Schedule.Active(t), Trouble: troubles[t.Name], running: running[t.Name],
			waiting: len(waiting[t.Name]) > 0, paused: view.PauseOf(pauses, t, p.now) != nil,
		}
		ranks[r.rank()] = append(ranks[r.rank()], r)
	}
	return slices.Concat(ranks[:]...)
}

// runningTasks returns which tasks run, here or on another server, and which of their runs wait
// here.
func runningTasks(p *page, pauses pause.Pauses) (running map[string]bool, waiting map[string][]view.Waiting) {
	live := p.View.Live()
	elsewhere, err := view.RunningElsewhere(p.request.Context(), p.View)
	if err != nil {
		p.View.LeftOut(err)
	}
	running = map[string]bool{}
	for _, run := range append(elsewhere, live...) {
		if mayHaveEnded := !run.LastReported.IsZero(); !run.Waits() && !mayHaveEnded {
			running[run.Task] = true
		}
	}
	return running, view.WaitingRuns(p.View, live, func() pause.Pauses { return pauses })
}

// readTasks reads the tasks of some rows from the records that View.Records returned. If the
// records have an error, the page gets it as a problem.
func readTasks(p *page, rows []taskRow, all *view.Records) []taskRow {
	index := map[*schedule.Task]int{}
	for i, r := range rows {
		index[r.definition] = i
	}
	chosen := func(t *schedule.Task) bool { _, ok := index[t]; return ok }
	for _, t := range view.ListTasksOf(p.request.Context(), p.View, all, chosen, p.now, 1).Items {
		rows[index[p.tasks[t.Name]]].Task = t
	}
	return rows
}

// filtered returns the rows that the parameters q (words), tag and state choose.
func filtered(p *page, rows []taskRow) (chosen []taskRow) {
	words := strings.Fields(strings.ToLower(p.Query("q")))
	tag, state := p.Query("tag"), p.Query("state")
	if len(words) == 0 && tag == "" && state == "" {
		return rows
	}
	for _, r := range rows {
		if r.hasAll(words) && (tag == "" || slices.Contains(r.Tags(), tag)) && r.isIn(state) {
			chosen = append(chosen, r)
		}
	}
	return chosen
}

func namesOf(rows []taskRow) (all []string) {
	for _, r := range rows {
		all = append(all, r.Name)
	}
	return all
}

// taskChips are links to the tasks in a state, and to the tasks with a tag.
type taskChips struct{ StateChips, TagChips []chip }

func newTaskChips(p *page, rows []taskRow) (c taskChips) {
	c.StateChips = append(c.StateChips, p.Chip("state", "", "all", len(rows)))
	for _, f := range filters {
		n := 0
		for _, r := range rows {
			if f.accepts(r) {
				n++
			}
		}
		if n > 0 || f.name == p.Query("state") {
			c.StateChips = append(c.StateChips, p.Chip("state", f.name, f.name, n))
		}
	}
	tagged := map[string]int{}
	for _, r := range rows {
		for _, tag := range r.Tags() {
			tagged[tag]++
		}
	}
	if len(tagged) > 0 {
		c.TagChips = append(c.TagChips, p.Chip("tag", "", "every tag", 0))
	}
	for _, tag := range slices.Sorted(maps.Keys(tagged)) {
		c.TagChips = append(c.TagChips, p.Chip("tag", tag, tag, tagged[tag]))
	}
	return c
}
