package cmd

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sched/cmd/terminal"
	"sched/schedule/history"
	"sched/schedule/runner"
	"sched/schedule/text"
)

type statusOptions struct {
	json     bool
	textfile string
}

func (a *app) statusCommand() *cobra.Command {
	var o statusOptions
	c := &cobra.Command{
		Use:   "status",
		Short: "Tell whether all is well, for people and for monitoring",
		Long: `status prints one line with the verdict, and a line for each trouble with what to type next. It
writes nothing and is quick, so it may be called at any time.

Exit codes: 0 all is well; 1 the last run of a task failed, slots were missed since, a run takes
more than three times as long as usual (and at least a minute more), or has vanished, a pause
without an end is older than a day, or notifications could not be delivered; 2 no tick came for
more than 3 minutes, or the schedule is invalid.`,
		Example: `  sched status
  sched status --json
  sched status --prometheus /var/lib/node_exporter/textfile/shop.prom`,
		Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error { return a.status(o) },
	}
	f := c.Flags()
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	f.StringVar(&o.textfile, "prometheus", "", "write a file for the node exporter of Prometheus instead (- prints it)")
	return c
}

// stale is how old the last tick may be: two of them did not come.
const stale = 3 * time.Minute

// A verdict is what status has to say.
type verdict struct {
	code  int
	first string // one line
	rows  []statusRow
	down  string // a maintenance; it is no trouble
}

type statusRow struct {
	Task    string `json:"task"`    // empty where it is no task that is in trouble
	Trouble string `json:"trouble"` // failed, missed, slow, vanished, paused; history, notifications, schedule, tick
	Text    string `json:"text"`
	Run     string `json:"run"`
	Next    string `json:"next"` // what to type
}

// status prints the verdict. With --prometheus it writes the file, and its exit code says only whether
// that was done.
func (a *app) status(o statusOptions) error {
	if o.json && o.textfile != "" {
		return usage("", "--json and --prometheus exclude each other")
	}
	s, invalid, err := a.loadLastValid()
	if err != nil {
		return err
	}
	var foreign *runner.ForeignError
	if err := (runner.State{Dir: s.StateDir}).Check(); errors.As(err, &foreign) {
		return usage(fmt.Sprintf("ask as its owner: sudo -u '#%d' sched status", foreign.Owner), "%w", err)
	}
	if err := checkState(s); err != nil {
		return err
	}
	status := runner.StatusOf(s, invalid != nil, a.now())
	switch o.textfile {
	case "":
	case "-":
		_, err := a.out.Write(status.Metrics())
		return err
	default:
		return runner.WriteTextfile(o.textfile, status.Metrics())
	}
	if err := status.Explain(); err != nil && status.Unread == nil {
		status.Unread = err
	}
	v := a.judge(status)
	if o.json {
		err = a.printStatusJSON(status, v)
	} else {
		a.printStatus(v)
	}
	if err == nil && v.code != exitOK {
		return &exit{code: v.code}
	}
	return err
}

// judge turns a status into words. What makes the code 2 comes first.
func (a *app) judge(s *runner.Status) verdict {
	v := verdict{code: exitOK}
	down := a.downRows(s)
	v.rows = append(v.rows, down...)
	if s.Unread != nil {
		v.rows = append(v.rows, statusRow{"", "history", fmt.Sprintf("not all can be read: %v", s.Unread), "", "sched history" + a.configFlag()})
	}
	if s.Untold.Count > 0 {
		v.rows = append(v.rows, a.untoldRow(s))
	}
	for _, t := range s.Troubles {
		v.rows = append(v.rows, a.troubleRow(t, s))
	}
	v.rows = append(v.rows, a.forgottenRows(s)...)
	figures := fmt.Sprintf("%s, %d running", text.Count(len(s.Tasks), "task"), s.Running)
	if !s.LastTick.IsZero() {
		figures += ", last tick " + text.MinuteZone(s.LastTick, s.Schedule.Location)
	}
	if age := s.At.Sub(s.LastTick); age >= 0 && age <= stale { // else down has it
		figures += " (" + text.Duration(age) + " ago)"
	}
	figures += pausedFigure(s)
	if v.down = a.maintenance(s.Schedule); v.down != "" {
		figures += "; " + v.down
	}
	switch {
	case len(down) > 0:
		v.code, v.first = exitUsage, "down: "+down[0].Text+"; "+figures
	case len(v.rows) > 0:
		v.code, v.first = exitFailed, "trouble: "+summary(v.rows)+"; "+figures
	default:
		v.first = "ok: " + figures
	}
	return v
}

