package web

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/past"
	"sched/schedule/state"
	"sched/schedule/view"
)

const runsOfAPage = 50

// A runList lists the outcomes of slots.
type runList struct {
	*page
	OfAll        bool // it has the runs of all servers of the store
	WithTask     bool // the lines name their tasks
	OutcomeChips []chip
	Lines        []runLine
	Down         moment // down to which nothing was found, if there are no lines
	Newest       string // the link to the first page; "" on it
	Older        string // the link to the next page; "" on the last one
}

// A runLine is a line of the list: a record, or the newest of several skips that follow each other.
type runLine struct {
	state.Row
	List   *runList
	Why    string
	Other  *otherRun // the run of another server for the slot; nil for none
	Folded int       // for how many slots the line stands; 0 for a record

	Oldest       time.Time // the slot of the oldest skip
	Tasks        int       // how many tasks the skips are of
	OtherReasons int       // how many reasons they have besides the newest
}

// OriginText says how many attempts there were, if more than one, and who asked for the run.
func (r runLine) OriginText() string {
	if r.Attempt.Number < 2 {
		return r.Origin
	}
	attempts := humanize.Count(r.Attempt.Number, "attempt")
	if r.Origin == "" {
		return attempts
	}
	return attempts + "; " + r.Origin
}

// readRuns reads the outcomes of slots, by the parameters task, outcome, since and until (days), q
// (words), all_servers (true: runs of all servers of the store) and below.
func readRuns(p *page) (*runList, error) {
	p.title = "Runs"
	return newRunList(p, p.Query("task"), runsOfAPage)
}

// newRunList reads a page of the list. task is the only task of the list; "" for all.
func newRunList(p *page, task string, limit int) (*runList, error) {
	l := &runList{page: p, WithTask: task == ""}
	l.OfAll = p.View.Controls.Store != nil && p.Query("all_servers") == "true"
	l.OutcomeChips = append(l.OutcomeChips, p.Chip("outcome", "", "all", 0))
	for _, o := range outcome.Filters {
		if !l.OfAll || o != outcome.Skipped && o != outcome.Missed && o != outcome.NoStore {
			l.OutcomeChips = append(l.OutcomeChips,
				p.Chip("outcome", outcome.Words([]outcome.Outcome{o})[0], string(o), 0))
		}
	}
	q, err := l.query(task, limit)
	if err != nil {
		return l, err
	}
	read := recordReader(view.Source.Page)
	if l.OfAll {
		read = view.PageOfAll
	}
	records, next, err := read.matching(p.request.Context(), p.View, q, strings.Fields(strings.ToLower(p.Query("q"))))
	if err != nil {
		return l, err
	}
	l.addLines(records)
	l.Down = p.Exact(next.Slot, "")
	if p.Query("below") != "" {
		l.Newest = p.With("below", "")
	}
	if next.ID != "" {
		l.Older = p.With("below", positionText(next))
	}
	return l, nil
}

// ServerChips lead from the runs of this server to the runs of all servers, and back. They need a
// store.
func (l *runList) ServerChips() []chip {
	if l.View.Controls.Store == nil {
		return nil
	}
	return []chip{
		{URL: l.With("all_servers", "", "below", ""), Label: "this server", Current: !l.OfAll},
		{URL: l.With("all_servers", "true", "below", "", "outcome", ""), Label: "all servers", Current: l.OfAll},
	}
}

// query is the query that the parameters state.
func (l *runList) query(task string, limit int) (q past.Query, err error) {
	q = past.Query{Task: task, Limit: limit, Below: positionOf(l.Query("below"))}
	if o, ok := outcome.Parse(l.Query("outcome")); ok {
		q.Outcomes = []outcome.Outcome{o}
	}
	q.NoTests = len(q.Outcomes) > 0
	if q.Since, err = l.day("since"); err != nil {
		return q, err
	}
	if q.Until, err = l.day("until"); err == nil && !q.Until.IsZero() {
		q.Until = q.Until.AddDate(0, 0, 1) // the whole day
	}
	return q, err
}

// addLines adds a line for each record, and one line for skips that follow each other.
func (l *runList) addLines(records []state.Row) {
	elsewhere := view.RanElsewhere(l.request.Context(), l.View, records)
	for len(records) > 0 {
		n := l.countFoldable(records, elsewhere)
		if n >= minFolded {
			l.Lines = append(l.Lines, l.folded(records[:n]))
		} else {
			n = 1
			l.Lines = append(l.Lines, l.line(records[0], elsewhere[records[0].ID]))
		}
		records = records[n:]
	}
}

