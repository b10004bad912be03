package cmd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/history"
	"sched/schedule/runner"
	"sched/schedule/text"
)

type listOptions struct {
	next int
	at   string
	json bool
	tags []string
}

func (a *app) listCommand() *cobra.Command {
	var o listOptions
	c := &cobra.Command{
		Use:   "list",
		Short: "Show the tasks: when next, how the last run ended, what runs now",
		Example: `  sched list
  sched list --next 3 --at "2026-03-28 12:00"   around a change of the clocks
  sched list --json`,
		Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error { return a.list(o) },
	}
	f := c.Flags()
	f.IntVar(&o.next, "next", 1, "how many times to look ahead for each task")
	f.StringVar(&o.at, "at", "", "look ahead from this time (RFC 3339, or 2006-01-02 15:04 in the schedule's zone)")
	f.BoolVar(&o.json, "json", false, "print a JSON array")
	f.StringSliceVar(&o.tags, "tag", nil, "only the tasks with one of these tags")
	return c
}

type taskJSON struct {
	Name               string        `json:"name"`
	Cron               []string      `json:"cron"`
	Timezone           string        `json:"timezone"`
	Command            string        `json:"command"`
	Description        string        `json:"description"`
	Background         bool          `json:"background"`
	WithoutOverlapping bool          `json:"without_overlapping"`
	OneServer          bool          `json:"one_server"`
	Next               []string      `json:"next"`
	times              []time.Time   // the same, in the task's zone
	Unmet              []string      `json:"unmet,omitempty"` // for each time of next the condition that will be in the way; none where none will
	Last               *recordJSON   `json:"last"`
	Running            []runningJSON `json:"running"`
	Waiting            []waitingJSON `json:"waiting"`
	Paused             *pausedJSON   `json:"paused"`
}

type runningJSON struct {
	Run   string `json:"run"`
	PID   *int   `json:"pid"` // null until the command has started
	Host  string `json:"host"`
	Since string `json:"since"`

	since time.Time // exactly
}

// list prints the tasks.
func (a *app) list(o listOptions) error {
	if o.next < 0 {
		return usage("", "--next %d is negative", o.next)
	}
	s, err := a.loadAnyway()
	if err != nil {
		return err
	}
	at, err := a.parseAt(o.at, s.Location)
	if err != nil {
		return err
	}
	past := a.withElsewhere(s, a.past(s))
	if past.pauses, err = a.pauses(s); err != nil && a.store(s) == nil { // else it was said above that the store is down
		a.problem("%v", err)
	}
	rows := []taskJSON{}
	for _, t := range s.Tasks {
		if len(o.tags) == 0 || slices.ContainsFunc(o.tags, func(tag string) bool { return slices.Contains(t.Tags, tag) }) {
			rows = append(rows, a.listRow(t, s.Active(t), at, o.next, past))
		}
	}
	if o.json {
		return a.printJSON(rows)
	}
	if all := past.pauses[history.Everything]; all.InEffect(a.now()) && len(rows) > 0 {
		fmt.Fprintln(a.out, a.stdout().Paint(toneOf(history.Skipped), "everything is "+all.Text(a.now(), s.Location)))
	}
	switch {
	case len(rows) == 0:
		fmt.Fprintln(a.out, "no tasks")
	case terminal.Is(a.out):
		a.showList(s, rows, past, at)
	default:
		a.printList(s, rows, past, at)
	}
	if reason := a.maintenance(s); reason != "" {
		a.problem("%s; only tasks with even_in_maintenance run", reason)
	}
	return nil
}

// past is what list knows of what happened.
type past struct {
	last    map[string]history.Record
	running map[string][]runningJSON
	waiting map[string][]waitingJSON
	pauses  history.Pauses
}

// past reads the history. A list without it is still a list, so trouble with it is only said.
func (a *app) past(s *schedule.Schedule) past {
	p := past{running: map[string][]runningJSON{}}
	live, _, err := runner.Finished(s.StateDir)
	p.waiting = a.waiting(s, live)
	for _, log := range live {
		if !log.Waiting() {
			p.addRunning(log)
		}
	}
	if err == nil {
		p.last, err = lastOf(s)
	}
	if err != nil {
		a.problem("the history cannot be read: %v", err)
	}
	return p
}

func (p past) addRunning(log history.Log) {
	p.running[log.Begin.Task] = append(p.running[log.Begin.Task], toRunningJSON(log))
}

func lastOf(s *schedule.Schedule) (map[string]history.Record, error) {
	db, err := history.OpenRead(s.StateDir)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	return db.Last(ctx, taskNames(s))
}

func taskNames(s *schedule.Schedule) []string {
	names := make([]string, len(s.Tasks))
	for i, t := range s.Tasks {
		names[i] = t.Name
	}
	return names
}

