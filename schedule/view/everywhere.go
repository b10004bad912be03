package view

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/cluster"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/placement"
	"sched/schedule/state"
)

// slotElsewhere says what became of a slot of a one_server task on the other servers of the store.
// It returns "" if the task runs on every server, and if the slot ran here or is yet to come. If
// the store does not answer, it reports that and returns "".
func (w *Inquiry) slotElsewhere(ctx context.Context, at time.Time, records []Record) string {
	s := w.source
	store := s.Controls.Store
	ranHere := slices.ContainsFunc(records, func(r Record) bool {
		return slices.Contains(outcome.Ran, outcome.Outcome(r.Outcome))
	})
	ofSlot := func(row state.Row) bool { return w.isOf(row, at) }
	liveHere := slices.ContainsFunc(slices.Concat(w.Live, w.lost, w.deferred), ofSlot)
	if store == nil || !w.Task.OneServer || ranHere || liveHere || at.After(w.Now) {
		return ""
	}
	live, err := RunningElsewhere(ctx, s)
	var ended []state.Row
	if err == nil {
		query := state.Query{Task: w.Task.Name, Outcomes: outcome.Ran, Since: at, Until: at.Add(time.Second)}
		ended, err = cluster.Recent(ctx, store, s.Server, query, cluster.MaxRuns)
	}
	if err != nil {
		s.LeftOut(err)
		return ""
	}
	for _, r := range ended {
		if r.Origin == "" && r.Slot.Equal(at) {
			return fmt.Sprintf("on %s it %s (run %s)", r.Server, Describe(r), humanize.ShortRun(r.ID))
		}
	}
	if i := slices.IndexFunc(live, ofSlot); i >= 0 {
		return fmt.Sprintf("on %s %s", live[i].Server, RunningText(live[i], w.Now))
	}
	key := cluster.Key(schedule.Slot{Task: w.Task, At: at})
	claims, err := store.Claims(ctx, key)
	if holder, claimed := claims[key]; claimed && holder.Host != s.Server {
		return fmt.Sprintf("%s has claimed it (run %s), and has not told yet what became of it",
			holder.Host, humanize.ShortRun(holder.Run))
	}
	if err != nil || w.Now.Sub(at) < time.Minute {
		return ""
	}
	return "no other server has told that it ran there"
}

