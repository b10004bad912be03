package serve

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/assertion"
	"sched/schedule/control"
	"sched/schedule/forecast"
	"sched/schedule/humanize"
	"sched/schedule/proposal"
	"sched/schedule/view"
)

// A Desk is where proposals are reviewed and decided: the folder into which approved tasks are
// written, with the rules of the schedule.
type Desk struct {
	Folder
	rules proposal.Rules
}

// An OpenDesk is NewDesk or DeskToReject.
type OpenDesk func(Config, *schedule.Schedule, Who) (Desk, error)

// NewDesk returns the desk of a schedule, as NewFolder does. Without c.Edit the folder is the one
// of x-proposals. The error also says that the schedule names no folder.
func NewDesk(c Config, s *schedule.Schedule, who Who) (Desk, error) {
	rules, err := proposal.RulesOf(s)
	if err != nil {
		return Desk{}, err
	}
	if c.Edit = cmp.Or(c.Edit, rules.Folder); c.Edit == "" {
		return Desk{}, view.Fail(view.Invalid,
			"add `include: [schedule.d/*.yaml]` and `x-proposals: {folder: schedule.d}` to it",
			"the schedule does not say where approved tasks are written")
	}
	return Desk{NewFolder(c, s, who), rules}, nil
}

// DeskToReject is NewDesk for Reject alone, which needs neither rules nor a folder.
func DeskToReject(c Config, s *schedule.Schedule, who Who) (Desk, error) {
	return Desk{Folder: NewFolder(c, s, who)}, nil
}

// A Review says of a proposal what a careful colleague would.
type Review struct {
	proposal.Proposal
	Changed    bool                   `json:"schedule_changed"` // since it was proposed
	Problems   []string               `json:"problems"`         // for which it cannot be written
	Warnings   []string               `json:"warnings"`
	Assertions []Proof                `json:"assertions"`
	Next       []humanize.JSONTime    `json:"next"`   // five times
	Mutex      []string               `json:"mutex"`  // the other tasks that have the mutex of this one
	Before     *forecast.ForecastSums `json:"before"` // of the next 7 days; null with problems
	After      *forecast.ForecastSums `json:"after"`
	Diff       []string               `json:"diff"`
}

// A Proof says of an assertion whether it holds with the proposed task.
type Proof struct {
	Text  string `json:"text"`
	Holds bool   `json:"holds"`
	Why   string `json:"why,omitempty"`
}

const (
	provenYears = 28 // as for sched check
	shownTimes  = 5
	foreseen    = 7 * 24 * time.Hour
)

// Review checks a proposal against the schedule as it is now. The error says why it cannot even be
// checked: its rules forbid it, or the task is defined elsewhere or has changed.
func (d Desk) Review(ctx context.Context, p proposal.Proposal) (Review, error) {
	r := Review{Proposal: p, Changed: p.Digest != d.Schedule.Digest, Problems: []string{}, Warnings: []string{},
		Assertions: []Proof{}, Next: []humanize.JSONTime{}, Mutex: []string{}, Diff: humanize.Difference(p.Old, p.Keys)}
	if err := proposal.CheckText(p.Keys); err != nil {
		return r, err
	}
	if err := d.rules.Check(d.FileOf(p.Task, p.Keys), p.Task); err != nil {
		return r, err
	}
	draft, err := d.Check(p.Task, p.Keys, p.Tag)
	if err != nil {
		return r, plainly(err, p)
	}
	for _, problem := range draft.Problems {
		text := fmt.Sprintf("line %d: %s", problem.Place.Line, problem.Text)
		if problem.Hint != "" {
			text += " (" + problem.Hint + ")"
		}
		r.Problems = append(r.Problems, humanize.Plain(text))
	}
	if draft.After != nil {
		d.judge(ctx, &r, draft)
	}
	return r, nil
}

