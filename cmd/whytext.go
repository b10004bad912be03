package cmd

import (
	"fmt"
	"time"

	"sched/schedule"
	"sched/schedule/outcome"
	"sched/schedule/text"
	"sched/schedule/view"
)

// printWhy prints the answer for people.
func (a whyCommand) printWhy(s *schedule.Schedule, w *view.Inquiry) {
	answer := w.Answer
	if answer.Minute != nil {
		a.printMinute(w, answer.Minute, answer.Off)
		return
	}
	if answer.Off != "" {
		fmt.Fprintf(a.out, "%s is not due: it is %s\n", answer.Task, answer.Off)
	}
	if last := answer.Last; last != nil && (last.Due || len(last.Others) > 0) {
		a.printMinute(w, last, answer.Off)
	}
	a.printRunning(s, w)
	if answer.Off != "" {
		return
	}
	if next := answer.Next; next != nil && (answer.Last == nil || next.Minute != answer.Last.Minute) {
		a.printMinute(w, next, "")
	}
	a.printObstacles(w, answer)
}

// printMinute prints what there is to say about one minute. Off is why the task does not run at all; else empty.
func (a whyCommand) printMinute(w *view.Inquiry, m *view.Minute, off string) {
	verb, far := "was", fmt.Sprintf(" (%s ago)", text.Duration(w.Now.Sub(m.At)))
	if m.At.After(w.Now) {
		verb, far = "will be", fmt.Sprintf(" (in %s)", text.Duration(m.At.Sub(w.Now)))
	}
	switch {
	case !m.Due && verb == "was":
		verb = "was not"
	case !m.Due:
		verb = "will not be"
	}
	if off != "" {
		far += ": it is " + off + " now"
	}
	fmt.Fprintf(a.out, "%s %s due at %s%s\n", w.Task.Name, verb, w.Time(m.At), far)
	if m.Clock != "" {
		fmt.Fprintf(a.out, "  %s\n", m.Clock)
	}
	if m.Spread != "" {
		fmt.Fprintf(a.out, "  %s\n", m.Spread)
	}
	for _, v := range m.Reasons {
		if v.Due || !m.Due { // what does not match is no reason for being due
			fmt.Fprintf(a.out, "  %s: %s\n", v.Cron, v.Why)
		}
	}
	for _, slot := range m.Slots {
		a.printSlot(w, m, slot)
	}
	if len(m.Others) > 0 {
		fmt.Fprintln(a.out, "  recorded all the same, by hand or with the schedule of that time:")
		a.printRecords(w, m, m.Others, "  ")
	}
	a.printNeighbours(w, m)
}

// printNeighbours prints when the task was due before a minute at which it is not, and when it is next.
func (a whyCommand) printNeighbours(w *view.Inquiry, m *view.Minute) {
	for _, n := range []struct {
		what string
		at   *string
	}{{"before", m.Before}, {"after", m.After}} {
		if n.at != nil {
			at, _ := time.Parse(time.RFC3339, *n.at)
			fmt.Fprintf(a.out, "  due %s it at %s%s\n", n.what, w.Time(at), madeUp(w, at))
		}
	}
}

// madeUp names the skipped wall clock time for which the task is due at that instant; empty where there is none.
func madeUp(w *view.Inquiry, at time.Time) string {
	for _, v := range w.Task.When.Explain(at).Verdicts {
		if v.MadeUp {
			return ", for " + v.Wall.Format("15:04") + ", which did not exist"
		}
	}
	return ""
}

// printSlot prints what became of one slot, with its second where the minute has several or it is not at its start.
func (a whyCommand) printSlot(w *view.Inquiry, m *view.Minute, slot view.Slot) {
	prefix := "  "
	if len(m.Slots) > 1 || slot.At.Second() != 0 {
		prefix += slot.At.In(w.Task.When.Location).Format("15:04:05") + "  "
	}
	a.printRecords(w, m, slot.Records, prefix)
	if slot.Says != "" {
		fmt.Fprintf(a.out, "%s%s\n", prefix, slot.Says)
	}
}