// minFolded is the fewest skips in a row that become one line.
const minFolded = 3

// countFoldable counts the records, from the first on, that are skips that can be one line: they
// are of one task or have one reason, and ran nowhere else. Somebody who asks for skips sees each.
func (l *runList) countFoldable(records []state.Row, elsewhere map[string]state.Row) (n int) {
	if l.Query("outcome") != "" {
		return 0
	}
	isSkip := func(r state.Row) bool {
		_, ran := elsewhere[r.ID]
		return r.Outcome == outcome.Skipped && !ran
	}
	first := records[0]
	oneTask, oneReason := true, true
	for n < len(records) && isSkip(records[n]) {
		oneTask = oneTask && records[n].Task == first.Task
		oneReason = oneReason && records[n].Reason == first.Reason
		if !oneTask && !oneReason {
			break
		}
		n++
	}
	return n
}

// folded returns a line that stands for skips.
func (l *runList) folded(records []state.Row) runLine {
	tasks, reasons, slots := map[string]int{}, map[string]int{}, 0
	for _, r := range records {
		tasks[r.Task]++
		reasons[r.Reason]++
		slots += max(1, r.Slots)
	}
	return runLine{Row: records[0], List: l, Folded: slots, Oldest: records[len(records)-1].Slot,
		Tasks: len(tasks), OtherReasons: len(reasons) - 1}
}

// EachURL leads to a list that has each of the skips for which the line stands.
func (r runLine) EachURL() string {
	above := positionText(past.Position{Slot: r.Slot.Add(time.Microsecond)}) // just above the newest of them
	return r.List.With("outcome", string(outcome.Skipped), "below", above)
}

// line returns the line of a record. elsewhere is the run of another server for the slot; the zero
// Row for none. The line says only once that another server took the slot.
func (l *runList) line(r, elsewhere state.Row) runLine {
	made := runLine{Row: r, List: l, Why: r.Reason}
	if elsewhere.ID != "" {
		made.Other = l.otherRun(elsewhere)
		made.Why += ";"
		if r.Kind == outcome.Elsewhere {
			made.Why = ""
		}
	}
	return made
}

// LastText is the last slot of a record of several.
func (r runLine) LastText() string { return humanize.SlotZone(r.LastSlot, r.List.zoneOf(r.Task)) }

// A recordReader is view.Source.Page or view.PageOfAll.
type recordReader func(view.Source, context.Context, past.Query) ([]state.Row, past.Position, error)

// maxReads bounds how often matching reads MaxPageSize records for one page.
const maxReads = 10

// matching returns a page of the records that have all of the words in their task, their reason,
// their origin or their notes. If few records have them, the page is short, and the next page goes
// on where this one stopped looking.
func (read recordReader) matching(
	ctx context.Context, source view.Source, q past.Query, words []string,
) (found []state.Row, next past.Position, err error) {
	if len(words) == 0 {
		return read(source, ctx, q)
	}
	limit := q.Limit
	q.Limit = view.MaxPageSize
	for range maxReads {
		records, below, err := read(source, ctx, q)
		if err != nil {
			return nil, next, err
		}
		for _, r := range records {
			if !hasWords(r, words) {
				continue
			}
			if len(found) == limit { // so there is a next page
				last := found[limit-1]
				return found, past.Position{Slot: last.Slot, ID: last.ID}, nil
			}
			found = append(found, r)
		}
		if below.ID == "" {
			return found, below, nil
		}
		q.Below, next = below, below
	}
	return found, next, nil
}

// hasWords reports whether a record has all of the words, which are in lower case.
func hasWords(r state.Row, words []string) bool {
	texts := append([]string{r.Task, view.Describe(r), r.Reason, r.Origin}, r.Notes...)
	text := strings.ToLower(strings.Join(texts, " "))
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
}

// positionOf reads the position at which a list goes on. A text that was made up means the
// beginning.
func positionOf(text string) past.Position {
	at, run, ok := strings.Cut(text, ".")
	n, err := strconv.ParseInt(at, 10, 64)
	slot := time.UnixMicro(n).UTC()
	if !ok || err != nil || slot.Year() < 1 || slot.Year() > 9999 {
		return past.Position{}
	}
	return past.Position{Slot: slot, ID: run}
}

// positionText returns the text that positionOf reads.
func positionText(p past.Position) string {
	return strconv.FormatInt(p.Slot.UnixMicro(), 10) + "." + p.ID
}
