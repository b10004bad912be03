package view

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/state"
)

// An Overview is what a team wants to know in the morning: what is wrong, what went wrong and what
// went well since the evening before, and what comes next.
type Overview struct {
	Status
	Since     time.Time // the evening before: see Evening
	Incidents []Incident
	More      int        // how many incidents are left out
	Unusual   []Incident // of each task the successes with a warning since the evening before
	Well      []Success
	MoreWell  int        // how many tasks that went well are left out
	WellRuns  int        // the runs of all tasks that succeeded, also of tasks that are not in Well
	Activity  Activity   // empty if the history cannot be read
	Next      []Upcoming // the next run of each task, the earliest first
}

// A Success is a task whose slots all went well since the evening before.
type Success struct {
	Task  string
	Runs  int
	Usual past.Usual
}

// An Incident is something that is wrong with a task, or that went wrong since the evening before.
type Incident struct {
	Trouble
	IsPast   bool       // it is not so any more
	Failures int        // how many of its last runs failed one after another, counted up to MaxFailures
	First    time.Time  // when the first of these ended
	Printed  []string   // the last lines that the run printed
	Tally    past.Tally // its runs since the evening before
	Tasks    []string   // if several tasks lack slots of one time: these tasks, and Task is empty
	NotSince []string   // of Tasks: those that have not run since
	failed   state.Row
	missed   TaskTrouble // the slots that were missed, or skipped because the store did not answer
	reason   string      // why they were skipped
}

const (
	maxIncidents = 20
	maxNext      = 8
	maxWell      = 10
	printedLines = 3
	eveningHour  = 18
)

// Evening returns 18:00 of the last working day before today, in the zone.
func Evening(now time.Time, zone *time.Location) time.Time {
	year, month, day := now.In(zone).Date()
	for {
		day--
		at := time.Date(year, month, day, eveningHour, 0, 0, 0, zone)
		if at.Weekday() != time.Saturday && at.Weekday() != time.Sunday {
			return at
		}
	}
}

// OverviewOf returns the overview for a Health. Its cost depends on the tasks and on the runs since
// the evening before, not on the length of the history.
func OverviewOf(ctx context.Context, s Source, h *Health) Overview {
	o := Overview{Status: StatusOf(s, h), Since: Evening(h.At, s.Schedule.Location), Next: nextOfEach(h)}
	for _, t := range o.Troubles {
		if t.Task != "" {
			o.Incidents = append(o.Incidents, Incident{Trouble: t, missed: h.missedOf(t)})
		}
	}
	all, err := s.Records(ctx)
	if err != nil { // a trouble says so
		o.add(nil, s.Schedule.Location)
		return o
	}
	defer all.Close()
	incidents, tallies, err := o.readPast(ctx, s, all, h)
	o.add(incidents, s.Schedule.Location)
	for i := range o.Incidents {
		o.Incidents[i].Tally = tallies[o.Incidents[i].Task]
	}
	if err == nil {
		err = addDetails(ctx, s, all, h, o.Incidents)
	}
	if err != nil {
		s.Problem("the history cannot be read: %v", err)
	}
	return o
}

// readPast reads the activity and what went well. It returns what went wrong since the evening
// before, and how many runs of each task failed and succeeded since then.
func (o *Overview) readPast(
	ctx context.Context, s Source, all *Records, h *Health,
) (incidents []Incident, tallies map[string]past.Tally, err error) {
	var reading errgroup.Group // both count many rows
	reading.Go(func() (err error) {
		tallies, err = all.Tallies(ctx, namesOf(h), o.Since)
		return err
	})
	reading.Go(func() (err error) {
		o.Activity, err = activityOf(ctx, all, h)
		return err
	})
	since := o.Since
	if begins := h.At.Add(-activityFor); begins.Before(since) {
		since = begins
	}
	query := past.Query{Since: since, Limit: maxRecent, Outcomes: []outcome.Outcome{outcome.Missed}}
	missed, err := all.Find(ctx, query)
	skipped, skippedErr := withoutStore(ctx, s, all, query)
	if err := cmp.Or(reading.Wait(), err, skippedErr); err != nil {
		return nil, nil, err
	}
	o.Activity.addMissed(missed)
	o.Activity.WithoutStore = countSlots(o.Activity.within(skipped))
	isEarlier := func(r state.Row) bool { return humanize.Later(r.Slot, r.LastSlot).Before(o.Since) }
	missed, skipped = slices.DeleteFunc(missed, isEarlier), slices.DeleteFunc(skipped, isEarlier)
	if o.Unusual, err = warningsSince(ctx, all, h, o.Since); err != nil {
		return nil, nil, err
	}
	if err := o.addSuccesses(ctx, all, h, tallies, byTask(slices.Concat(missed, skipped))); err != nil {
		return nil, nil, err
	}
	incidents, err = pastIncidents(ctx, all, h, o.Since, missed)
	o.addWithoutStore(h, byTask(skipped))
	return incidents, tallies, err
}

