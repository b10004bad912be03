// Package why is the command `sched why`.
package why

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/console"
	"sched/cmd/flags"
	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/output"
	"sched/schedule/state"
	"sched/schedule/view"
)

type options struct {
	at   string
	json bool
}

func New(a *app.App) *cobra.Command {
	var o options
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
		Args: flags.Arguments(0, 1),
		RunE: func(_ *cobra.Command, args []string) error { return why(a, flags.Optional(args), o) },
	}
	c.Flags().StringVar(&o.at, "at", "", "explain this minute: "+console.TimeForms)
	c.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return c
}

func why(a *app.App, name string, o options) error {
	s, err := a.LoadToShow()
	if err != nil {
		return err
	}
	if name, err = a.ChooseTask(s, name, "why TASK"); err != nil {
		return err
	}
	at, skipped, ok := view.ReadTime(o.at, a.Now(), s.Location, a.Zones...)
	if o.at != "" && !ok {
		return console.NotATime("at", o.at)
	}
	q, err := view.Explain(context.Background(), a.View(s), name, at)
	if err != nil {
		return err
	}
	if skipped != "" {
		q.Answer.Minute.Clock = fmt.Sprintf(
			"%s did not exist on this day in %s: this is the end of the gap", skipped, s.Location)
	}
	if o.json {
		return a.PrintJSON(q.Answer)
	}
	printWhy(a, q)
	return nil
}

// printWhy explains the minute of --at, or else the last and the next minute of the task.
func printWhy(a *app.App, q *view.Inquiry) {
	answer := q.Answer
	if answer.Minute != nil {
		printMinute(a, q, answer.Minute, answer.Off)
		return
	}
	if answer.Off != "" {
		fmt.Fprintf(a.Out, "%s is not due: it is %s\n", answer.Task, answer.Off)
	}
	if last := answer.Last; last != nil && (last.Due || len(last.Others) > 0) {
		printMinute(a, q, last, answer.Off)
	}
	if answer.LastRun != nil {
		ended := q.LastRun.Ended
		fmt.Fprintf(a.Out, "%s ended last at %s (%s ago)\n",
			answer.Task, q.TimeText(ended), humanize.Age(ended, q.Now))
		printRecord(a, q, q.LastRun, *answer.LastRun, "  ")
	}
	printRunning(a, q)
	if answer.Off != "" {
		return
	}
	if next := answer.Next; next != nil && (answer.Last == nil || next.Minute != answer.Last.Minute) {
		printMinute(a, q, next, "")
	}
	printObstacles(a, q)
	if expected := q.Expected(); expected != "" {
		fmt.Fprintf(a.Out, "  %s\n", expected)
	}
	for _, overdue := range answer.Overdue {
		fmt.Fprintf(a.Out, "%s is overdue: %s\n", answer.Task, overdue.Text)
	}
	switch {
	case len(answer.Changes) == 0:
	case q.Shared():
		fmt.Fprintln(a.Out, "changed on this server in the last day:")
	default:
		fmt.Fprintln(a.Out, "changed in the last day:")
	}
	for _, c := range answer.Changes {
		fmt.Fprintf(a.Out, "  %s\n", c.Text(q.Task.When.Location))
	}
}

// printMinute explains one minute. off says why the task does not run at all; "" for a task that
// runs.
func printMinute(a *app.App, q *view.Inquiry, m *view.Minute, off string) {
	suffix := ""
	if off != "" {
		suffix = ": it is " + off + " now"
	}
	at := m.Minute.Time
	if len(m.Slots) > 0 && m.Due && at.After(q.Now) { // the first of its seconds
		at = m.Slots[0].Slot.Time
	}
	verb, distance := tense(at, m.Due, q.Now)
	fmt.Fprintf(a.Out, "%s %s due at %s (%s)%s\n", q.Task.Name, verb, q.TimeText(at), distance, suffix)
	for _, remark := range []string{m.Clock, m.Spread, m.Bounds} {
		if remark != "" {
			fmt.Fprintf(a.Out, "  %s\n", remark)
		}
	}
	for _, reason := range m.Reasons {
		if reason.Due || !m.Due { // what does not match is no reason for being due
			fmt.Fprintf(a.Out, "  %s: %s\n", reason.Cron, reason.Why)
		}
	}
	for _, slot := range m.Slots {
		printSlot(a, q, m, slot)
	}
	if len(m.Others) > 0 {
		fmt.Fprintln(a.Out, "  recorded all the same, by hand or with the schedule of that time:")
		printRecords(a, q, m, m.Others, "  ")
	}
	printNeighbours(a, q, m)
}