// printRecords prints how each run ended, and below it the facts of its record.
func (a whyCommand) printRecords(w *view.Inquiry, m *view.Minute, records []view.Record, prefix string) {
	for _, record := range records {
		r := m.Ended[record.Run]
		fmt.Fprintf(a.out, "%s%s\n", prefix, a.stdout().Paint(toneOf(r.Outcome), text.Line(view.Describe(r))))
		t := a.stdout().Table()
		for _, fact := range a.facts(w, r) {
			t.Row("    "+fact[0], text.Line(fact[1]))
		}
		t.Flush()
	}
}

// facts are what a record says besides its outcome: pairs of a name and a text.
func (a whyCommand) facts(w *view.Inquiry, r outcome.Record) (facts [][2]string) {
	add := func(name, format string, args ...any) {
		facts = append(facts, [2]string{name, fmt.Sprintf(format, args...)})
	}
	if r.IsRange() {
		add("stands for", "%s, from %s to %s", text.Count(r.Slots, "slot"), w.Time(r.Slot), w.Time(r.Until))
	}
	if !r.Started.IsZero() {
		started := text.SecondZone(r.Started, w.Task.When.Location)
		if late := r.Started.Sub(r.Slot); r.Origin == "" && late > 0 {
			started += ", " + text.Duration(late) + " late"
		}
		add("started", "%s", started)
		add("ended", "%s", text.SecondZone(r.Ended, w.Task.When.Location))
	}
	if r.ExitCode != nil {
		add("exit code", "%d", *r.ExitCode)
	}
	if r.Attempts > 0 {
		add("attempts", "%d", r.Attempts)
	}
	add("server", "%s", r.Server)
	add("run", "%s", r.Run)
	if r.Output != "" {
		add("output", "sched logs%s %s", a.configFlag(), text.ShortRun(r.Run))
	}
	for _, note := range r.Notes {
		add("note", "%s", note)
	}
	return facts
}

// printRunning prints the live runs that are not of the last slot (they are of older ones, or by hand), and those that
// wait for a tick.
func (a whyCommand) printRunning(s *schedule.Schedule, w *view.Inquiry) {
	for _, state := range w.Live {
		last := w.Answer.Last
		old := last == nil || !state.Begin.Slot.Truncate(time.Minute).Equal(last.At.UTC())
		if state.Begin.Task == w.Task.Name && old {
			fmt.Fprintf(a.out, "%s, due at %s: %s\n", w.Task.Name, w.Time(state.Begin.Slot), view.RunningText(state, w.Now))
		}
	}
	for _, one := range w.Waiting {
		fmt.Fprintf(a.out, "%s is %s\n", w.Task.Name, one.Text(a.now(), w.Task.When.Location))
	}
}

// printObstacles prints what could keep the next run from starting, or that nothing is known to.
func (a whyCommand) printObstacles(w *view.Inquiry, answer view.Why) {
	said := false
	say := func(format string, args ...any) {
		said = true
		fmt.Fprintf(a.out, "  "+format+"\n", args...)
	}
	if answer.Next == nil {
		say("%s is never due again", answer.Task)
	}
	if answer.Free != nil {
		free, _ := time.Parse(time.RFC3339, *answer.Free)
		say("its conditions let it run again at %s", w.Time(free))
	}
	if answer.NoTicks != "" {
		say("%s, so it will not start", answer.NoTicks)
	}
	paused := answer.Next != nil && view.PauseOf(w.Pauses, w.Task, w.Next) != nil // which its slot says
	for _, words := range answer.Asks {
		say("right before it starts it asks %s", text.Line(words))
	}
	if answer.Down != "" {
		say("%s; it will be skipped if that is so then", answer.Down)
	}
	if answer.Held != "" {
		say("its mutex %s is held %s; it will be skipped if that goes on until then", w.Task.Mutex, answer.Held)
	}
	switch {
	case answer.Failures >= view.MostFailures:
		say("all of its last %d runs failed", answer.Failures)
	case answer.Failures > 1:
		say("its last %d runs failed", answer.Failures)
	case answer.Failures == 1:
		say("its last run failed")
	}
	if !said && !paused && w.Task.UnmetCondition(w.Next) == "" {
		say("nothing is known that would stop it")
	}
}