// plainly says what a problem of the API means for a proposal.
func plainly(err error, p proposal.Proposal) error {
	problem, ok := errors.AsType[*Problem](err)
	switch {
	case !ok, problem.Status >= http.StatusInternalServerError: // it may go well a second later
		return err
	case problem.IsStale():
		return view.Fail(view.Conflict, "propose it again", "%s has changed since it was proposed", p.Task)
	}
	detail := strings.Join(append([]string{problem.Detail}, problem.Problems...), "\n")
	return view.Fail(view.Invalid, problem.Hint, "%s", humanize.Plain(detail))
}

// judge fills in what is known of the schedule with the task.
func (d Desk) judge(ctx context.Context, r *Review, draft Draft) {
	now, before, after := d.server.Now(), d.Schedule, draft.After
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
		shown := Proof{Text: p.Text, Holds: p.Break == nil}
		if p.Break != nil {
			shown.Why = p.Break.Why
			if !broken[p.Text] {
				r.Problems = append(r.Problems, fmt.Sprintf("%s does not hold any more: %s", p.Text, p.Break.Why))
			}
		}
		r.Assertions = append(r.Assertions, shown)
	}
	for at, ok := draft.Task.NextRun(now); ok && draft.Task.Enabled && len(r.Next) < shownTimes; {
		r.Next = append(r.Next, humanize.UTC(at))
		at, ok = draft.Task.NextRun(at)
	}
	for _, other := range after.Tasks {
		if other != draft.Task && draft.Task.WithoutOverlapping && other.Mutex == draft.Task.Mutex {
			r.Mutex = append(r.Mutex, other.Name)
		}
	}
	basis := forecast.ReadBasis(ctx, d.View,
		forecast.Input{Schedule: before, From: now, To: now.Add(foreseen), Servers: 1})
	then, later := forecast.Foresee(basis).JSON().Usual, forecast.Foresee(basis.WithSchedule(after)).JSON().Usual
	r.Before, r.After = &then, &later
}

// Approve checks the proposal with an id again, writes its task, and forgets it. With problems it
// writes nothing: the error is a *Problem, and the review has them. If a kill came between the
// write and the end of the proposal, the file says the same already.
func (d Desk) Approve(ctx context.Context, id, reason string) (r Review, err error) {
	err = d.decide(id, reason, func(p proposal.Proposal, why string) error {
		r.Proposal = p
		written, err := d.Written(p.Task)
		if err == nil && bytes.Equal(d.FileOf(p.Task, written.Keys), d.FileOf(p.Task, p.Keys)) {
			return nil
		}
		if r, err = d.Review(ctx, p); err != nil {
			return err
		}
		if len(r.Problems) > 0 {
			refused := conflict("`sched reject` forgets it", "%s cannot be written", p.Task)
			refused.Problems = r.Problems
			return refused
		}
		_, _, err = d.Save(p.Task, []byte(p.Keys), p.Tag, why)
		return plainly(err, p)
	})
	return r, err
}

// Reject forgets the proposal with an id.
func (d Desk) Reject(id, reason string) (rejected proposal.Proposal, err error) {
	err = d.decide(id, reason, func(p proposal.Proposal, why string) error {
		rejected = p
		return d.Audit("reject", p.Task, why, func() error { return nil })
	})
	return rejected, err
}

// decide calls do with a proposal while nobody else decides, and forgets the proposal if do returns
// no error. The log of changes has the text why, which names who proposed.
func (d Desk) decide(id, reason string, do func(p proposal.Proposal, why string) error) error {
	if err := checkReason(reason); err != nil {
		return err
	}
	return proposal.Decide(d.Schedule.StateDir, id, d.server.Now(), func(p proposal.Proposal) error {
		return do(p, becauseOf(p, reason))
	})
}

// becauseOf returns why a proposal is decided: who proposed it and their reason, and then the
// reason of who decides. Their reason is cut if all of it would be too long.
func becauseOf(p proposal.Proposal, reason string) string {
	whole := func(theirs string) string {
		return control.Because(control.Because("proposed by "+p.By, theirs), reason)
	}
	text := whole(p.Reason)
	if over := len([]rune(text)) - maxReason; over > 0 {
		theirs := []rune(control.Reason(p.Reason))
		text = whole(string(theirs[:max(0, len(theirs)-over)]))
	}
	return string([]rune(text)[:min(len([]rune(text)), maxReason)])
}
