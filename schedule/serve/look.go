package serve

import (
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/outcome"
	"sched/schedule/state"
	"sched/schedule/view"
)

func getStatus(r *request) (any, error) {
	return r.view.Status(view.HealthOf(r.schedule, r.invalid != nil, r.server.Now())), nil
}

func getTasks(r *request) (any, error) {
	chosen, more, err := taggedAfter(r.schedule, r.query.Values["tag"], r.query.cursor, int(r.query.numbers["limit"]))
	if err != nil {
		return nil, err
	}
	var next cursor
	if more {
		next.item = chosen[len(chosen)-1].Name
	}
	shown := func(t *schedule.Task) bool { return slices.Contains(chosen, t) }
	tasks := r.view.Tasks(r.Context(), shown, r.server.Now(), int(r.query.numbers["times"]))
	return pageOf(tasks.Items, next), nil
}

// taggedAfter returns at most limit tasks with one of the tags (all for none) behind the cursor.
func taggedAfter(s *schedule.Schedule, tags []string, after cursor, limit int) (chosen []*schedule.Task, more bool, err error) {
	if err := control.KnownTags(s, tags); err != nil {
		return nil, false, err
	}
	rest := s.Tasks
	if after.item != "" {
		i := slices.IndexFunc(rest, func(t *schedule.Task) bool { return t.Name == after.item })
		if i < 0 {
			return nil, false, madeUp()
		}
		rest = rest[i+1:]
	}
	for _, t := range rest {
		if len(tags) == 0 || hasTag(t, tags) {
			if len(chosen) == limit {
				return chosen, true, nil
			}
			chosen = append(chosen, t)
		}
	}
	return chosen, false, nil
}

func hasTag(t *schedule.Task, tags []string) bool {
	return slices.ContainsFunc(tags, func(tag string) bool { return slices.Contains(t.Tags, tag) })
}

func getTask(r *request) (any, error) {
	if r.query.is("source") {
		return getSource(r)
	}
	definition, t, err := r.definition(r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	c := content{value: definition}
	if tag := r.server.etag(r.schedule, t); tag != "" {
		c.header = map[string]string{"ETag": tag}
	}
	return c, nil
}

func (r *request) definition(name string) (view.Definition, *schedule.Task, error) {
	t, err := view.FindTask(r.schedule, name)
	if err != nil {
		return view.Definition{}, nil, err
	}
	var usual time.Duration
	if all, err := r.view.Records(r.Context()); err == nil {
		if known, err := all.Usual(r.Context(), []string{name}); err == nil {
			usual = known[name].Duration
		}
		all.Close()
	}
	tasks := r.view.Tasks(r.Context(), func(other *schedule.Task) bool { return other == t }, r.server.Now(), 5)
	return view.DefinitionOf(t, tasks.Items[0], usual), t, nil
}

func getWhy(r *request) (any, error) {
	w, err := r.view.Why(r.Context(), r.PathValue("name"), r.query.times["at"])
	if err != nil {
		return nil, err
	}
	return w.Answer, nil
}

// longestAhead is the longest time whose slots are listed at once.
const longestAhead = 366 * 24 * time.Hour

func getUpcoming(r *request) (any, error) {
	from, to, after := r.query.times["since"], r.query.times["until"], r.query.cursor
	if from.IsZero() {
		from = r.server.Now()
	}
	if to.IsZero() {
		to = from.Add(24 * time.Hour)
	}
	if !from.Before(to) || to.Sub(from) > longestAhead {
		return nil, NewProblem(http.StatusBadRequest, "", "the time from %s to %s is empty, or longer than a year",
			from.Format(time.RFC3339), to.Format(time.RFC3339))
	}
	if after != (cursor{}) && (after.at.Before(from) || !after.at.Before(to)) {
		return nil, madeUp()
	}
	slots, more := r.view.Upcoming(from, to, view.Upcoming{At: after.at, Task: after.item}, int(r.query.numbers["limit"]))
	var next cursor
	if more {
		last := slots[len(slots)-1]
		next = cursor{last.At, last.Task}
	}
	return pageOf(slots, next), nil
}

func getRuns(r *request) (any, error) {
	q, err := r.historyQuery()
	if err != nil {
		return nil, err
	}
	page := r.view.Page
	if r.query.is("all_servers") {
		page = r.view.PageOfAll
	}
	records, next, err := page(r.Context(), q)
	if err == nil && len(records) == 0 && q.Task != "" {
		err = r.knownTask(q.Task)
	}
	if err != nil {
		return nil, err
	}
	return pageOf(view.RecordsOf(records), cursor{next.Slot, next.ID}), nil
}

// summedUp is the time that a summary is about, unless the request says so.
const summedUp = 24 * time.Hour

func getSummary(r *request) (any, error) {
	since, until, task, tags := r.query.times["since"], r.query.times["until"], r.query.Get("task"), r.query.Values["tag"]
	if err := control.KnownTags(r.schedule, tags); err != nil {
		return nil, err
	}
	if since.IsZero() {
		since = r.server.Now().Add(-summedUp)
	}
	if !until.IsZero() && !since.Before(until) {
		return nil, NewProblem(http.StatusBadRequest, "", "until is not after since, %s", since.Format(time.RFC3339))
	}
	all, err := r.view.Summaries(r.Context(), task, since, until)
	if err == nil && len(all) == 0 && task != "" {
		err = r.knownTask(task)
	}
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(s state.Summary) bool {
		t, err := view.FindTask(r.schedule, s.Task)
		return len(tags) > 0 && (err != nil || !hasTag(t, tags))
	})
	return pageOf(view.SummariesOf(all), cursor{}), nil
}

