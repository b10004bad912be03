package web

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"sched/schedule/view"
)

const (
	tasksOfAPage = 40
	stripRuns    = 30
)

// A taskList is the page of the tasks.
type taskList struct {
	*page
	taskChips
	Verdict *verdict
	Rows    []taskRow
	Chosen  int // by the filter
	Pages   *pager
}

func readTaskList(p *page) (taskList, error) {
	p.title = "Tasks"
	judged := view.StatusOf(p.View, p.health())
	rows := allRows(p, judged)
	chosen := filtered(p, rows)
	all, _ := p.View.Records(p.request.Context()) // readTasks reports all.Err as a problem of the page
	defer all.Close()
	l := taskList{page: p, taskChips: newTaskChips(p, rows), Verdict: p.verdict(judged),
		Chosen: len(chosen), Pages: p.pager(len(chosen), tasksOfAPage)}
	var err error
	if l.Rows, err = l.pageRows(chosen, all); err != nil { // the rest is shown all the same
		p.View.Problem("the history cannot be read: %v", err)
	}
	return l, nil
}

// pageRows returns the rows of this page of the list, in their order, with all that the list shows.
func (l taskList) pageRows(chosen []taskRow, all *view.Records) (rows []taskRow, err error) {
	if l.readForOrder() {
		chosen, err = l.readRows(chosen, all)
		rows = pageOf(l.ordered(chosen), l.number("page"), tasksOfAPage)
	} else {
		rows, err = l.readRows(pageOf(l.ordered(chosen), l.number("page"), tasksOfAPage), all)
	}
	if all.Err != nil || err != nil {
		return rows, err
	}
	newest, err := all.NewestOf(l.request.Context(), namesOf(rows), stripRuns)
	for i := range rows {
		rows[i].lastOutcomes = newest[rows[i].Name]
	}
	return rows, err
}

// readRows reads the tasks of some rows, and how long their runs usually take. Without a history it
// returns no error: see readTasks.
func (l taskList) readRows(rows []taskRow, all *view.Records) ([]taskRow, error) {
	rows = readTasks(l.page, rows, all)
	if all.Err != nil {
		return rows, nil
	}
	usual, err := all.Usual(l.request.Context(), namesOf(rows))
	for i := range rows {
		rows[i].Usual = usual[rows[i].Name]
	}
	return rows, err
}

// orders are the numbers by which columns order the rows, by their names in the parameter sort.
// Rows without a number are last.
var orders = map[string]func(r taskRow) (n int64, ok bool){
	"next": func(r taskRow) (int64, bool) {
		if len(r.Next) == 0 {
			return 0, false
		}
		return r.Next[0].Unix(), true
	},
	"last":    func(r taskRow) (int64, bool) { return -r.LastRun.Ended.Unix(), r.Last != nil }, // the newest first
	"usually": func(r taskRow) (int64, bool) { return int64(r.Usual.Duration), r.Usual.Runs > 0 },
}

// readForOrder reports whether all rows have to be read before they can be ordered.
func (l taskList) readForOrder() bool { return orders[strings.TrimPrefix(l.Query("sort"), "-")] != nil }

// ordered orders the rows by the parameter sort: the name of a column, after a minus the other way
// round. Without it they stay as they are. If readForOrder says so, the caller has read the rows
// before.
func (l taskList) ordered(rows []taskRow) []taskRow {
	name, backwards := strings.CutPrefix(l.Query("sort"), "-")
	direction := 1
	if backwards {
		direction = -1
	}
	orderBy := orders[name]
	switch {
	case name == "name":
		slices.SortStableFunc(rows, func(a, b taskRow) int {
			return direction * strings.Compare(a.definition.Name, b.definition.Name)
		})
	case orderBy != nil:
		slices.SortStableFunc(rows, func(a, b taskRow) int {
			x, has := orderBy(a)
			y, hasToo := orderBy(b)
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

// A head is the head of a column. Its link orders the list by the column, then the other way round,
// then as usual: those in trouble first.
type head struct{ Text, URL, Class, Order string }

func (l taskList) Head(text, class, name string) head {
	h := head{Text: text, Class: class}
	next := name
	switch l.Query("sort") {
	case name:
		next, h.Order = "-"+name, "ascending"
	case "-" + name:
		next, h.Order = "", "descending"
	}
	h.URL = l.With("sort", next, "page", "")
	return h
}

// An offer is an action that the list offers, for all chosen tasks or with a link for one.
type offer struct{ Name, Label, URL string }

func (l taskList) Actions() (all []offer) {
	for _, a := range actions {
		all = append(all, offer{Name: a.name, Label: a.label})
	}
	return all
}

// ActionsOf are the actions that a task allows now.
func (l taskList) ActionsOf(r taskRow) (all []offer) {
	for _, a := range actions {
		if a.target(l.page, r) != "" {
			query := url.Values{"do": {a.name}, "task": {r.Name}, "back": {l.RawQuery()}}
			all = append(all, offer{a.name, a.label, l.Base + "/act?" + query.Encode()})
		}
	}
	return all
}

// Strip draws the last outcomes of a task.
func (l taskList) Strip(r taskRow) templ.Component {
	const stripHeight, width = 18.0, 100.0 / stripRuns
	var d drawing
	d.put(`<span class="hidden">%s</span>`, tallyText(r.lastOutcomes))
	if len(r.lastOutcomes) == 0 {
		return d.picture()
	}
	d.put(`<svg class="strip" aria-hidden="true">`)
	for i, r := range r.lastOutcomes {
		class, part := shape(r.Result)
		height := part * stripHeight
		d.bar(bar{
			left: 100 - float64(i+1)*width, width: width * 0.75, top: stripHeight - height, height: height,
			class: class, href: l.recordURL(r), title: l.recordTitle(r),
		})
	}
	d.put(`</svg>`)
	return d.picture()
}