// tense returns the verb of the sentence that a task is due at a time, and how far away that is:
// "was not" and "5 m ago", or "will be" and "in 2 h".
func tense(at time.Time, due bool, now time.Time) (verb, distance string) {
	verb, negation, distance := "was", "was not", humanize.Duration(now.Sub(at))+" ago"
	if at.After(now) {
		verb, negation, distance = "will be", "will not be", "in "+humanize.Duration(at.Sub(now))
	}
	if !due {
		return negation, distance
	}
	return verb, distance
}

func printNeighbours(a *app.App, q *view.Inquiry, m *view.Minute) {
	if at := m.Before; at != nil {
		fmt.Fprintf(a.Out, "  due before it at %s%s\n", q.TimeText(at.Time), insteadOf(q, at.Time))
	}
	if at := m.After; at != nil {
		fmt.Fprintf(a.Out, "  due after it at %s%s\n", q.TimeText(at.Time), insteadOf(q, at.Time))
	}
}

// insteadOf names the time that the clocks skipped, if the task is due at this time in its place.
func insteadOf(q *view.Inquiry, at time.Time) string {
	for _, verdict := range q.Task.When.Explain(at).Verdicts {
		if verdict.MadeUp {
			return ", for " + verdict.Wall.Format("15:04") + ", which did not exist"
		}
	}
	return ""
}

// printSlot names the second if the minute has several slots or the slot is not at its start.
func printSlot(a *app.App, q *view.Inquiry, m *view.Minute, slot view.Slot) {
	prefix := "  "
	if len(m.Slots) > 1 || slot.Slot.Second() != 0 {
		prefix += slot.Slot.In(q.Task.When.Location).Format("15:04:05") + "  "
	}
	if values := q.Task.ValuesAt(slot.Slot.Time); len(slot.Records) == 0 && len(values) > 0 {
		fmt.Fprintf(a.Out, "%s%s\n", prefix, schedule.WithValues("", values))
	}
	printRecords(a, q, m, slot.Records, prefix)
	if slot.Says != "" {
		fmt.Fprintf(a.Out, "%s%s\n", prefix, slot.Says)
	}
	if slot.Elsewhere != "" {
		fmt.Fprintf(a.Out, "%s%s\n", prefix, humanize.Line(slot.Elsewhere))
	}
}

func printRecords(a *app.App, q *view.Inquiry, m *view.Minute, records []view.Record, prefix string) {
	for _, record := range records {
		printRecord(a, q, m.Ended[record.Run], record, prefix)
	}
}

// printRecord prints how a run ended, and then what else is known of it, a line for each fact.
func printRecord(a *app.App, q *view.Inquiry, r state.Row, record view.Record, prefix string) {
	ending := humanize.Line(view.Describe(r))
	fmt.Fprintf(a.Out, "%s%s\n", prefix, a.Stdout().Paint(console.ToneOf(r.Result), ending))
	table := a.Table()
	for _, f := range factsOf(a, q, r) {
		table.Row("    "+f.name, humanize.Line(f.value))
	}
	for _, n := range record.Notifications {
		table.Row("    message", humanize.Line(n.Text(q.Task.When.Location)))
	}
	table.Flush()
}

// A fact is something that is known of a run.
type fact struct{ name, value string }