// addSuccesses adds the tasks that only succeeded, without a warning, and are in no trouble. Tasks
// with few runs come first: a backup of the night stands above a job of each minute.
func (o *Overview) addSuccesses(
	ctx context.Context, all *Records, h *Health, tallies map[string]past.Tally, notRun map[string][]state.Row,
) error {
	inTrouble := map[string]bool{}
	for _, t := range o.Troubles {
		inTrouble[t.Task] = true
	}
	for _, i := range o.Unusual {
		inTrouble[i.Task] = true
	}
	for _, t := range h.Tasks {
		tally := tallies[t.Name]
		o.WellRuns += tally.Succeeded
		if tally.Succeeded == 0 || tally.Failed > 0 || len(notRun[t.Name]) > 0 || inTrouble[t.Name] {
			continue
		}
		o.Well = append(o.Well, Success{Task: t.Name, Runs: tally.Succeeded})
	}
	slices.SortStableFunc(o.Well, func(a, b Success) int { return a.Runs - b.Runs })
	o.MoreWell = max(0, len(o.Well)-maxWell)
	o.Well = o.Well[:len(o.Well)-o.MoreWell]
	var names []string
	for _, w := range o.Well {
		names = append(names, w.Task)
	}
	usual, err := all.Usual(ctx, names)
	for i := range o.Well {
		o.Well[i].Usual = usual[o.Well[i].Task]
	}
	return err
}

// addWithoutStore adds an incident for each task with slots that were skipped because the store did
// not answer, whatever else is wrong with the task. It takes the place of the trouble that the
// newest of these slots ran on no server.
func (o *Overview) addWithoutStore(h *Health, skipped map[string][]state.Row) {
	for _, t := range h.Tasks {
		rows := skipped[t.Name]
		if len(rows) == 0 {
			continue
		}
		added := storeIncident(rows, h.Schedule.Location)
		o.Incidents = slices.DeleteFunc(o.Incidents, func(i Incident) bool {
			isSame := i.Task == t.Name && i.Kind == kindNowhere && i.Run == added.Run
			added.IsPast = added.IsPast && !isSame
			return isSame
		})
		o.Incidents = append(o.Incidents, added)
	}
}

// add adds the incidents of tasks that are in no trouble now, folds the slots that did not run, and
// cuts the list.
func (o *Overview) add(past []Incident, zone *time.Location) {
	inTrouble := map[string]bool{}
	for _, i := range o.Incidents {
		inTrouble[i.Task] = inTrouble[i.Task] || i.Kind != kindStoreDown
	}
	past = slices.DeleteFunc(past, func(i Incident) bool { return inTrouble[i.Task] })
	all := foldSlots(append(o.Incidents, past...), string(HasMissed), zone)
	o.Incidents = foldSlots(all, kindStoreDown, zone)
	o.More = max(0, len(o.Incidents)-maxIncidents)
	o.Incidents = o.Incidents[:len(o.Incidents)-o.More]
}

// foldSlots puts slots that did not run, as the kind says, behind everything else, in the order of
// their times. It makes one incident of tasks whose slots lie at overlapping times: ticks were
// missing, or the store, and a line for each task would hide what failed.
func foldSlots(all []Incident, kind string, zone *time.Location) (folded []Incident) {
	isOfKind := func(i Incident) bool { return i.Kind == kind }
	slots := slices.DeleteFunc(slices.Clone(all), func(i Incident) bool { return !isOfKind(i) })
	folded = slices.DeleteFunc(all, isOfKind)
	others := len(folded)
	slices.SortStableFunc(slots, func(a, b Incident) int { return a.missed.First.Compare(b.missed.First) })
	for _, i := range slots {
		if n := len(folded); n > others && !i.missed.First.After(folded[n-1].missed.Final) {
			folded[n-1] = joinSlots(folded[n-1], i, zone)
			continue
		}
		folded = append(folded, i)
	}
	return folded
}

