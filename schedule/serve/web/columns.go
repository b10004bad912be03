package web

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/state"
	"sched/schedule/view"
)

// A column is one of the list of tasks. Every part of the list that differs from column to column
// is in this table.
type column struct {
	head  string
	class markup
	sort  string // its name in the parameter sort; "" if it orders nothing

	// orderBy returns the number by which the rows are ordered. Rows without one are last.
	orderBy func(r taskRow) (n int64, ok bool)

	put func(p taskList, r taskRow)
}

var columns = []column{
	{"State", "", "", nil, taskList.stateCell},
	{"Next", "", "next", func(r taskRow) (int64, bool) {
		if len(r.Times) == 0 {
			return 0, false
		}
		return r.Times[0].Unix(), true
	}, taskList.nextCell},
	{"Last", "", "last", func(r taskRow) (int64, bool) {
		return -r.LastRun.Ended.Unix(), r.Last != nil // the newest first
	}, taskList.lastCell},
	{"Usually", "n", "usually", func(r taskRow) (int64, bool) {
		return int64(r.usual.Duration), r.usual.Runs > 0
	}, taskList.usualCell},
	{"Last 30", "outcomes", "", nil, func(p taskList, r taskRow) { p.strip(r.lastOutcomes) }},
}

// none stands for what a task does not have. A narrow page leaves it out.
const none markup = `<span class="none">–</span>`

// ordered orders the rows by the parameter sort: the name of a column, after a minus the other way
// round. Without it they stay as they are. If readForOrder says so, the caller has read the rows
// before.
func (p taskList) ordered(rows []taskRow) []taskRow {
	name, backwards := strings.CutPrefix(p.query("sort"), "-")
	direction := 1
	if backwards {
		direction = -1
	}
	if name == "name" {
		slices.SortStableFunc(rows, func(a, b taskRow) int {
			return direction * strings.Compare(a.definition.Name, b.definition.Name)
		})
	}
	for _, c := range columns {
		if name == "" || c.sort != name {
			continue
		}
		slices.SortStableFunc(rows, func(a, b taskRow) int {
			x, has := c.orderBy(a)
			y, hasToo := c.orderBy(b)
			switch {
			case has != hasToo && has:
				return -1
			case has != hasToo:
				return 1
			}
			return direction * cmp.Compare(x, y)
		})
	}
	return rows
}

// readForOrder reports whether all rows have to be read before they can be ordered.
func (p taskList) readForOrder() bool {
	name := strings.TrimPrefix(p.query("sort"), "-")
	return slices.ContainsFunc(columns, func(c column) bool { return c.sort != "" && c.sort == name })
}

// head writes the head of a column. A link orders the list by it, then the other way round, then as
// usual: those in trouble first.
func (p taskList) head(text string, class markup, name string) {
	next, order := name, markup("")
	switch given := p.query("sort"); {
	case name == "":
		p.put(`<th class="%s">%s`, class, text)
		return
	case given == name:
		next, order = "-"+name, ` aria-sort="ascending"`
	case given == "-"+name:
		next, order = "", ` aria-sort="descending"`
	}
	p.put(`<th class="%s"%s><a href="%s">%s</a>`, class, order, p.urlWith("sort", next, "page", ""), text)
}

func (p taskList) table(rows []taskRow) {
	p.put(`<table class="tasks"><thead><tr>`)
	p.head("Task", "", "name")
	for _, c := range columns {
		p.head(c.head, c.class, c.sort)
	}
	if p.Operates() {
		p.put(`<th class="acts"><span class="hidden">Actions</span>`)
	}
	p.put(`</tr></thead><tbody>`)
	for _, r := range rows {
		p.put(`<tr><th scope="row">`)
		p.choiceBox(r)
		p.put(`<a href="%s">%s</a>`, p.taskURL(r.Name), r.Name)
		if r.Description != "" {
			p.put(`<small>%s</small>`, r.Description)
		}
		p.tags(r.definition.Tags)
		p.put(`</th>`)
		for _, c := range columns {
			label := format(` data-label="%s"`, strings.ToLower(c.head))
			p.put(`<td class="%s"%s>`, c.class, markupIf(c.class != "outcomes", label)) // a picture needs no word
			c.put(p, r)
			p.put(`</td>`)
		}
		p.actionLinks(r)
		p.put(`</tr>`)
	}
	p.put(`</tbody></table>`)
}

// tags writes the tags of a task: each is a link to the tasks that have it.
func (p taskList) tags(all []string) {
	for i, tag := range all {
		if i == 0 {
			p.put(`<span class="tags">`)
		}
		p.put(`<a class="tag" href="%s">%s</a>`, p.urlWith("tag", tag, "page", ""), tag)
		if i == len(all)-1 {
			p.put(`</span>`)
		}
	}
}

func (p taskList) stateCell(r taskRow) {
	p.put(`%s`, badge(r.stateText()))
	switch {
	case len(r.Running) > 0 && !r.Running[0].Began.IsZero():
		p.put(` <small><a href="%s">for %s</a></small>`, p.runURL(r.Running[0].Run), humanize.Age(r.Running[0].Began, p.now))
	case len(r.Waiting) > 0:
		p.put(` <small><a href="%s">%s</a></small>`, p.runURL(r.Waiting[0].Run), r.Waiting[0].Text(p.now, p.zone))
	}
	if r.trouble != nil {
		p.put(`<small class="trouble">%s</small>`, r.trouble.Text)
	}
}

func (p taskList) nextCell(r taskRow) {
	if len(r.Times) == 0 {
		p.put(none)
		return
	}
	p.put(`%s`, p.timeAndDistance(r.Times[0], p.zoneOf(r.Name)))
}

func (p taskList) lastCell(r taskRow) {
	if r.Last == nil {
		p.put(none)
		return
	}
	p.put(`<a href="%s">%s</a>`, p.runURL(r.LastRun.ID), p.timeAndDistance(r.LastRun.Ended, p.zoneOf(r.Name)))
}

func (p taskList) usualCell(r taskRow) {
	if r.usual.Runs == 0 {
		p.put(none)
		return
	}
	p.put(`%s`, humanize.Duration(r.usual.Duration.Round(time.Millisecond)))
}

// readRows reads the tasks of some rows, and how long their runs usually take. Without a history it
// returns no error: see readTasks.
func (p taskList) readRows(rows []taskRow, all *view.Records) ([]taskRow, error) {
	rows = p.readTasks(rows, all)
	if all.Err != nil {
		return rows, nil
	}
	usual, err := all.Usual(p.request.Context(), namesOf(rows))
	for i := range rows {
		rows[i].usual = usual[rows[i].Name]
	}
	return rows, err
}

func (p taskList) addLastOutcomes(rows []taskRow, all *view.Records) error {
	newest, err := all.NewestOf(p.request.Context(), namesOf(rows), stripRuns)
	for i := range rows {
		rows[i].lastOutcomes = newest[rows[i].Name]
	}
	return err
}

const stripRuns = 30

// strip draws the last outcomes of a task, given newest first.
func (p taskList) strip(records []state.Row) {
	const stripHeight, width = 18.0, 100.0 / stripRuns
	p.put(`<span class="hidden">%s</span><svg class="strip" aria-hidden="true">`, tallyText(records))
	for i, r := range records {
		class, part := shape(r.Result)
		height := part * stripHeight
		p.bar(bar{
			left: 100 - float64(i+1)*width, width: width * 0.75, top: stripHeight - height, height: height,
			class: class, href: p.recordURL(r), title: p.recordTitle(r),
		})
	}
	p.put(`</svg>`)
}
