package pause

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/cmd/flags"
	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/pause"
)

type resumeOptions struct {
	tags    []string
	planned bool
	reason  string
}

func NewResume(a *app.App) *cobra.Command {
	var o resumeOptions
	c := &cobra.Command{
		Use:   "resume [TASK...]",
		Short: "End a pause, or take back a planned one",
		Long: `resume ends the pause of everything, or the pauses of the tasks that are named: on this machine, or
with a store on all servers of the schedule. Tasks that were paused by name stay paused until they
are resumed by name. To resume a task that is not paused is no failure: resume says so.

With --planned it takes back the pauses that have not begun yet; without, these stay.`,
		Example: `  sched resume --reason "4.2 is out"
  sched resume nightly-report
  sched resume --planned nightly-report`,
		Args: flags.Arguments(0, flags.Unlimited),
		RunE: func(_ *cobra.Command, args []string) error { return resume(a, args, o) },
	}
	flags.AddTag(c, &o.tags)
	c.Flags().BoolVar(&o.planned, "planned", false, "take back the pauses that have not begun yet instead")
	flags.AddReason(c, &o.reason)
	return c
}

func resume(a *app.App, names []string, o resumeOptions) error {
	s, err := a.LoadToChange()
	if err != nil {
		return err
	}
	controls, err := a.Controls(s).Read()
	if err != nil {
		return exit.Failed("", "cannot resume: %w", err)
	}
	actor := a.Actor(s)
	if names, err = actor.ChooseTasks(controls.Pauses, names, o.tags); err != nil {
		return err
	}
	isChosen, reason := actor.InEffect, o.reason
	if o.planned {
		isChosen, reason = actor.ToCome, control.Because(control.PlannedEnded, reason)
	}
	ended, err := actor.Resume(names, isChosen)
	if err != nil {
		return exit.Failed("", "cannot resume: %w", err)
	}
	changed := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return len(ended[name]) == 0 })
	if len(changed) > 0 {
		a.NoteChange(s, "resume", strings.Join(changed, ", "), reason)
	}
	if o.planned {
		sayTakenBack(a, s, names, ended)
		return nil
	}
	r := resumption{names: names, ended: ended, earlier: controls.Pauses, now: a.Now()}
	return sayResumed(a, s, r)
}

func sayTakenBack(a *app.App, s *schedule.Schedule, names []string, ended pause.Pauses) {
	for _, name := range names {
		for _, planned := range ended[name] {
			fmt.Fprintf(a.Out, "%s will not be %s\n", subject(name), planned.Text(a.Now(), s.Location))
		}
		if len(ended[name]) == 0 {
			fmt.Fprintf(a.Out, "no pause of %s is planned\n", subject(name))
		}
	}
}

// A resumption is what resume without --planned has done.
type resumption struct {
	names   []string     // all that were to be resumed
	ended   pause.Pauses // the pauses that it has ended
	earlier pause.Pauses // the pauses before it
	now     time.Time
}

// sayResumed says what became of each name, and which pauses stay. It returns exit 1 if one of the
// names stays paused:
//
//   - by the schedule, whose pauses nobody can end, or
//   - with everything, and there was no pause of the task that could end.
func sayResumed(a *app.App, s *schedule.Schedule, r resumption) error {
	byFile := pausedByFile(s, r.names, r.now)
	for _, p := range byFile {
		a.WarnWithHint(fmt.Sprintf("change that at %s", p.place),
			"%s is %s", subject(p.name), p.pause.Text(r.now, s.Location))
	}
	for _, name := range r.names {
		isPausedByFile := slices.ContainsFunc(byFile, func(p filePause) bool { return p.name == name })
		if pauses := r.ended[name]; len(pauses) > 0 {
			fmt.Fprintf(a.Out, "%s is resumed; it was %s\n", subject(name), pauses[0].Text(r.now, s.Location))
		} else if !isPausedByFile {
			fmt.Fprintln(a.Out, r.notPaused(name))
		}
		for _, planned := range r.earlier.ToCome(name, r.now) {
			fmt.Fprintf(a.Out, "  it will be %s\n", planned.Text(r.now, s.Location))
		}
	}
	sayPausesThatStay(a, s, r)
	if len(byFile) > 0 || r.staysWithEverything(s) {
		return &exit.Error{Code: exit.Failure}
	}
	return nil
}

// A filePause is a pause of the schedule that covers a task, or everything, now.
type filePause struct {
	name  string // of the task, or pause.Everything
	pause pause.Pause
	place schedule.Place
}

// pausedByFile returns which of the names the schedule pauses now, and how.
func pausedByFile(s *schedule.Schedule, names []string, now time.Time) (paused []filePause) {
	for _, p := range s.Pauses {
		from, until, ok := p.At(now)
		if !ok {
			continue
		}
		for _, name := range names {
			t := s.Task(name)
			if name == pause.Everything && p.Everything || t != nil && t.Obeys(p) {
				paused = append(paused, filePause{name: name, pause: pause.OfFile(p, from, until), place: p.Place})
			}
		}
	}
	return paused
}

// sayPausesThatStay says which tasks stay paused by their own names when everything is resumed, or
// that everything stays paused.
func sayPausesThatStay(a *app.App, s *schedule.Schedule, r resumption) {
	if !slices.Contains(r.names, pause.Everything) {
		if everything, ok := r.earlier.InEffect(pause.Everything, r.now); ok {
			a.WarnWithHint(fmt.Sprintf("`sched resume%s` ends that", a.ConfigFlag()),
				"everything is %s", everything.Text(r.now, s.Location))
		}
		return
	}
	for _, name := range r.earlier.Tasks(r.now) {
		p, _ := r.earlier.InEffect(name, r.now)
		fmt.Fprintf(a.Out, "%s stays %s; `sched resume%s %s` ends that\n",
			name, p.Text(r.now, s.Location), a.ConfigFlag(), name)
	}
}

// staysWithEverything reports whether everything stays paused, and a named task with it: resume has
// ended no pause of that task alone.
func (r resumption) staysWithEverything(s *schedule.Schedule) bool {
	if !r.leavesEverythingPaused() {
		return false
	}
	return slices.ContainsFunc(r.names, func(name string) bool {
		t := s.Task(name)
		return t != nil && !t.EvenWhenPaused && len(r.ended[name]) == 0
	})
}

// leavesEverythingPaused reports whether everything is paused, and resume was not to end that.
func (r resumption) leavesEverythingPaused() bool {
	_, everythingPaused := r.earlier.InEffect(pause.Everything, r.now)
	return everythingPaused && !slices.Contains(r.names, pause.Everything)
}

func (r resumption) notPaused(name string) string {
	switch {
	case name == pause.Everything && len(r.earlier.Tasks(r.now)) == 0:
		return "nothing is paused"
	case name == pause.Everything:
		return "not everything is paused"
	case r.leavesEverythingPaused():
		return name + " is not paused by its name"
	}
	return name + " is not paused"
}