// knownTask returns an error for a task that is neither in the schedule nor in the history.
func (r *request) knownTask(name string) error {
	_, err := view.FindTask(r.schedule, name)
	if err == nil {
		return nil
	}
	all, rerr := r.view.Records(r.Context())
	if rerr != nil {
		return rerr
	}
	defer all.Close()
	if found, rerr := all.Find(r.Context(), state.Query{Task: name, Limit: 1}); rerr != nil || len(found) > 0 {
		return rerr
	}
	return err
}

// historyQuery reads the parameters of a list of runs.
func (r *request) historyQuery() (q state.Query, err error) {
	below := r.query.cursor
	if (below.item != "") == below.at.IsZero() {
		return q, madeUp()
	}
	q = state.Query{
		Task: r.query.Get("task"), Since: r.query.times["since"], Until: r.query.times["until"], Limit: int(r.query.numbers["limit"]),
		Below: state.Position{Slot: below.at, ID: below.item},
	}
	for _, word := range r.query.Values["outcome"] {
		o, ok := outcome.Parse(word)
		if !ok {
			return q, NewProblem(http.StatusBadRequest, "the outcomes are "+outcomeList(), "outcome %q is not an outcome", Shortened(word))
		}
		q.Outcomes = append(q.Outcomes, o)
	}
	return q, nil
}

func outcomeList() string {
	var words []string
	for _, o := range outcome.All {
		words = append(words, strings.ReplaceAll(string(o), " ", "-"))
	}
	return strings.Join(words, ", ")
}

func getRun(r *request) (any, error) { return r.run() }

func (r *request) run() (view.Run, error) {
	id := r.PathValue("id")
	if len(id) < 4 {
		return view.Run{}, NewProblem(http.StatusNotFound, "write at least four characters of its id", "there is no run %q", id)
	}
	return r.view.Run(r.Context(), id)
}

// leastID is the shortest part of an id with which a run may be changed: the first 48 bits of an id
// are the time, so a shorter part soon stands for another run, too.
const leastID = 12

// runToChange is run for requests that change something.
func (r *request) runToChange() (view.Run, error) {
	if id := r.PathValue("id"); len(id) < leastID {
		return view.Run{}, NewProblem(http.StatusBadRequest, "write the whole id, as the list of runs has it", "%q is too short for the id of a run to change", id)
	}
	return r.run()
}

// mostLog is the most bytes of one part of a log.
const mostLog = 1 << 20

func getLog(r *request) (any, error) {
	one, err := r.run()
	if err != nil {
		return nil, err
	}
	log, err := r.view.Log(one, r.query.is("hooks"), r.query.numbers["offset"], min(r.query.numbers["tail"], mostLog), mostLog)
	if err != nil {
		return nil, err
	}
	if log.Text == nil {
		log.Text = []byte{}
	}
	return content{text: log.Text, header: map[string]string{
		"Sched-Log-Size": strconv.FormatInt(log.Size, 10), "Sched-Log-Offset": strconv.FormatInt(log.Offset, 10),
		"Content-Disposition": `inline; filename="` + filepath.Base(one.Record.Run) + `.log"`,
	}}, nil
}

func getServers(r *request) (any, error) {
	all, err := r.view.Servers(r.Context())
	if err != nil {
		return nil, err
	}
	return pageOf(view.ServersOf(all), cursor{}), nil
}

// A Pausing is a pause with the id by which it is ended.
type Pausing struct {
	ID string `json:"id"` // the name of the task, or everything
	view.TaskPause
}

// everything is the id of the pause of all tasks.
const everything = "everything"

func getPauses(r *request) (any, error) { return pageOf(r.pausings(), cursor{}), nil }

func (r *request) pausings() (all []Pausing) {
	inSchedule := func(task string) bool { _, err := view.FindTask(r.schedule, task); return err == nil }
	for _, p := range view.PausesInEffect(r.view.Pauses(), inSchedule, r.server.Now()) {
		id := p.Task
		if p.Everything {
			id = everything
		}
		all = append(all, Pausing{id, p})
	}
	return all
}
