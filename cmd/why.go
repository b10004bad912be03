package cmd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/state"
	"sched/schedule/view"
)

type whyOptions struct {
	at   string
	json bool
}

type whyCommand struct{ *app }

func newWhyCommand(a *app) *cobra.Command {
	var o whyOptions
	c := &cobra.Command{
		Use:   "why [TASK]",
		Short: "Explain when a task ran, or why it did not, and what could stop it",
		Long: `why explains one minute of a task: whether it was due, and if not which field of which expression
said no; what became of it, and what it means if nothing was recorded; or, for a minute to come,
whether it will be due, and which condition will be in the way.

Without --at it explains the last minute at which the task was due and the next one, and says what
could stop it.`,
		Example: `  sched why nightly-report
  sched why nightly-report --at "2026-03-29 02:30"`,
		Args: arguments(0, 1),
		RunE: func(_ *cobra.Command, args []string) error { return whyCommand{a}.why(optionalArgument(args), o) },
	}
	c.Flags().StringVar(&o.at, "at", "", "explain this minute: "+timeForms)
	c.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return c
}

func (a whyCommand) why(name string, o whyOptions) error {
	a.look()
	s, err := a.loadAnyway()
	if err != nil {
		return err
	}
	if name, err = a.chooseTask(s, name, "why TASK"); err != nil {
		return err
	}
	at, skipped, ok := view.ReadTime(o.at, a.now(), s.Location, a.zones...)
	if o.at != "" && !ok {
		return notATime("at", o.at)
	}
	w, err := a.view(s).Why(ctx, name, at)
	if err != nil {
		return err
	}
	if skipped != "" {
		w.Answer.Minute.Clock = fmt.Sprintf("%s did not exist on this day in %s: this is the end of the gap", skipped, s.Location)
	}
	if o.json {
		return a.printJSON(w.Answer)
	}
	a.printWhy(w)
	return nil
}

func (a whyCommand) printWhy(w *view.Inquiry) {
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
	if answer.LastRun != nil {
		fmt.Fprintf(a.out, "%s ended last at %s (%s ago)\n", answer.Task, w.Time(w.LastRun.Ended), humanize.Duration(w.Now.Sub(w.LastRun.Ended)))
		a.printRecord(w, w.LastRun, "  ")
	}
	a.printRunning(w)
	if answer.Off != "" {
		return
	}
	if next := answer.Next; next != nil && (answer.Last == nil || next.Minute != answer.Last.Minute) {
		a.printMinute(w, next, "")
	}
	a.printObstacles(w)
	for _, one := range answer.Overdue {
		fmt.Fprintf(a.out, "%s is overdue: %s\n", answer.Task, one.Text)
	}
	if len(answer.Changes) > 0 {
		fmt.Fprintln(a.out, "changed in the last day:")
	}
	for _, c := range answer.Changes {
		fmt.Fprintf(a.out, "  %s\n", c.Text(w.Task.When.Location))
	}
}

