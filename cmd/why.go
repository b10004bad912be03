package cmd

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"sched/schedule"
	"sched/schedule/history"
	"sched/schedule/outcome"
	"sched/schedule/records"
	"sched/schedule/runfile"
)

type whyOptions struct {
	at   string
	json bool
}

// A whyCommand is `sched why`.
type whyCommand struct{ *app }

func newWhyCommand(a *app) *cobra.Command {
	var o whyOptions
	c := &cobra.Command{
		Use:   "why TASK",
		Short: "Explain when a task ran, or why it did not, and what could stop it",
		Long: `why explains one minute of a task: whether it was due, and if not which field of which expression
said no; what became of it, and what it means if nothing was recorded; or, for a minute to come,
whether it will be due, and which condition will be in the way.

Without --at it explains the last minute at which the task was due and the next one, and says what
could stop it.`,
		Example: `  sched why nightly-report
  sched why nightly-report --at "2026-03-29 02:30"`,
		Args: arguments(1, 1),
		RunE: func(_ *cobra.Command, args []string) error { return whyCommand{a}.why(args[0], o) },
	}
	c.Flags().StringVar(&o.at, "at", "", "explain this minute (2006-01-02 15:04, 14:30 or tomorrow 9:00 in the schedule's zone, or RFC 3339)")
	c.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return c
}

type whyJSON struct {
	Task     string        `json:"task"`
	Cron     []string      `json:"cron"`
	Timezone string        `json:"timezone"`
	Off      string        `json:"off"`         // why the task does not run here at all
	Asks     []string      `json:"asks"`        // the commands that are asked whether it may run
	Down     string        `json:"maintenance"` // that keeps it from running at this moment
	Running  []runningJSON `json:"running"`     // of this task, now
	Waiting  []waitingJSON `json:"waiting"`     // for a tick: what was asked for, and next attempts
	Minute   *minuteJSON   `json:"minute"`      // the one that --at names
	Last     *minuteJSON   `json:"last"`        // without --at: when it was due last,
	Next     *minuteJSON   `json:"next"`        // and next
	Free     *string       `json:"free"`        // where the next slots would be skipped: the first that would not
	Held     string        `json:"held"`        // who has its mutex now
	Failures int           `json:"failures"`
	Paused   *pausedJSON   `json:"paused"`  // who paused it
	NoTicks  string        `json:"no_tick"` // that none come any more; else empty
}

// why explains a task, or one minute of it.
func (a whyCommand) why(name string, o whyOptions) error {
	a.look()
	s, err := a.loadAnyway()
	if err != nil {
		return err
	}
	at, clock, err := a.parseMinute(o.at, s.Location)
	if err != nil {
		return err
	}
	all, err := a.openRecords(s)
	if err != nil {
		return err
	}
	defer all.Close()
	t, err := task(s, name)
	if err != nil {
		return noLongerThere(all, name, err)
	}
	w := a.inquire(s, t, all)
	answer := w.answer()
	if o.at != "" {
		if answer.Minute, err = w.minute(at); err == nil && clock != "" {
			answer.Minute.Clock = clock
		}
	} else {
		err = w.lastAndNext(&answer)
	}
	if err != nil {
		return err
	}
	if o.json {
		return a.printJSON(answer)
	}
	a.printWhy(w, answer)
	return nil
}

// noLongerThere is the error for a task that is not in the schedule: err, with a hint where the history has it.
func noLongerThere(all *records.Records, name string, err error) error {
	found, _ := all.Find(ctx, history.Query{Task: name, Limit: 1})
	var e *exit
	if errors.As(err, &e) && len(found) > 0 {
		return failed("what is remembered of it is in `sched history "+name+"`", "%w any more", e.err)
	}
	return err
}

// inquire collects what there is to know about a task at this moment.
func (a whyCommand) inquire(s *schedule.Schedule, t *schedule.Task, all *records.Records) *inquiry {
	w := &inquiry{app: a.app, s: s, task: t, now: a.now(), records: all, lost: all.Lost, waiting: a.waiting(s, all.Live)[t.Name], pauses: a.mustPauses(s)}
	for _, state := range all.Live {
		if state.Deferred() {
			w.deferred = append(w.deferred, state)
		} else {
			w.live = append(w.live, state)
		}
	}
	return w
}

// answer is what can be said of the task without a minute in mind.
func (w *inquiry) answer() whyJSON {
	t := w.task
	answer := whyJSON{Task: t.Name, Timezone: t.When.Location.String(), Asks: conditionTexts(t), Running: running(w.live, t.Name)}
	if answer.Paused = pausedNow(w.pauses, t, w.now); answer.Paused != nil {
		for i := range w.waiting {
			w.waiting[i].paused = answer.Paused
		}
	}
	answer.Waiting = append([]waitingJSON{}, w.waiting...)
	for _, cron := range t.When.Crons {
		answer.Cron = append(answer.Cron, cron.String())
	}
	answer.NoTicks = w.app.ticksMissing(w.s)
	if !w.s.Active(t) {
		answer.Off = switchedOff(w.s, t)
	}
	if !t.EvenInMaintenance {
		answer.Down = w.app.maintenance(w.s)
	}
	return answer
}

// running returns the live runs of a task.
func running(live []runfile.State, name string) []runningJSON {
	all := []runningJSON{}
	for _, state := range live {
		if state.Begin.Task == name {
			all = append(all, toRunningJSON(state))
		}
	}
	return all
}

// lastAndNext explains the last minute at which the task was due, the next one, and what could stop it.
func (w *inquiry) lastAndNext(answer *whyJSON) (err error) {
	t := w.task
	if last, ok := t.When.Previous(w.now.Add(1)); ok {
		if answer.Last, err = w.minute(last); err != nil {
			return err
		}
	}
	next, ok := t.When.Next(w.now)
	if ok {
		if answer.Next, err = w.minute(next); err != nil {
			return err
		}
		answer.Free = w.free(next)
		w.next = next
	}
	answer.Held = holderOf(w.live, w.task)
	answer.Failures, err = w.failures()
	return err
}

// free is the first slot after next that no condition keeps from running; nil where none keeps next itself, and where no
// such slot was found.
func (w *inquiry) free(next time.Time) *string {
	if w.task.UnmetCondition(next) == "" {
		return nil
	}
	if met, ok := w.task.NextRun(next); ok {
		text := w.zoned(met).Format(time.RFC3339)
		return &text
	}
	return nil
}

// mostFailures is how many failures in a row are counted at most.
const mostFailures = 100

// failures is how many of the last runs failed in a row, at most mostFailures.
func (w *inquiry) failures() (n int, err error) {
	ran, err := w.records.Find(ctx, history.Query{Task: w.task.Name, Outcomes: outcome.Ran, Limit: mostFailures})
	for n < len(ran) && ran[n].Outcome.Failure() {
		n++
	}
	return n, err
}

// zoned is a time in the zone of the task.
func (w *inquiry) zoned(t time.Time) time.Time { return t.In(w.task.When.Location) }
