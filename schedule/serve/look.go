package serve

import (
	"cmp"
	"fmt"
	"html"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/humanize"
	"sched/schedule/load"
	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/proposal"
	"sched/schedule/statedir"
	"sched/schedule/view"
	"sched/schedule/yamldoc"
)

func getStatus(r *Visit) (any, error) {
	health := view.HealthOf(r.Schedule, r.Invalid != nil, r.server.Now())
	health.AskStore(r.Context(), r.View.Controls.Store, r.View.Server)
	status := view.StatusOf(r.View, health)
	waiting, err := proposal.All(r.Schedule.StateDir, r.server.Now())
	if err != nil {
		r.noteMissing("the proposals: %v", err)
	}
	status.Proposals = len(waiting)
	return status, nil
}

func getTasks(r *Visit) (any, error) {
	chosen, more, err := taggedAfter(r.Schedule, r.query.Values["tag"], r.query.cursor, int(r.query.numbers["limit"]))
	if err != nil {
		return nil, err
	}
	var next cursor
	if more {
		next.item = chosen[len(chosen)-1].Name
	}
	shown := func(t *schedule.Task) bool { return slices.Contains(chosen, t) }
	tasks := view.ListTasks(r.Context(), r.View, shown, r.server.Now(), int(r.query.numbers["times"]))
	return pageOf(tasks.Items, next), nil
}

