package web

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"sched/schedule"
	"sched/schedule/pause"
	"sched/schedule/state"
	"sched/schedule/view"
)

const tasksOfAPage = 40

// A taskRow is a task on the list. Task is read only for rows that are shown.
type taskRow struct {
	view.Task
	definition               *schedule.Task
	active                   bool
	running, waiting, paused bool
	trouble                  *view.Trouble
	usual                    state.Usual
	lastOutcomes             []state.Row // the newest first
}

var filters = []struct {
	name    string
	accepts func(taskRow) bool
}{
	{"trouble", func(r taskRow) bool { return r.trouble != nil }},
	{"running", func(r taskRow) bool { return r.running }},
	{"waiting", func(r taskRow) bool { return r.waiting }},
	{"paused", func(r taskRow) bool { return r.paused }},
	{"off", func(r taskRow) bool { return !r.active }},
	{"ok", func(r taskRow) bool { return r.trouble == nil && !r.paused && r.active }},
}

type taskList struct{ *page }

func showTasks(made *page) error {
	p := taskList{made}
	p.title = "Tasks"
	judged := p.View.Status(p.health())
	rows := p.allRows(judged)
	chosen := p.filtered(rows)
	all, _ := p.View.Records(p.request.Context()) // readTasks reports all.Err as a problem of the page
	defer all.Close()
	shown, err := p.pageRows(chosen, all)
	if err != nil { // the rest is shown all the same
		p.View.Problem("the history cannot be read: %v", err)
	}
	p.put(`<h1 class="hidden">Tasks</h1><div id="status" data-live>`)
	p.verdict(judged)
	p.put(`</div>`)
	p.filterForm("/tasks")
	p.put(`<div id="tasks" data-live>`)
	p.stateChips(rows)
	if len(shown) == 0 {
		p.put(`<p class="empty">No task is chosen by this filter. <a href="%s/tasks">Show all</a></p>`, p.base)
	} else {
		p.table(shown)
	}
	p.pager(len(chosen), tasksOfAPage)
	p.bulkForm(len(chosen))
	p.put(`</div>`)
	return nil
}

// pageRows returns the rows of this page of the list, in their order, with all that the list shows.
func (p taskList) pageRows(chosen []taskRow, all *view.Records) (rows []taskRow, err error) {
	if p.readForOrder() {
		chosen, err = p.readRows(chosen, all)
		rows = pageOf(p.ordered(chosen), p.number("page"), tasksOfAPage)
	} else {
		rows, err = p.readRows(pageOf(p.ordered(chosen), p.number("page"), tasksOfAPage), all)
	}
	if all.Err != nil || err != nil {
		return rows, err
	}
	return rows, p.addLastOutcomes(rows, all)
}

// allRows returns all tasks, those in trouble first, then those that run, then the others in file
// order.
func (p taskList) allRows(judged view.Status) []taskRow {
	troubles := map[string]*view.Trouble{}
	for i, t := range slices.Backward(judged.Troubles) {
		if t.Task != "" {
			troubles[t.Task] = &judged.Troubles[i]
		}
	}
	pauses := p.View.Pauses()
	running, waiting := p.runningTasks(pauses)
	var ranks [4][]taskRow
	for _, t := range p.Schedule.Tasks {
		r := taskRow{
			definition: t, active: p.Schedule.Active(t), trouble: troubles[t.Name], running: running[t.Name],
			waiting: len(waiting[t.Name]) > 0, paused: view.PauseOf(pauses, t, p.now) != nil,
		}
		ranks[r.rank()] = append(ranks[r.rank()], r)
	}
	return slices.Concat(ranks[:]...)
}

// rank orders the tasks of a list: lower ranks come first.
func (r *taskRow) rank() int {
	switch {
	case r.trouble != nil:
		return 0
	case r.running:
		return 1
	case !r.active:
		return 3
	}
	return 2
}