func factsOf(a *app.App, q *view.Inquiry, r state.Row) (facts []fact) {
	add := func(name, format string, args ...any) {
		facts = append(facts, fact{name: name, value: fmt.Sprintf(format, args...)})
	}
	if r.IsRange() {
		count := humanize.Count(r.Slots, "slot")
		add("stands for", "%s, from %s to %s", count, q.TimeText(r.Slot), q.TimeText(r.LastSlot))
	}
	if r.Origin == "" && len(r.Params) > 0 { // the origin of other runs names their values
		add("params", "%s", strings.Join(schedule.Pairs(r.Params), ", "))
	}
	if r.Moved != "" {
		add("day", "%s", r.Moved)
	}
	if !r.Repeats.IsZero() {
		add("repeats", "the slot of %s", q.TimeText(r.Repeats))
	}
	if !r.Started.IsZero() {
		started := humanize.SecondZone(r.Started, q.Task.When.Location)
		if late := r.Started.Sub(r.Slot) - r.Wait.Waited; r.Origin == "" && late > 0 {
			started += ", " + humanize.Duration(late) + " late"
		}
		add("started", "%s", started)
		add("ended", "%s", humanize.SecondZone(r.Ended, q.Task.When.Location))
	}
	if r.Wait.Waited > 0 {
		add("waited", "%s for its turn", humanize.Duration(r.Wait.Waited))
	}
	if r.ExitCode != nil {
		add("exit code", "%d", *r.ExitCode)
	}
	if r.Outcome == outcome.Failed && r.ExitCode != nil && (*r.ExitCode == 126 || *r.ExitCode == 127) {
		add("programs", "sched doctor%s says which the ticks cannot find or start", a.ConfigFlag())
	}
	if len(r.Values) > 0 {
		add("values", "%s", view.ValuesText(q.Task, r.Values))
	}
	if r.Attempt.Number > 0 {
		add("attempts", "%d", r.Attempt.Number)
	}
	add("server", "%s", r.Server)
	add("run", "%s", r.ID)
	if r.Output != "" {
		if line := lastLine(r); line != "" {
			add("last line", "%s", line)
		}
		add("output", "sched logs%s %s", a.ConfigFlag(), humanize.ShortRun(r.ID))
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

// maxLastLine is how many characters of the last line of an output are shown.
const maxLastLine = 160

// lastLine returns the end of the last line that the command of a run printed, if the run went
// wrong; else "".
func lastLine(r state.Row) string {
	if r.Outcome != outcome.Failed && r.Outcome != outcome.TimedOut {
		return ""
	}
	tail, _ := output.Tail(r.Output, 4*maxLastLine)
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(tail), "")), "\n")
	line := []rune(strings.TrimSpace(lines[len(lines)-1]))
	if extra := len(line) - maxLastLine; extra > 0 {
		return "…" + string(line[extra+1:])
	}
	return string(line)
}

// printRunning prints runs that live or vanished and are not of the last slot, and runs that wait
// for a tick.
func printRunning(a *app.App, q *view.Inquiry) {
	last := q.Answer.Last
	isShown := func(row state.Row) bool {
		return last != nil && row.Origin == "" && row.Slot.Truncate(time.Minute).Equal(last.Minute.Time)
	}
	for _, row := range q.Live {
		if row.Task == q.Task.Name && !isShown(row) {
			text := view.RunningText(row, q.Now, q.Task.When.Location)
			fmt.Fprintf(a.Out, "%s, due at %s: %s\n", q.Task.Name, q.TimeText(row.Slot), text)
		}
	}
	for _, row := range q.Lost {
		if row.Task == q.Task.Name && !isShown(row) {
			origin := cmp.Or(humanize.Line(row.Origin), "due at "+q.TimeText(row.Slot))
			text := "vanished; the next tick will finish it"
			if view.IsUnwatched(row) {
				text = "goes on: " + view.LostText(row)
			}
			fmt.Fprintf(a.Out, "%s: its run %s (%s) %s\n", q.Task.Name, humanize.ShortRun(row.ID), origin, text)
		}
	}
	for _, waiting := range q.Answer.Waiting {
		fmt.Fprintf(a.Out, "%s is %s\n", q.Task.Name, waiting.Text(a.Now(), q.Task.When.Location))
	}
}

// printObstacles prints how the task starts, and what could stop its next run.
func printObstacles(a *app.App, q *view.Inquiry) {
	answer := q.Answer
	if q.Task.When.Boot {
		fmt.Fprintf(a.Out, "%s is due at the next boot of this machine\n", answer.Task)
	}
	lines := obstacles(q)
	if starts := startsText(q); starts != "" {
		lines = slices.Insert(lines, 0, starts)
	}
	for _, text := range lines {
		fmt.Fprintf(a.Out, "  %s\n", text)
	}
	if len(lines) == 0 && !nextSlotSaysWhy(q) {
		fmt.Fprintln(a.Out, "  nothing is known that would stop it")
	}
}

