package propose

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/schedule"
	"sched/schedule/assertion"
	"sched/schedule/forecast"
	"sched/schedule/humanize"
	"sched/schedule/proposal"
	"sched/schedule/serve"
	"sched/schedule/view"
)

// A desk is where proposals are made and decided: the folder into which approved tasks are written,
// by the code that writes them for the API.
type desk struct {
	*app.App
	schedule *schedule.Schedule
	rules    proposal.Rules
	folder   serve.Folder
}

// openDesk loads the schedule. The folder is the one of --edit, or else the one of x-proposals.
func openDesk(a *app.App, edit string) (desk, error) {
	s, err := a.LoadToChange()
	if err != nil {
		return desk{}, err
	}
	rules, err := proposal.RulesOf(s)
	if err != nil {
		return desk{}, err
	}
	if edit != "" {
		rules.Folder = edit
	}
	if rules.Folder == "" {
		return desk{}, exit.Usage("add `include: [schedule.d/*.yaml]` and `x-proposals: {folder: schedule.d}` to it",
			"the schedule does not say where approved tasks are written")
	}
	config := serve.Config{StateDir: s.StateDir, Now: a.Now, Problem: a.Warn, Edit: rules.Folder,
		Schedules: serve.Schedules{Check: a.LoadAfterEdit, View: a.View}}
	who := serve.Who{Name: app.PersonName(), From: view.FromCommand}
	return desk{App: a, schedule: s, rules: rules, folder: serve.NewFolder(config, s, who)}, nil
}

// A Review says of a proposal what a careful colleague would.
type Review struct {
	proposal.Proposal
	Changed    bool                   `json:"schedule_changed"` // since it was proposed
	Problems   []string               `json:"problems"`         // for which it cannot be written
	Warnings   []string               `json:"warnings"`
	Assertions []proof                `json:"assertions"`
	Next       []humanize.JSONTime    `json:"next"`   // five times
	Mutex      []string               `json:"mutex"`  // the other tasks that have the mutex of this one
	Before     *forecast.ForecastSums `json:"before"` // of the next 7 days; null with problems
	After      *forecast.ForecastSums `json:"after"`
	Diff       []string               `json:"diff"`
}

type proof struct {
	Text  string `json:"text"`
	Holds bool   `json:"holds"`
	Why   string `json:"why,omitempty"`
}

const (
	provenYears = 28 // as for sched check
	shownTimes  = 5
	foreseen    = 7 * 24 * time.Hour
)

// review checks a proposal against the schedule as it is now. The error says why it cannot even be
// checked: its rules forbid it, or the task is defined elsewhere or has changed.
func (d desk) review(p proposal.Proposal) (Review, error) {
	r := Review{Proposal: p, Changed: p.Digest != d.schedule.Digest, Problems: []string{}, Warnings: []string{},
		Assertions: []proof{}, Next: []humanize.JSONTime{}, Mutex: []string{}, Diff: humanize.Difference(p.Old, p.Keys)}
	if err := proposal.CheckText(p.Keys); err != nil {
		return r, err
	}
	if err := d.rules.Check(d.folder.FileOf(p.Task, p.Keys), p.Task); err != nil {
		return r, err
	}
	draft, err := d.folder.Check(p.Task, p.Keys, p.Tag)
	if err != nil {
		return r, d.plainly(err, p)
	}
	for _, problem := range draft.Problems {
		text := fmt.Sprintf("line %d: %s", problem.Place.Line, problem.Text)
		if problem.Hint != "" {
			text += " (" + problem.Hint + ")"
		}
		r.Problems = append(r.Problems, humanize.Plain(text))
	}
	if draft.After != nil {
		d.judge(&r, draft)
	}
	return r, nil
}

// plainly says what a problem of the API means for a proposal.
func (d desk) plainly(err error, p proposal.Proposal) error {
	problem, ok := errors.AsType[*serve.Problem](err)
	switch {
	case !ok:
		return err
	case problem.IsStale():
		return view.Fail(view.Conflict, "propose it again", "%s has changed since it was proposed", p.Task)
	}
	detail := strings.Join(append([]string{problem.Detail}, problem.Problems...), "\n")
	return view.Fail(view.Invalid, problem.Hint, "%s", humanize.Plain(detail))
}