// taggedAfter returns at most limit tasks with one of the tags (all for none) behind the cursor.
func taggedAfter(
	s *schedule.Schedule, tags []string, after cursor, limit int,
) (chosen []*schedule.Task, more bool, err error) {
	if err := control.CheckTags(s, tags); err != nil {
		return nil, false, err
	}
	rest := s.Tasks
	if after.item != "" {
		i := slices.IndexFunc(rest, func(t *schedule.Task) bool { return t.Name == after.item })
		if i < 0 {
			return nil, false, badCursor()
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

func getTask(r *Visit) (any, error) {
	if r.query.is("source") {
		return getSource(r)
	}
	t, err := view.FindTask(r.Schedule, r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	_, tag := r.server.keysAndTag(r.Schedule, t)
	// The schedule is read after the file. PUT refuses a tag that is older than the answer, and
	// with a newer one it would write over what nobody has seen.
	now, invalid, err := r.server.current.get()
	if err != nil {
		return nil, err
	}
	r.Invalid = invalid
	r.setSchedule(now)
	definition, err := definitionOf(r, t.Name)
	if err != nil {
		return nil, err
	}
	c := content{value: definition}
	if tag != "" {
		c.header = map[string]string{"ETag": tag}
	}
	return c, nil
}

// getSource answers with the keys of a task as they are written, without its name: putTask takes
// them. Values of the environment and targets of notifications are among them, so it is for callers
// who may edit.
func getSource(r *Visit) (any, error) {
	if r.server.Config.Edit == "" {
		return nil, notFound("start `sched serve` with --edit", "this server shows no source of tasks")
	}
	if !r.Who.Scope.Allows(ScopeEdit) {
		return nil, forbidden("make a token with `sched serve token --scope edit`",
			"%s may %s, and the source of a task needs edit", r.Who.Name, r.Who.Scope)
	}
	t, err := view.FindTask(r.Schedule, r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	c := content{kind: yamlText}
	if keys, tag := r.server.keysAndTag(r.Schedule, t); tag != "" {
		c.text, c.header = keys, map[string]string{"ETag": tag}
		return c, nil
	}
	text, err := statedir.ReadFile(fileOf(r.Schedule, t.Place))
	if err != nil {
		return nil, err
	}
	if c.text, err = yamldoc.KeysAt(text, t.Place.Line, t.Place.Column, "name"); err != nil {
		return nil, view.Fail(view.NotFound, "look at it there",
			"%s is defined at %s, and has no source of its own: %w", t.Name, view.Place(t), err)
	}
	return c, nil
}

func definitionOf(r *Visit, name string) (view.Definition, error) {
	t, err := view.FindTask(r.Schedule, name)
	if err != nil {
		return view.Definition{}, err
	}
	var usual time.Duration
	if all, err := r.View.Records(r.Context()); err == nil {
		if known, err := all.Usual(r.Context(), []string{name}); err == nil {
			usual = known[name].Duration
		}
		all.Close()
	}
	isIt := func(other *schedule.Task) bool { return other == t }
	tasks := view.ListTasks(r.Context(), r.View, isIt, r.server.Now(), 5)
	return view.DefinitionOf(t, tasks.Items[0], usual), nil
}

func getWhy(r *Visit) (any, error) {
	w, err := view.Explain(r.Context(), r.View, r.PathValue("name"), r.query.times["at"])
	if err != nil {
		return nil, err
	}
	return w.Answer, nil
}

// maxUpcomingSpan bounds the time whose slots one answer lists.
const maxUpcomingSpan = 366 * 24 * time.Hour

func getUpcoming(r *Visit) (any, error) {
	from, to, after := r.query.times["since"], r.query.times["until"], r.query.cursor
	if from.IsZero() {
		from = r.server.Now()
	}
	if to.IsZero() {
		to = from.Add(24 * time.Hour)
	}
	if !r.query.Has("since") && after.at.Before(from) && to.Sub(after.at) <= maxUpcomingSpan {
		from = after.at // the page before began when it was earlier
	}
	if !from.Before(to) || to.Sub(from) > maxUpcomingSpan {
		return nil, badRequest("", "the time from %s to %s is empty, or longer than a year",
			from.Format(time.RFC3339), to.Format(time.RFC3339))
	}
	if after != (cursor{}) && (after.at.Before(from) || !after.at.Before(to)) {
		return nil, badCursor()
	}
	slots, more := view.UpcomingSlots(r.View, from, to, view.Upcoming{Slot: humanize.UTC(after.at), Task: after.item},
		int(r.query.numbers["limit"]))
	var next cursor
	if more {
		last := slots[len(slots)-1]
		next = cursor{last.Slot.Time, last.Task}
	}
	return pageOf(slots, next), nil
}

func getForecast(r *Visit) (any, error) {
	since, until, length := r.query.times["since"], r.query.times["until"], r.query.Get("for")
	made, err := r.Forecast(since, until, length)
	if err != nil {
		return nil, err
	}
	return made.JSON(), nil
}

func getRuns(r *Visit) (any, error) {
	q, err := historyQuery(r)
	if err != nil {
		return nil, err
	}
	page := view.Source.Page
	if r.query.is("all_servers") {
		page = view.PageOfAll
	}
	records, next, err := page(r.View, r.Context(), q)
	if err == nil && len(records) == 0 && q.Task != "" {
		err = checkTaskKnown(r, q.Task)
	}
	waiting, waitErr := view.NotificationsWaiting(r.Context(), r.View)
	return pageOf(view.RecordsOf(records, waiting), cursor{next.Slot, next.ID}), cmp.Or(err, waitErr)
}

// historyQuery reads the parameters of a list of runs.
func historyQuery(r *Visit) (q past.Query, err error) {
	after := r.query.cursor
	if (after.item != "") == after.at.IsZero() { // a cursor has both, and no cursor has neither
		return q, badCursor()
	}
	q = past.Query{
		Task: r.query.Get("task"), Since: r.query.times["since"], Until: r.query.times["until"],
		Limit: int(r.query.numbers["limit"]),
		Below: past.Position{Slot: after.at, ID: after.item},
	}
	for _, word := range r.query.Values["outcome"] {
		o, ok := outcome.Parse(word)
		if !ok {
			return q, badRequest("the outcomes are "+strings.Join(outcome.Words(outcome.Filters), ", "),
				"outcome %q is not an outcome", Shortened(word))
		}
		q.Outcomes = append(q.Outcomes, o)
	}
	q.NoTests = len(q.Outcomes) > 0
	return q, nil
}

// defaultSummarySpan is the time that a summary is about, unless the request says so.
const defaultSummarySpan = 24 * time.Hour

func getSummary(r *Visit) (any, error) {
	since, until, task, tags := r.query.times["since"], r.query.times["until"],
		r.query.Get("task"), r.query.Values["tag"]
	if err := control.CheckTags(r.Schedule, tags); err != nil {
		return nil, err
	}
	if since.IsZero() {
		since = r.server.Now().Add(-defaultSummarySpan)
	}
	if !until.IsZero() && !since.Before(until) {
		return nil, badRequest("", "until is not after since, %s", since.Format(time.RFC3339))
	}
	all, err := view.Summaries(r.Context(), r.View, task, since, until)
	if err == nil && len(all) == 0 && task != "" {
		err = checkTaskKnown(r, task)
	}
	all = slices.DeleteFunc(all, func(s past.Summary) bool {
		t, err := view.FindTask(r.Schedule, s.Task)
		return len(tags) > 0 && (err != nil || !hasTag(t, tags))
	})
	return pageOf(view.SummariesOf(all), cursor{}), err
}

// checkTaskKnown returns an error for a task that is neither in the schedule nor in the history.
func checkTaskKnown(r *Visit, name string) error {
	_, taskErr := view.FindTask(r.Schedule, name)
	if taskErr == nil {
		return nil
	}
	records, err := r.View.Records(r.Context())
	if err != nil {
		return err
	}
	defer records.Close()
	found, err := records.Find(r.Context(), past.Query{Task: name, Limit: 1})
	if err != nil || len(found) > 0 {
		return err
	}
	return taskErr
}

func getRun(r *Visit) (any, error) { return r.runOf(r.PathValue("id")) }

// maxLogPart is the most bytes of one part of a log.
const maxLogPart = 1 << 20

func getLog(r *Visit) (any, error) {
	found, err := r.runOf(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	log, err := view.ReadLog(r.View, found, r.query.is("hooks"), r.query.numbers["offset"],
		min(r.query.numbers["tail"], maxLogPart), maxLogPart)
	if err != nil {
		return nil, err
	}
	if log.Text == nil {
		log.Text = []byte{}
	}
	return content{text: log.Text, header: map[string]string{
		"Sched-Log-Size": strconv.FormatInt(log.Size, 10), "Sched-Log-Offset": strconv.FormatInt(log.Offset, 10),
		"Sched-Log-Next":      strconv.FormatInt(log.Next, 10),
		"Content-Disposition": `inline; filename="` + filepath.Base(found.Record.Run) + `.log"`,
	}}, nil
}

func getLogStream(r *Visit) (any, error) {
	shown, err := view.FindRun(r.Context(), r.View, r.PathValue("id"))
	if err == nil {
		err = shown.Elsewhere("logs")
	}
	if err != nil {
		return nil, err
	}
	offset := r.query.numbers["offset"]
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		if offset, err = strconv.ParseInt(last, 10, 64); err != nil || offset < 0 {
			return nil, badRequest("leave it out to begin at the beginning", "Last-Event-ID is not one of this stream")
		}
	}
	return content{stream: func(e *eventStream) { followLog(e, r.View, shown, offset) }}, nil
}

func getEvents(r *Visit) (any, error) {
	last := r.Header.Get("Last-Event-ID")
	if len(last) > 100 {
		return nil, badRequest("", "Last-Event-ID is too long")
	}
	return content{stream: func(e *eventStream) { followChanges(e, last, r.server) }}, nil
}

func getServers(r *Visit) (any, error) {
	all, err := view.Servers(r.Context(), r.View)
	return pageOf(view.ServersOf(all), cursor{}), err
}

func getPauses(r *Visit) (any, error) { return pageOf(r.Pauses(), cursor{}), nil }

func getAudit(r *Visit) (any, error) {
	changes, more, err := r.server.Changes(r.query.cursor.item, int(r.query.numbers["limit"]))
	var next cursor
	if more {
		next.item = changes[len(changes)-1].ID
	}
	return pageOf(changes, next), err
}

func getDocument(r *Visit) (any, error) { return content{text: r.server.openapi}, nil }

func getSchema(*Visit) (any, error) { return content{text: load.Schema()}, nil }

type health struct {
	Status string `json:"status"`
}

func getHealth(*Visit) (any, error) { return health{"ok"}, nil }

func getMetrics(r *Visit) (any, error) {
	return content{text: view.Metrics(view.HealthOf(r.Schedule, r.Invalid != nil, r.server.Now()))}, nil
}

func getCalendar(r *Visit) (any, error) {
	if key := r.PathValue("key"); key != "" && !strings.HasSuffix(key, ".ics") {
		return nil, notFound("it ends in .ics", "there is no such calendar")
	}
	calendar, err := view.CalendarOf(r.Context(), r.View, r.server.Now(), r.query.Values["task"])
	return content{text: view.ICal(calendar)}, err
}

func getBadge(r *Visit) (any, error) {
	if !strings.HasSuffix(r.PathValue("key"), ".svg") {
		return nil, notFound("it ends in .svg", "there is no such picture")
	}
	t, err := view.FindTask(r.Schedule, r.Who.Task)
	if err != nil {
		return nil, err
	}
	word, colour := lastOutcome(r, t.Name)
	return content{text: []byte(badgeOf(t.Name, word, colour)),
		header: map[string]string{"Cross-Origin-Resource-Policy": "cross-origin"}}, nil
}

// lastOutcome returns how the last run of a task ended, and the colour for that.
func lastOutcome(r *Visit, task string) (word, colour string) {
	const unknown, grey, green, amber, red = "unknown", "#6b7280", "#15803d", "#b45309", "#b91c1c"
	records, err := r.View.Records(r.Context())
	if err != nil {
		return unknown, grey
	}
	defer records.Close()
	all, err := records.Last(r.Context(), []string{task})
	last := all[task]
	switch {
	case err != nil || last.ID == "":
		return unknown, grey
	case last.Wrong():
		return last.OutcomeText(), red
	case last.Warned(), last.Outcome == outcome.Stopped:
		return last.OutcomeText(), amber
	}
	return last.OutcomeText(), green
}

// badgeOf draws a badge: the name of the task, and how its last run ended, in words and in colour.
func badgeOf(name, word, colour string) string {
	const perLetter, around = 7, 12
	left, right := len(name)*perLetter+around, len(word)*perLetter+around
	name, word = html.EscapeString(name), html.EscapeString(word)
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="20" role="img" aria-label="%[4]s: %[5]s"><title>%[4]s: %[5]s</title>
<rect width="%[2]d" height="20" fill="#374151"/><rect x="%[2]d" width="%[3]d" height="20" fill="%[6]s"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">
<text x="%[7]d" y="14">%[4]s</text><text x="%[8]d" y="14">%[5]s</text></g></svg>
`, left+right, left, right, name, word, colour, left/2, left+right/2)
}