func (a *app) listRow(t *schedule.Task, active bool, at time.Time, n int, p past) taskJSON {
	row := taskJSON{
		Name: t.Name, Timezone: t.When.Location.String(), Command: commandText(t.Command), Description: t.Description,
		Background: t.Background, WithoutOverlapping: t.WithoutOverlapping, OneServer: t.OneServer,
		Next: []string{}, Running: p.running[t.Name], Waiting: p.waiting[t.Name],
	}
	for _, cron := range t.When.Crons {
		row.Cron = append(row.Cron, cron.String())
	}
	for range n {
		next, ok := t.When.Next(at)
		if !ok || !active {
			break
		}
		row.times = append(row.times, next.In(t.When.Location))
		row.Next = append(row.Next, next.In(t.When.Location).Format(time.RFC3339))
		row.Unmet = append(row.Unmet, t.Unmet(next))
		at = next
	}
	if !slices.ContainsFunc(row.Unmet, func(reason string) bool { return reason != "" }) {
		row.Unmet = nil
	}
	if last, ok := p.last[t.Name]; ok {
		json := toJSON(last)
		row.Last = &json
	}
	if row.Paused = pausedNow(p.pauses, t, a.now()); row.Paused != nil {
		for i := range row.Waiting {
			row.Waiting[i].paused = true
		}
	}
	if row.Running == nil {
		row.Running = []runningJSON{}
	}
	if row.Waiting == nil {
		row.Waiting = []waitingJSON{}
	}
	return row
}

func toRunningJSON(log history.Log) runningJSON {
	owner := runner.OwnerOf(log)
	return runningJSON{owner.Run, known(owner.PID), owner.Host, owner.Since.UTC().Format(time.RFC3339), owner.Since}
}

// known is nil for a process that is not known yet.
func known(pid int) *int {
	if pid == 0 {
		return nil
	}
	return &pid
}

func commandText(c schedule.Command) string {
	if len(c.List) > 0 {
		return strings.Join(c.List, " ")
	}
	return c.Line
}

// printList prints the table for people who read it elsewhere than on a terminal (see showList).
func (a *app) printList(s *schedule.Schedule, rows []taskJSON, p past, at time.Time) {
	t := a.stdout().Table()
	defer t.Flush()
	t.Head("TASK", "WHEN", "NEXT", "LAST", "NOW")
	for _, row := range rows {
		next := never(s, row.Name)
		if len(row.times) > 0 {
			next = row.nextText(0, at)
		}
		t.Row(row.Name, when(row, s), next, a.lastText(s, p.last[row.Name]), a.nowText(row, s.Location))
		for i := 1; i < len(row.times); i++ {
			t.Row("", "", row.nextText(i, at), "", "")
		}
	}
}

// nextText shows one of the next times, and what will be in the way then.
func (row taskJSON) nextText(i int, at time.Time) string {
	t := row.times[i]
	words := fmt.Sprintf("%s (in %s)", text.SlotZone(t, t.Location()), text.Duration(t.Sub(at)))
	if reason := row.unmet(i); reason != "" {
		words += ", but " + reason
	}
	return words
}

func (row taskJSON) unmet(i int) string {
	if row.Unmet == nil {
		return ""
	}
	return row.Unmet[i]
}

// when shows the expressions, and the zone where it is not the schedule's.
func when(row taskJSON, s *schedule.Schedule) string {
	text := strings.Join(row.Cron, "; ")
	if row.Timezone != s.Location.String() {
		text += " " + row.Timezone
	}
	return text
}

// never says of a task that is not due again why that is so.
func never(s *schedule.Schedule, name string) string {
	if t, err := task(s, name); err == nil && !s.Active(t) {
		return switchedOff(s, t)
	}
	return "-"
}

func switchedOff(s *schedule.Schedule, t *schedule.Task) string {
	if !t.Enabled {
		return "switched off"
	}
	return "not for " + s.Environment
}

func (a *app) lastText(s *schedule.Schedule, last history.Record) string {
	if last.Run == "" {
		return "-"
	}
	text := fmt.Sprintf("%s %s ago", last.Outcome, a.ago(last.Ended))
	if here, _ := hostname(); len(s.Store.Servers) > 0 && last.Server != here {
		text += " on " + last.Server
	}
	return text
}

// ago is how long ago something was; another server's clock may be ahead of ours.
func (a *app) ago(t time.Time) string { return text.Duration(max(0, a.now().Sub(t))) }

// nowText says what runs, and what waits.
func (a *app) nowText(row taskJSON, zone *time.Location) string {
	text, waiting := a.runningText(row.Running), row.Waiting
	if row.Paused != nil {
		text = strings.TrimPrefix(text+", "+row.Paused.text(a.now(), zone), ", ")
	}
	switch {
	case len(waiting) == 0 && text == "":
		return "-"
	case len(waiting) == 0:
		return text
	case text == "":
		text = a.waitText(waiting[0], zone)
		waiting = waiting[1:]
	}
	if len(waiting) > 0 {
		text += fmt.Sprintf(", and %d waiting", len(waiting))
	}
	return text
}

func (a *app) runningText(running []runningJSON) string {
	if len(running) == 0 {
		return ""
	}
	first := running[0]
	here, _ := hostname()
	text := fmt.Sprintf("running on %s for %s", first.Host, a.ago(first.since))
	switch {
	case first.PID != nil:
		text = fmt.Sprintf("running, pid %d on %s for %s", *first.PID, first.Host, a.ago(first.since))
	case first.Host == here:
		text = "starting"
	}
	if len(running) > 1 {
		text += fmt.Sprintf(" and %d more", len(running)-1)
	}
	return text
}