// judge fills in what is known of the schedule with the task.
func (d desk) judge(r *Review, draft serve.Draft) {
	now, before, after := d.Now(), d.schedule, draft.After
	var known []string
	for _, w := range before.Warnings {
		known = append(known, w.Text)
	}
	for _, w := range after.Warnings {
		if !slices.Contains(known, w.Text) {
			r.Warnings = append(r.Warnings, humanize.Plain(w.String()))
		}
	}
	broken := map[string]bool{}
	for _, p := range assertion.Prove(before, now, now.AddDate(provenYears, 0, 0)) {
		broken[p.Text] = p.Break != nil
	}
	for _, p := range assertion.Prove(after, now, now.AddDate(provenYears, 0, 0)) {
		shown := proof{Text: p.Text, Holds: p.Break == nil}
		if p.Break != nil {
			shown.Why = p.Break.Why
			if !broken[p.Text] {
				r.Problems = append(r.Problems, fmt.Sprintf("%s does not hold any more: %s", p.Text, p.Break.Why))
			}
		}
		r.Assertions = append(r.Assertions, shown)
	}
	for at, ok := draft.Task.When.Next(now); ok && len(r.Next) < shownTimes; at, ok = draft.Task.When.Next(at) {
		r.Next = append(r.Next, humanize.UTC(at))
	}
	for _, other := range after.Tasks {
		if other != draft.Task && draft.Task.WithoutOverlapping && other.Mutex == draft.Task.Mutex {
			r.Mutex = append(r.Mutex, other.Name)
		}
	}
	basis := forecast.ReadBasis(context.Background(), d.View(before),
		forecast.Input{Schedule: before, From: now, To: now.Add(foreseen), Servers: 1})
	then, later := forecast.Foresee(basis).JSON().Usual, forecast.Foresee(basis.WithSchedule(after)).JSON().Usual
	r.Before, r.After = &then, &later
}

// print prints a review for people. The texts of the proposal are of a stranger.
func (d desk) print(r Review) {
	zone := d.schedule.Location
	what := "a change of " + r.Task
	if r.Old == "" {
		what = "a new task, " + r.Task
	}
	if r.ID == "" {
		fmt.Fprintf(d.Out, "%s, which is not kept:\n", what)
	} else {
		fmt.Fprintf(d.Out, "%s  %s, proposed by %s at %s; it ends at %s\n", r.ID, what, humanize.Line(r.By),
			d.MinuteText(r.At, zone), d.MinuteText(r.Until, zone))
	}
	if r.Reason != "" {
		fmt.Fprintf(d.Out, "  because: %s\n", humanize.Line(r.Reason))
	}
	for _, line := range r.Diff {
		fmt.Fprintf(d.Out, "  %s\n", humanize.Plain(line))
	}
	for _, problem := range r.Problems {
		fmt.Fprintf(d.Out, "  problem: %s\n", problem)
	}
	for _, warning := range r.Warnings {
		fmt.Fprintf(d.Out, "  warning: %s\n", warning)
	}
	for _, p := range r.Assertions {
		if p.Holds {
			fmt.Fprintf(d.Out, "  holds: %s\n", humanize.Line(p.Text))
		}
	}
	if r.Changed {
		fmt.Fprintln(d.Out, "  the schedule has changed since, and this was checked again")
	}
	for _, at := range r.Next {
		fmt.Fprintf(d.Out, "  due at %s\n", d.MinuteText(at.Time, zone))
	}
	if len(r.Mutex) > 0 {
		fmt.Fprintf(d.Out, "  it shares its mutex with %s\n", strings.Join(r.Mutex, ", "))
	}
	if r.Before != nil {
		fmt.Fprintf(d.Out, "  in 7 days: %d starts for %d, %.0f runs at once for %.0f\n",
			r.After.Starts, r.Before.Starts, r.After.Runs.Most, r.Before.Runs.Most)
	}
}