// printMinute explains one minute. Off is why the task does not run at all; else empty.
func (a whyCommand) printMinute(w *view.Inquiry, m *view.Minute, off string) {
	was, wasNot, far := "was", "was not", fmt.Sprintf(" (%s ago)", humanize.Duration(w.Now.Sub(m.At)))
	if m.At.After(w.Now) {
		was, wasNot, far = "will be", "will not be", fmt.Sprintf(" (in %s)", humanize.Duration(m.At.Sub(w.Now)))
	}
	if !m.Due {
		was = wasNot
	}
	if off != "" {
		far += ": it is " + off + " now"
	}
	fmt.Fprintf(a.out, "%s %s due at %s%s\n", w.Task.Name, was, w.Time(m.At), far)
	for _, words := range []string{m.Clock, m.Spread, m.Bounds} {
		if words != "" {
			fmt.Fprintf(a.out, "  %s\n", words)
		}
	}
	for _, reason := range m.Reasons {
		if reason.Due || !m.Due { // what does not match is no reason for being due
			fmt.Fprintf(a.out, "  %s: %s\n", reason.Cron, reason.Why)
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

// printNeighbours prints at which times the task is due before and after the minute.
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

// madeUp names the skipped wall clock time for which the task is due then; "" for none.
func madeUp(w *view.Inquiry, at time.Time) string {
	for _, verdict := range w.Task.When.Explain(at).Verdicts {
		if verdict.MadeUp {
			return ", for " + verdict.Wall.Format("15:04") + ", which did not exist"
		}
	}
	return ""
}

// printSlot names the second if the minute has several slots or the slot is not at its start.
func (a whyCommand) printSlot(w *view.Inquiry, m *view.Minute, slot view.Slot) {
	prefix := "  "
	if len(m.Slots) > 1 || slot.At.Second() != 0 {
		prefix += slot.At.In(w.Task.When.Location).Format("15:04:05") + "  "
	}
	a.printRecords(w, m, slot.Records, prefix)
	if slot.Says != "" {
		fmt.Fprintf(a.out, "%s%s\n", prefix, slot.Says)
	}
	if slot.Elsewhere != "" {
		fmt.Fprintf(a.out, "%s%s\n", prefix, humanize.Line(slot.Elsewhere))
	}
}

func (a whyCommand) printRecords(w *view.Inquiry, m *view.Minute, records []view.Record, prefix string) {
	for _, record := range records {
		a.printRecord(w, m.Ended[record.Run], prefix)
	}
}

// printRecord prints how a run ended, and then what else is known of it, a line for each fact.
func (a whyCommand) printRecord(w *view.Inquiry, r state.Row, prefix string) {
	fmt.Fprintf(a.out, "%s%s\n", prefix, a.stdout().Paint(toneOf(r.Result), humanize.Line(view.Describe(r))))
	t := a.stdout().Table()
	for _, fact := range a.facts(w, r) {
		t.Row("    "+fact[0], humanize.Line(fact[1]))
	}
	t.Flush()
}

// facts are names and values.
func (a whyCommand) facts(w *view.Inquiry, r state.Row) (facts [][2]string) {
	add := func(name, format string, args ...any) {
		facts = append(facts, [2]string{name, fmt.Sprintf(format, args...)})
	}
	if r.IsRange() {
		add("stands for", "%s, from %s to %s", humanize.Count(r.Slots, "slot"), w.Time(r.Slot), w.Time(r.LastSlot))
	}
	if !r.Started.IsZero() {
		started := humanize.SecondZone(r.Started, w.Task.When.Location)
		if late := r.Started.Sub(r.Slot) - r.Wait.Waited; r.Origin == "" && late > 0 {
			started += ", " + humanize.Duration(late) + " late"
		}
		add("started", "%s", started)
		add("ended", "%s", humanize.SecondZone(r.Ended, w.Task.When.Location))
	}
	if r.Wait.Waited > 0 {
		add("waited", "%s for its turn", humanize.Duration(r.Wait.Waited))
	}
	if r.ExitCode != nil {
		add("exit code", "%d", *r.ExitCode)
	}
	if r.Attempt.Number > 0 {
		add("attempts", "%d", r.Attempt.Number)
	}
	add("server", "%s", r.Server)
	add("run", "%s", r.ID)
	if r.Output != "" {
		add("output", "sched logs%s %s", a.configFlag(), humanize.ShortRun(r.ID))
	}
	if r.Limits != "" {
		add("limits", "%s", r.Limits)
	}
	for _, t := range r.Triggered {
		add("triggered", "%s (run %s)", t.Task, t.Run)
	}
	for _, note := range r.Notes {
		add("note", "%s", note)
	}
	return facts
}

// printRunning prints live runs that are not of the last slot, and runs that wait for a tick.
func (a whyCommand) printRunning(w *view.Inquiry) {
	for _, row := range w.Live {
		last := w.Answer.Last
		old := last == nil || !row.Slot.Truncate(time.Minute).Equal(last.At.UTC())
		if row.Task == w.Task.Name && old {
			fmt.Fprintf(a.out, "%s, due at %s: %s\n", w.Task.Name, w.Time(row.Slot), view.RunningText(row, w.Now))
		}
	}
	for _, one := range w.Answer.Waiting {
		fmt.Fprintf(a.out, "%s is %s\n", w.Task.Name, one.Text(a.now(), w.Task.When.Location))
	}
}

// printObstacles prints how the task starts, and what could stop its next run.
func (a whyCommand) printObstacles(w *view.Inquiry) {
	answer := w.Answer
	if w.Task.When.Boot {
		fmt.Fprintf(a.out, "%s is due at the next boot of this machine\n", answer.Task)
	}
	found := obstacles(w)
	if starts := startsText(w); starts != "" {
		found = slices.Insert(found, 0, starts)
	}
	for _, text := range found {
		fmt.Fprintf(a.out, "  %s\n", text)
	}
	onlyAtBoot := w.Task.When.Boot && answer.Next == nil
	slotSays := answer.Next != nil && view.PauseOf(w.Pauses, w.Task, w.Next) != nil || w.Task.UnmetCondition(w.Next) != ""
	if len(found) == 0 && !onlyAtBoot && !slotSays {
		fmt.Fprintln(a.out, "  nothing is known that would stop it")
	}
}

// startsText says how a task starts that does not start at times of its own alone; else "".
func startsText(w *view.Inquiry) string {
	answer := w.Answer
	switch {
	case w.Task.When.Boot:
		return ""
	case len(answer.Triggers) > 0 && answer.Next == nil:
		return "it has no time of its own: it starts " + chainText(answer.Triggers)
	case len(answer.Triggers) > 0:
		return "it also starts " + chainText(answer.Triggers)
	case w.Task.OnlyByHand():
		return "it has no time of its own: `sched trigger " + answer.Task + " --env …` starts it"
	case answer.Next == nil:
		return answer.Task + " is never due again"
	}
	return ""
}

// obstacles returns what could stop the next run of the task, as far as it is known now.
func obstacles(w *view.Inquiry) (found []string) {
	answer := w.Answer
	add := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	if answer.Free != nil {
		free, _ := time.Parse(time.RFC3339, *answer.Free)
		add("its conditions let it run again at %s", w.Time(free))
	}
	if answer.NoTicks != "" {
		add("%s, so it will not start", answer.NoTicks)
	}
	for _, words := range answer.Asks {
		add("right before it starts it asks %s", humanize.Line(words))
	}
	if answer.Down != "" {
		become := "be skipped if that is so then"
		if w.Task.WaitsForPause(w.Next) {
			become = "wait for the end of that"
		}
		add("%s; it will %s", answer.Down, become)
	}
	if full := answer.Pool.Full(); full != "" {
		add("%s; it will %s if that goes on until then", full, heldUp(w.Task, w.Next))
	}
	if w.CatchesUp() {
		add("slots that it missed still run; it will wait for its turn if that goes on until then")
	} else if answer.Held != "" {
		add("its mutex %s is held %s; it will %s if that goes on until then", w.Task.Mutex, answer.Held, heldUp(w.Task, w.Next))
	}
	switch {
	case answer.Failures >= view.MostFailures:
		add("all of its last %d runs failed", answer.Failures)
	case answer.Failures > 1:
		add("its last %d runs failed", answer.Failures)
	case answer.Failures == 1:
		add("its last run failed")
	}
	return found
}

// heldUp says what a run does while other runs have its mutex or all seats of its pool.
func heldUp(t *schedule.Task, slot time.Time) string {
	if t.MaxWait > 0 {
		return "wait, " + humanize.Duration(t.WaitUntil(slot, slot).Sub(slot)) + " at most,"
	}
	return "be skipped"
}

// chainText says after what a task is started: "after extract (on_success) and load (after)".
func chainText(by []view.Chained) string {
	var words []string
	for _, c := range by {
		words = append(words, c.Task+" ("+c.On+")")
	}
	return "after " + strings.Join(words, " and ")
}