// RanElsewhere returns the runs of other servers for slots that did not run here. It looks only at
// records of one_server tasks, and the id of the record is the key of the map. A run that lives has
// no outcome; of ended runs it searches the last thousand. When the store does not answer it
// reports that and returns nil.
func RanElsewhere(ctx context.Context, s Source, rows []state.Row) map[string]state.Row {
	store := s.Controls.Store
	if store == nil {
		return nil
	}
	wanted := map[schedule.Slot]string{} // the ids of the records
	var since time.Time
	shared := map[string]*schedule.Task{}
	for _, t := range s.Schedule.Tasks {
		if t.OneServer {
			shared[t.Name] = t
		}
	}
	for _, r := range rows {
		if t := shared[r.Task]; t != nil && !r.Ran() && !r.IsRange() && r.Origin == "" {
			wanted[schedule.Slot{Task: t, At: r.Slot.UTC()}] = r.ID
			if since.IsZero() || r.Slot.Before(since) {
				since = r.Slot
			}
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	live, err := RunningElsewhere(ctx, s) // before the ended runs: a run that ends meanwhile is in at least one of them
	var ended []state.Row
	if err == nil {
		query := state.Query{Outcomes: outcome.Ran, Since: since}
		ended, err = cluster.Recent(ctx, store, s.Server, query, cluster.PageSize)
	}
	if err != nil {
		s.LeftOut(err)
		return nil
	}
	found := map[string]state.Row{}
	for _, r := range slices.Concat(live, ended) {
		record := wanted[schedule.Slot{Task: shared[r.Task], At: r.Slot.UTC()}]
		if record != "" && r.Origin == "" && r.Server != s.Server {
			found[record] = r
		}
	}
	return found
}

func (w *Inquiry) isOf(row state.Row, at time.Time) bool {
	return row.Task == w.Task.Name && row.Slot.Equal(at) && row.Origin == ""
}

// unserved returns a trouble for each task whose `servers` match no server that ticked lately.
func unserved(ctx context.Context, s Source, of *Health) (rows []Trouble) {
	asks := func(t *schedule.Task) bool { return len(t.Servers) > 0 }
	if s.Controls.Store == nil || of.Outage != nil || !slices.ContainsFunc(of.Schedule.Tasks, asks) {
		return nil
	}
	all, err := cluster.List(ctx, s.Controls.Store)
	if err != nil || len(all) == 0 { // no outage yet; no ticks is a row of its own
		return nil
	}
	var machines []placement.Machine
	var ticking []string
	for _, server := range all {
		machine := placement.Machine{Name: server.Name, Labels: server.Labels}
		machines, ticking = append(machines, machine), append(ticking, machine.String())
	}
	ticking = slices.Compact(ticking)
	for _, t := range of.Schedule.Tasks {
		isFor := func(m placement.Machine) bool { return m.IsAny(t.Servers) }
		if !asks(t) || !of.Schedule.InUse(t) || slices.ContainsFunc(machines, isFor) {
			continue
		}
		rows = append(rows, Trouble{
			Task:    t.Name,
			Trouble: "unserved",
			Text: fmt.Sprintf("no server runs it: servers is %s, and those that tick are %s",
				strings.Join(t.Servers, ", "), strings.Join(ticking, "; ")),
			Next: "sched servers" + s.Config,
		})
	}
	return rows
}

// nowhere returns a trouble for each one_server task whose newest slot is open here (see leftOpen).
// It leaves out tasks of which a server of the store is known to have run or claimed that slot or a
// later one.
func nowhere(ctx context.Context, s Source, of *Health) (rows []Trouble) {
	store := s.Controls.Store
	if store == nil || of.Outage != nil {
		return nil
	}
	candidates := map[string]state.Total{}
	var names, keys []string
	for _, t := range of.Tasks {
		if slot, ok := leftOpen(ctx, s, t); ok {
			candidates[t.Name] = slot
			names, keys = append(names, t.Name), append(keys, cluster.Key(schedule.Slot{Task: t.Task, At: slot.Slot}))
		}
	}
	if len(names) == 0 {
		return nil
	}
	last, err := cluster.Last(ctx, store, s.Server, names)
	live, lerr := RunningElsewhere(ctx, s)
	claims, cerr := store.Claims(ctx, keys...)
	if err != nil || lerr != nil || cerr != nil {
		return nil // the next tick notes the outage, if it is one
	}
	for i, name := range names {
		slot := candidates[name]
		lives := slices.ContainsFunc(live, func(row state.Row) bool {
			return row.Task == name && !row.Slot.Before(slot.Slot)
		})
		if _, claimed := claims[keys[i]]; claimed || lives || !last[name].Slot.Before(slot.Slot) {
			continue
		}
		rows = append(rows, Trouble{
			Task:    name,
			Trouble: "nowhere",
			Text: fmt.Sprintf("due at %s, and ran on no server: it was %s here",
				humanize.MinuteZone(slot.Slot, of.Schedule.Location), slot.Outcome),
			Run:  slot.Run,
			Next: "sched why" + s.Config + " " + name,
		})
	}
	return rows
}

// leftOpen returns the newest slot of a one_server task on this machine. It returns false unless
// the slot was missed, or was skipped because another server may have run it.
func leftOpen(ctx context.Context, s Source, t TaskHealth) (newest state.Total, ok bool) {
	if !t.OneServer || len(t.Running) > 0 {
		return newest, false
	}
	for _, total := range t.Totals {
		if total.Slot.After(newest.Slot) {
			newest = total
		}
	}
	switch newest.Outcome {
	case outcome.Missed:
		return newest, true
	case outcome.Skipped:
		query := state.Query{Task: t.Name, Outcomes: []outcome.Outcome{outcome.Skipped}, Limit: 1}
		found, _, err := s.Page(ctx, query)
		if err != nil || len(found) == 0 {
			return newest, false
		}
		return newest, found[0].Slot.Equal(newest.Slot) && found[0].Kind == outcome.StoreDown
	}
	return newest, false
}