// stateText returns the state of the task in one word. If the task runs now, it is running, however
// its last run ended.
func (r *taskRow) stateText() string {
	trouble := ""
	if r.trouble != nil {
		trouble = r.trouble.Kind
	}
	switch {
	case !r.active:
		return "off"
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

// runningTasks returns which tasks run, here or on another server, and which of their runs wait
// here.
func (p taskList) runningTasks(pauses pause.Pauses) (running map[string]bool, waiting map[string][]view.Waiting) {
	live := p.View.Live()
	elsewhere, err := view.RunningElsewhere(p.request.Context(), p.View)
	if err != nil {
		p.View.LeftOut(err)
	}
	running = map[string]bool{}
	for _, run := range append(elsewhere, live...) {
		if !run.Waits() {
			running[run.Task] = true
		}
	}
	return running, p.View.Waiting(live, func() pause.Pauses { return pauses })
}

// readTasks reads the tasks of some rows from the records that View.Records returned. If the
// records have an error, the page gets it as a problem.
func (p taskList) readTasks(rows []taskRow, all *view.Records) []taskRow {
	index := map[*schedule.Task]int{}
	for i, r := range rows {
		index[r.definition] = i
	}
	chosen := func(t *schedule.Task) bool { _, ok := index[t]; return ok }
	for _, t := range p.View.TasksOf(p.request.Context(), all, chosen, p.now, 1).Items {
		rows[index[p.tasks[t.Name]]].Task = t
	}
	return rows
}

// filtered returns the rows that the parameters q (words), tag and state choose.
func (p taskList) filtered(rows []taskRow) (chosen []taskRow) {
	words := strings.Fields(strings.ToLower(p.query("q")))
	tag, state := p.query("tag"), p.query("state")
	if len(words) == 0 && tag == "" && state == "" {
		return rows
	}
	for _, r := range rows {
		if hasAll(r.definition, words) && (tag == "" || slices.Contains(r.definition.Tags, tag)) && inState(r, state) {
			chosen = append(chosen, r)
		}
	}
	return chosen
}

// hasAll reports whether a task has all of the words, in lower case, in its name, its description
// or its command.
func hasAll(t *schedule.Task, words []string) bool {
	if len(words) == 0 {
		return true
	}
	all := strings.ToLower(t.Name + " " + t.Description + " " + view.CommandText(t.Command))
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(all, word) })
}

// inState reports whether a row is in a state of filters; true for any other word.
func inState(r taskRow, state string) bool {
	for _, f := range filters {
		if f.name == state {
			return f.accepts(r)
		}
	}
	return true
}

func namesOf(rows []taskRow) (all []string) {
	for _, r := range rows {
		all = append(all, r.Name)
	}
	return all
}

// filterForm keeps the other parameters. The script does not replace it, so typing is not lost.
func (p taskList) filterForm(path string) {
	p.put(`<form class="filter" role="search" method="get" action="%s%s"><input type="search" name="q" value="%s" placeholder="name, description, command" aria-label="Filter by text">`,
		p.base, path, p.query("q"))
	p.keepParams("state", "tag", "sort", "hours", "at")
	p.put(`<button>Filter</button>`)
	if path == "/tasks" && p.Edits() {
		p.put(`<a class="button" href="%s/new">New task</a>`, p.base)
	}
	p.put(`</form>`)
}

// chip writes a link that sets a parameter of a list, and begins the list anew.
func (p *page) chip(name, value, label string, n int) {
	count := markupIf(n > 0, format(" <b>%d</b>", n))
	p.put(`<a class="chip" href="%s"%s>%s%s</a>`, p.urlWith(name, value, "page", "", "below", ""), currentIf(p.query(name) == value), label, count)
}

// stateChips leads to the tasks in a state, and to the tasks with a tag.
func (p taskList) stateChips(rows []taskRow) {
	p.put(`<nav class="chips" aria-label="Filter by state">`)
	p.chip("state", "", "all", len(rows))
	for _, f := range filters {
		n := 0
		for _, r := range rows {
			if f.accepts(r) {
				n++
			}
		}
		if n > 0 || f.name == p.query("state") {
			p.chip("state", f.name, f.name, n)
		}
	}
	p.put(`</nav>`)
	tagged := map[string]int{}
	for _, r := range rows {
		for _, tag := range r.definition.Tags {
			tagged[tag]++
		}
	}
	if len(tagged) == 0 {
		return
	}
	p.put(`<nav class="chips" aria-label="Filter by tag">`)
	p.chip("tag", "", "every tag", 0)
	for _, tag := range slices.Sorted(maps.Keys(tagged)) {
		p.chip("tag", tag, tag, tagged[tag])
	}
	p.put(`</nav>`)
}

// pageOf returns the rows of a page of a list. A page after the last one is the last one: the list
// may have become shorter.
func pageOf(rows []taskRow, page, size int) []taskRow {
	page = min(page, lastPage(len(rows), size))
	return rows[(page-1)*size : min(page*size, len(rows))]
}

// lastPage returns the number of the last page of a list of n rows.
func lastPage(n, size int) int { return max(1, (n+size-1)/size) }

// pager leads to the pages of a list of n items.
func (p *page) pager(n, size int) {
	last := lastPage(n, size)
	if last == 1 {
		return
	}
	now := min(p.number("page"), last)
	p.put(`<nav class="pager" aria-label="Pages of the list">`)
	if now > 1 {
		p.put(`<a href="%s" rel="prev">← before</a>`, p.urlWith("page", strconv.Itoa(now-1)))
	}
	p.put(`<span>page %d of %d</span>`, now, last)
	if now < last {
		p.put(`<a href="%s" rel="next">after →</a>`, p.urlWith("page", strconv.Itoa(now+1)))
	}
	p.put(`</nav>`)
}