// downRows say why tasks do not run as the schedule has it.
func (a *app) downRows(s *runner.Status) (rows []statusRow) {
	switch age := s.At.Sub(s.LastTick); {
	case s.LastTick.IsZero():
		rows = append(rows, statusRow{"", "tick", "no tick ever came", "", "crontab -l"})
	case age > stale:
		rows = append(rows, statusRow{"", "tick", "no tick came for " + text.Duration(age), "", "crontab -l"})
	case age < -stale:
		rows = append(rows, statusRow{"", "tick", "the last tick is " + text.Duration(-age) + " ahead of the clock, which was set back", "", "date"})
	}
	if s.Invalid {
		words := filepath.Base(s.Schedule.File) + " is invalid, the last valid one runs"
		rows = append(rows, statusRow{"", "schedule", words, "", "sched check" + a.configFlag()})
	}
	return rows
}

// untoldRow says what people were to be told and were not.
func (a *app) untoldRow(s *runner.Status) statusRow {
	u := s.Untold
	wait, of := " waits", ", of "
	if u.Count > 1 {
		wait, of = " wait", ", the oldest of "
	}
	since := text.Minute(u.Since, s.Schedule.Location)
	words := text.Count(u.Count, "notification") + wait + " since " + since + of + u.Task + ": " + u.Why
	return statusRow{"", "notifications", words, "", "sched history" + a.configFlag() + " " + u.Task}
}

// summary names the first troubles, since who is called at night may see one line only.
func summary(rows []statusRow) string {
	const named = 3
	var parts []string
	for _, r := range rows[:min(named, len(rows))] {
		parts = append(parts, strings.TrimSpace(r.Task+" "+r.Trouble))
	}
	text := strings.Join(parts, ", ")
	if more := len(rows) - named; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// troubleRow says what is wrong, and what to look at.
func (a *app) troubleRow(t runner.Trouble, s *runner.Status) statusRow {
	row := statusRow{Task: t.Task, Trouble: string(t.Kind), Run: t.Run.Run}
	command, of := "why", t.Task
	switch t.Kind {
	case runner.LastFailed:
		row.Trouble = string(t.Run.Outcome)
		row.Text = fmt.Sprintf("%s %s ago", t.Run.Outcome, text.Duration(max(0, s.At.Sub(t.Run.Ended))))
		if t.Run.Reason != "" {
			row.Text += " (" + t.Run.Reason + ")"
		}
		if t.Run.Output != "" {
			command, of = "logs", text.ShortRun(t.Run.Run)
		}
		if t.Run.Outcome == history.Lost || t.Run.Outcome == history.Stopped {
			command, of = "retry", text.ShortRun(t.Run.Run) // its output does not tell why
		}
	case runner.HasMissed:
		row.Run = ""
		row.Text = missedText(t, s.Schedule.Location)
	case runner.RunsLong:
		row.Text = fmt.Sprintf("running for %s, usually %s", text.Duration(t.For), text.Duration(t.Usual))
		command, of = "logs", text.ShortRun(t.Run.Run)
	case runner.Vanished:
		row.Text = "a run vanished; the next tick will finish it"
	}
	row.Next = "sched " + command + a.configFlag() + " " + of
	return row
}

func missedText(t runner.Trouble, zone *time.Location) string {
	if t.Slots <= 1 {
		return "missed the slot of " + text.Second(t.First, zone)
	}
	return fmt.Sprintf("missed %d slots, %s to %s", t.Slots, text.Second(t.First, zone), text.Second(t.Final, zone))
}

func (a *app) printStatus(v verdict) {
	verdict := map[int]terminal.Tone{exitOK: terminal.Good, exitFailed: terminal.Caution, exitUsage: terminal.Bad}[v.code]
	fmt.Fprintln(a.out, a.stdout().Paint(verdict, v.first))
	t := a.stdout().Table()
	defer t.Flush()
	for _, r := range v.rows {
		name := r.Task
		if name == "" {
			name = "-"
		}
		t.Row(name, r.Text, r.Next)
	}
}

type statusJSON struct {
	Verdict  string           `json:"verdict"` // ok, trouble or down
	ExitCode int              `json:"exit_code"`
	LastTick *string          `json:"last_tick"` // null when none ever came
	Valid    bool             `json:"schedule_valid"`
	Tasks    int              `json:"tasks"`
	Running  int              `json:"running"`
	Down     string           `json:"maintenance"`
	Troubles []statusRow      `json:"troubles"`
	Paused   []pausedTaskJSON `json:"paused"`
}

func (a *app) printStatusJSON(s *runner.Status, v verdict) error {
	word, _, _ := strings.Cut(v.first, ":")
	out := statusJSON{word, v.code, nil, !s.Invalid, len(s.Tasks), s.Running, v.down, v.rows, pausedTasks(s)}
	if !s.LastTick.IsZero() {
		tick := s.LastTick.UTC().Format(time.RFC3339)
		out.LastTick = &tick
	}
	if out.Troubles == nil {
		out.Troubles = []statusRow{}
	}
	return a.printJSON(out)
}