// joinSlots joins the slots of two incidents of one kind. The first may be joined already.
func joinSlots(a, b Incident, zone *time.Location) Incident {
	joined := Incident{IsPast: a.IsPast && b.IsPast, missed: a.missed, reason: a.reason}
	joined.Kind = a.Kind
	joined.missed.Slots += b.missed.Slots
	joined.missed.Final = humanize.Later(a.missed.Final, b.missed.Final)
	joined.Text = slotsText(joined, zone)
	for _, i := range []Incident{a, b} {
		if len(i.Tasks) == 0 {
			i.Tasks = []string{i.Task}
			if !i.IsPast {
				i.NotSince = i.Tasks
			}
		}
		joined.Tasks = append(joined.Tasks, i.Tasks...)
		joined.NotSince = append(joined.NotSince, i.NotSince...)
	}
	return joined
}

// pastIncidents returns what went wrong since a time, at most one incident for each task. Tasks
// with runs that failed come first, then tasks with slots that were missed, then tasks whose last
// run was slow. missed are the slots that were missed since then.
func pastIncidents(
	ctx context.Context, all *Records, h *Health, since time.Time, missed []state.Row,
) ([]Incident, error) {
	failures, err := findFailures(ctx, all, past.Query{Since: since, Limit: maxRecent})
	if err != nil {
		return nil, err
	}
	slowTexts, err := slowLastRuns(ctx, all, h, since)
	if err != nil {
		return nil, err
	}
	failuresOf, missedOf := byTask(failures), byTask(missed)
	var withFailures, withMissed, withSlow []Incident
	for _, t := range h.Tasks {
		switch {
		case len(failuresOf[t.Name]) > 0:
			withFailures = append(withFailures, runsIncident(failuresOf[t.Name], h.At))
		case len(missedOf[t.Name]) > 0:
			withMissed = append(withMissed, missedIncident(missedOf[t.Name], h.Schedule.Location))
		case slowTexts[t.Name] != "":
			trouble := Trouble{Task: t.Name, Kind: string(RunsLong), Text: slowTexts[t.Name], Run: t.Last.ID}
			withSlow = append(withSlow, Incident{Trouble: trouble, IsPast: true})
		}
	}
	return slices.Concat(withFailures, withMissed, withSlow), nil
}

func byTask(rows []state.Row) map[string][]state.Row {
	tasks := map[string][]state.Row{}
	for _, r := range rows {
		tasks[r.Task] = append(tasks[r.Task], r)
	}
	return tasks
}

// runsIncident returns the incident of runs of a task that ended alike, given newest first.
func runsIncident(rows []state.Row, now time.Time) Incident {
	last := rows[0]
	text := "once"
	if len(rows) > 1 {
		text = fmt.Sprintf("%d times", len(rows))
	}
	text += ", the last " + humanize.Age(last.Ended, now) + " ago"
	if last.Reason != "" {
		text += " (" + last.Reason + ")"
	}
	trouble := Trouble{Task: last.Task, Kind: last.OutcomeText(), Text: text, Run: last.ID}
	return Incident{Trouble: trouble, IsPast: true, failed: last}
}

// warningsSince returns an incident for each task with successes with a warning since a time, in
// the order of the tasks. Its text has the last reason.
func warningsSince(ctx context.Context, all *Records, h *Health, since time.Time) (incidents []Incident, err error) {
	query := past.Query{Since: since, Limit: maxRecent, Outcomes: []outcome.Outcome{outcome.Warned}}
	rows, err := all.Find(ctx, query)
	warned := byTask(slices.DeleteFunc(rows, func(r state.Row) bool { return r.Test }))
	for _, t := range h.Tasks {
		if len(warned[t.Name]) > 0 {
			incidents = append(incidents, runsIncident(warned[t.Name], h.At))
		}
	}
	return incidents[:min(maxIncidents, len(incidents))], err
}

// missedIncident returns the incident of records of missed slots of a task, given newest first.
func missedIncident(rows []state.Row, zone *time.Location) Incident {
	missed := TaskTrouble{Kind: HasMissed, Task: rows[0].Task}
	missed.addMissed(rows)
	trouble := Trouble{Task: missed.Task, Kind: string(HasMissed), Text: missedText(missed, zone)}
	return Incident{Trouble: trouble, IsPast: true, missed: missed}
}

// kindStoreDown is the kind of an Incident about slots that were skipped because the store did not
// answer.
const kindStoreDown = "store down"

// storeIncident returns the incident of a task whose slots were skipped because the store did not
// answer, given newest first.
func storeIncident(rows []state.Row, zone *time.Location) Incident {
	skipped := TaskTrouble{Task: rows[0].Task}
	skipped.addMissed(rows)
	i := Incident{IsPast: true, missed: skipped, reason: rows[0].Reason}
	i.Trouble = Trouble{Task: skipped.Task, Kind: kindStoreDown, Run: rows[0].ID}
	i.Text = slotsText(i, zone)
	return i
}

