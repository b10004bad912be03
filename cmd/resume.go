package cmd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/pause"
)

type resumeOptions struct {
	tags    []string
	planned bool
	reason  string
}

type resumeCommand struct{ *app }

func newResumeCommand(a *app) *cobra.Command {
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
		Args: arguments(0, unlimited),
		RunE: func(_ *cobra.Command, args []string) error { return resumeCommand{a}.resume(args, o) },
	}
	addTagFlag(c, &o.tags)
	c.Flags().BoolVar(&o.planned, "planned", false, "take back the pauses that have not begun yet instead")
	addReasonFlag(c, &o.reason)
	return c
}

func (a resumeCommand) resume(names []string, o resumeOptions) error {
	s, err := a.loadToChange()
	if err != nil {
		return err
	}
	orders, err := a.controls(s).Read()
	if err != nil {
		return failed("", "cannot resume: %w", err)
	}
	actor := a.actor(s)
	if names, err = actor.ChooseTasks(orders.Pauses, names, o.tags); err != nil {
		return err
	}
	isChosen, reason := actor.InEffect, o.reason
	if o.planned {
		isChosen, reason = actor.ToCome, control.Because(control.PlannedEnded, reason)
	}
	ended, err := actor.Resume(names, isChosen)
	if err != nil {
		return failed("", "cannot resume: %w", err)
	}
	changed := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return len(ended[name]) == 0 })
	if len(changed) > 0 {
		a.noteChange(s, "resume", strings.Join(changed, ", "), reason)
	}
	if o.planned {
		a.sayTakenBack(s, names, ended)
		return nil
	}
	return a.sayResumed(s, names, ended, orders.Pauses)
}

// sayTakenBack says which planned pauses were taken back.
func (a resumeCommand) sayTakenBack(s *schedule.Schedule, names []string, ended pause.Pauses) {
	for _, name := range names {
		for _, planned := range ended[name] {
			fmt.Fprintf(a.out, "%s will not be %s\n", pauseSubject(name), planned.Text(a.now(), s.Location))
		}
		if len(ended[name]) == 0 {
			fmt.Fprintf(a.out, "no pause of %s is planned\n", pauseSubject(name))
		}
	}
}

// sayResumed says what became of each name, and which pauses stay. The error is an exit code. It
// says that one of the names stays paused:
//
//   - by the schedule, whose pauses nobody can end, or
//   - with everything, and there was no pause of the task that could end.
func (a resumeCommand) sayResumed(s *schedule.Schedule, names []string, ended, earlier pause.Pauses) error {
	now := a.now()
	byFile := pausedByFile(s, names, now)
	for _, p := range byFile {
		a.problemWithHint(fmt.Sprintf("change that at %s", p.place),
			"%s is %s", pauseSubject(p.name), p.pause.Text(now, s.Location))
	}
	for _, name := range names {
		isOfName := func(p filePause) bool { return p.name == name }
		if pauses := ended[name]; len(pauses) > 0 {
			fmt.Fprintf(a.out, "%s is resumed; it was %s\n", pauseSubject(name), pauses[0].Text(now, s.Location))
		} else if !slices.ContainsFunc(byFile, isOfName) {
			fmt.Fprintln(a.out, notPaused(names, name, earlier, now))
		}
		for _, planned := range earlier.ToCome(name, now) {
			fmt.Fprintf(a.out, "  it will be %s\n", planned.Text(now, s.Location))
		}
	}
	a.sayPausesThatStay(s, names, earlier)
	if len(byFile) > 0 || staysWithEverything(s, names, ended, earlier, now) {
		return &exit{code: exitFailed}
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
			if name == pause.Everything && p.Everything || t != nil && p.IsFor(t) {
				paused = append(paused, filePause{name: name, pause: pause.OfFile(p, from, until), place: p.Place})
			}
		}
	}
	return paused
}

// sayPausesThatStay says which tasks stay paused by their own names when everything is resumed, or
// that everything stays paused.
func (a resumeCommand) sayPausesThatStay(s *schedule.Schedule, names []string, earlier pause.Pauses) {
	now := a.now()
	if !slices.Contains(names, pause.Everything) {
		if everything, ok := earlier.InEffect(pause.Everything, now); ok {
			a.problemWithHint(fmt.Sprintf("`sched resume%s` ends that", a.configFlag()),
				"everything is %s", everything.Text(now, s.Location))
		}
		return
	}
	for _, name := range earlier.Tasks(now) {
		p, _ := earlier.InEffect(name, now)
		fmt.Fprintf(a.out, "%s stays %s\n", name, p.Text(now, s.Location))
	}
}

// staysWithEverything reports whether everything stays paused, and with it a named task of which
// resume has ended no pause.
func staysWithEverything(
	s *schedule.Schedule, names []string, ended, earlier pause.Pauses, now time.Time,
) bool {
	_, everythingPaused := earlier.InEffect(pause.Everything, now)
	if !everythingPaused || slices.Contains(names, pause.Everything) {
		return false
	}
	return slices.ContainsFunc(names, func(name string) bool {
		t := s.Task(name)
		return t != nil && !t.EvenWhenPaused && len(ended[name]) == 0
	})
}

// notPaused says that there was no pause of the name to end. names are all that were to be resumed.
func notPaused(names []string, name string, earlier pause.Pauses, now time.Time) string {
	_, everythingPaused := earlier.InEffect(pause.Everything, now)
	switch {
	case name == pause.Everything && len(earlier.Tasks(now)) == 0:
		return "nothing is paused"
	case name == pause.Everything:
		return "not everything is paused"
	case everythingPaused && !slices.Contains(names, pause.Everything):
		return name + " is not paused by its name"
	}
	return name + " is not paused"
}