// nextSlotSaysWhy reports whether the lines about the next slot say what will stop it, or that the
// task is due only at boot.
func nextSlotSaysWhy(q *view.Inquiry) bool {
	if q.Answer.Next == nil {
		return q.Task.When.Boot
	}
	isPaused := view.PauseOf(q.Pauses, q.Task, q.Next) != nil
	return isPaused || q.Task.UnmetCondition(q.Next) != "" || q.Budget.RefusalAt(q.Next) != ""
}

// startsText says what starts the task besides its own times. It returns "" for a task that has
// only such times, and for a task that is due at boot.
func startsText(q *view.Inquiry) string {
	answer := q.Answer
	switch {
	case q.Task.When.Boot:
		return ""
	case len(answer.TriggeredBy) > 0 && answer.Next == nil:
		return "it has no time of its own: it starts " + chainText(answer.TriggeredBy)
	case len(answer.TriggeredBy) > 0:
		return "it also starts " + chainText(answer.TriggeredBy)
	case q.Task.OnlyByHand():
		return "it has no time of its own: `sched trigger " + answer.Task + " --env …` starts it"
	case q.Task.When.IsByHand():
		return "it has no time of its own: `sched trigger " + answer.Task + "` starts it"
	case answer.Next == nil:
		return answer.Task + " is never due again"
	}
	return ""
}

// obstacles returns what could stop the next run of the task, as far as it is known now.
func obstacles(q *view.Inquiry) (lines []string) {
	answer := q.Answer
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if at := answer.NextAllowed; at != nil {
		add("its conditions let it run again at %s", q.TimeText(at.Time))
	}
	if answer.NoTicks != "" {
		add("%s, so it will not start", answer.NoTicks)
	}
	if answer.Budget != "" && (answer.Next == nil || q.Budget.RefusalAt(q.Next) == "") {
		add("a run before then would be skipped: %s", answer.Budget)
	}
	if answer.Lacks != "" {
		add("it will be skipped while ticks lack what it names: %s", answer.Lacks)
	}
	if answer.StoreDown != "" {
		add("it will %s while the store is down: %s", withoutStore(q), answer.StoreDown)
	}
	for _, command := range answer.Asks {
		add("right before it starts it asks %s", humanize.Line(command))
	}
	if answer.Maintenance != "" {
		consequence := "be skipped if that is so then"
		if q.Task.WaitsForPause(q.Next) {
			consequence = "wait for the end of that"
		}
		add("%s; it will %s", answer.Maintenance, consequence)
	}
	if full := answer.Pool.Full(q.Task.When.Location); full != "" {
		add("%s; it will %s if that goes on until then", full, q.WithoutSeat())
	}
	if q.CatchesUp() {
		add("slots that it missed still run; it will wait for its turn if that goes on until then")
	} else if answer.Held != "" {
		add("its mutex %s is held %s; it will %s if that goes on until then",
			q.Task.Mutex, answer.Held, q.WithoutMutex())
	}
	switch {
	case answer.Failures >= view.MaxFailures:
		add("all of its last %d runs failed", answer.Failures)
	case answer.Failures > 1:
		add("its last %d runs failed", answer.Failures)
	case answer.Failures == 1:
		add("its last run failed")
	}
	return lines
}

// withoutStore says what the next run does while the store does not answer.
func withoutStore(q *view.Inquiry) string {
	switch {
	case q.Task.RunWhenStoreDown:
		return "run without it"
	case q.Task.WaitWhenStoreDown && !q.Task.GivesWay(q.Next):
		return "wait"
	}
	return "be skipped"
}

// chainText says after what a task is started: "after extract (on_success) and load (after)".
func chainText(triggers []view.Chained) string {
	var parts []string
	for _, trigger := range triggers {
		parts = append(parts, trigger.Task+" ("+trigger.On+")")
	}
	return "after " + strings.Join(parts, " and ")
}