// slotsText says which slots an incident is about: missed ones, or skipped ones, and why.
func slotsText(i Incident, zone *time.Location) string {
	if i.Kind == kindStoreDown {
		return slotsTextOf("skipped", i.missed, zone) + ": " + i.reason
	}
	return missedText(i.missed, zone)
}

// findFailures returns the failed runs among the rows of a query, without runs of `sched test`.
func findFailures(ctx context.Context, all *Records, q past.Query) ([]state.Row, error) {
	q.Outcomes, q.NoTests = outcome.Failures, true
	rows, err := all.Find(ctx, q)
	return slices.DeleteFunc(rows, func(r state.Row) bool { return !r.Wrong() }), err
}

// slowLastRuns says how long the last runs took that were slow and have ended since a time, by
// task.
func slowLastRuns(ctx context.Context, all *Records, h *Health, since time.Time) (map[string]string, error) {
	took := map[string]time.Duration{}
	var names []string
	for _, t := range h.Tasks {
		if d := t.Last.Duration(); d > slowLeast && !t.Last.Ended.Before(since) {
			took[t.Name], names = d, append(names, t.Name)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	usual, err := all.Usual(ctx, names)
	texts := map[string]string{}
	for name, d := range took {
		if isSlow(d, usual[name]) {
			texts[name] = fmt.Sprintf("its last run took %s, usually %s",
				humanize.Duration(d), humanize.Duration(usual[name].Duration))
		}
	}
	return texts, err
}

// addDetails adds to the incidents of failed runs what the last run printed. If the task is still
// in trouble, it adds how many runs failed in a row, and since when.
func addDetails(ctx context.Context, s Source, all *Records, h *Health, incidents []Incident) error {
	tasks := map[string]TaskHealth{}
	for _, t := range h.Tasks {
		tasks[t.Name] = t
	}
	for n := range incidents {
		i := &incidents[n]
		if !outcome.Outcome(i.Kind).Failure() {
			continue
		}
		if !i.IsPast {
			if err := i.addFailures(ctx, all, tasks[i.Task], s); err != nil {
				return err
			}
		}
		i.Printed = lastLines(s, i.failed)
	}
	return nil
}

// addFailures adds the failures of a task here since its last success, here or on another server.
func (i *Incident) addFailures(ctx context.Context, all *Records, t TaskHealth, s Source) error {
	if t.Last.Server != "" && t.Last.Server != s.Server { // what it printed is there
		i.Failures, i.First = 1, t.Last.Ended
		return nil
	}
	query := past.Query{Task: i.Task, Limit: MaxFailures}
	for _, total := range t.Totals {
		if total.Outcome == outcome.Succeeded {
			query.Since = total.Slot.Add(time.Microsecond) // Since includes its time: not the success itself
		}
	}
	for _, other := range runsElsewhere(ctx, s, t.Task, query.Since) {
		if other.Outcome == outcome.Succeeded {
			query.Since = humanize.Later(query.Since, other.Slot.Add(time.Microsecond))
		}
	}
	failures, err := findFailures(ctx, all, query)
	if i.Failures = len(failures); i.Failures > 0 {
		first := slices.MinFunc(failures, func(a, b state.Row) int { return a.Ended.Compare(b.Ended) })
		i.failed, i.First = failures[0], first.Ended
	}
	return err
}

// lastLines returns the last lines that a run printed, without those that are empty.
func lastLines(s Source, r state.Row) (lines []string) {
	const tail = 4 << 10
	log, err := ReadLog(s, Run{Row: r}, false, 0, tail, tail)
	if err != nil || r.Output == "" {
		return nil
	}
	for line := range strings.Lines(humanize.Plain(string(log.Text))) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines[max(0, len(lines)-printedLines):]
}

// nextOfEach returns the next run of each active task, as far as time and pauses decide: the first
// of all tasks.
func nextOfEach(h *Health) (next []Upcoming) {
	for _, t := range h.Tasks {
		if at, ok := nextRun(t.Task, h.At, h.Pauses); ok {
			next = append(next, Upcoming{Task: t.Name, Slot: humanize.UTC(at)})
		}
	}
	slices.SortStableFunc(next, func(a, b Upcoming) int { return a.Slot.Compare(b.Slot.Time) })
	return next[:min(maxNext, len(next))]
}
