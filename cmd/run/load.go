package run

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/cmd/terminal"
	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/load"
	"sched/schedule/preflight"
	"sched/schedule/statedir"
	"sched/schedule/tick"
	"sched/schedule/view"
)

// This file reads what a tick needs: its schedule and its minute. It prints what is wrong with the
// file, the same problems once an hour, because cron mails what ticks print.

// loadTick returns the tick that the flags ask for. invalidExit is the exit of a tick that runs
// although the file is not all valid; else nil.
func loadTick(a *app.App, o options, now time.Time) (t *tick.Tick, invalidExit, err error) {
	s, invalidExit, err := loadForTick(a, o)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range o.held {
		if task := s.Task(name); task != nil {
			task.Enabled = false
		}
	}
	if o.wait {
		for _, task := range s.Tasks {
			task.Background = false
		}
	}
	minute, err := parseMinute(a, o, now, s.Location)
	if err != nil {
		return nil, nil, err
	}
	if o.Only != "" {
		if _, err := view.FindTask(s, o.Only); err != nil {
			return nil, nil, err
		}
	}
	t = newTick(a, s, minute, o)
	t.Began = now
	return t, invalidExit, nil
}

// parseMinute returns the minute of the tick, from --at or from now. A future minute is usually a
// mistake: the tick would run its tasks now, and the tick that cron starts then would run them
// again.
func parseMinute(a *app.App, o options, now time.Time, zone *time.Location) (time.Time, error) {
	if o.at == "" {
		return now.Truncate(time.Minute), nil
	}
	at, err := a.ParseTime("at", o.at, zone)
	if err != nil {
		return at, err
	}
	minute := at.Truncate(time.Minute)
	if minute.Sub(now) > maxAhead && !o.force && !o.dryRun {
		return minute, exit.Usage("see what it would run with --dry-run; --force runs it now",
			"%s is yet to come: it is %s now", humanize.MinuteZone(minute, zone), humanize.MinuteZone(now, zone))
	}
	return minute, nil
}

// loadForTick loads the schedule of a tick, and prints what is wrong with it:
//
//   - The file is valid: loadForTick returns its schedule.
//   - The file is invalid: it returns the schedule that runs in its place. If there is none, or
//     with --strict, it returns an error.
//   - Some lines of a crontab cannot run: it returns the schedule without them, or with --strict an
//     error.
//   - Other users can write the state folder: it returns an error.
//
// invalidExit is the exit of a tick that runs although the file is not all valid; else nil.
func loadForTick(a *app.App, o options) (s *schedule.Schedule, invalidExit, err error) {
	a.IsTick = o.at == "" && o.Only == "" // else a person called it
	s, invalid, err := a.LoadLastValid()
	if err != nil {
		return nil, nil, reportNothingRuns(a, err, o)
	}
	if o.dryRun {
		if all := a.AsTicksHaveIt(s.File, invalid); all != nil {
			s, invalid = all, nil
		}
	}
	isReplaced := invalid != nil
	if !isReplaced && len(s.BadLines) > 0 {
		invalid = &load.InvalidError{Problems: s.BadLines, StateDir: s.StateDir}
	}
	switch {
	case invalid != nil && o.strict:
		return nil, nil, reportNothingRuns(a, invalid, o)
	case isReplaced && o.dryRun:
		reportToPreview(a, s, invalid)
	case isReplaced:
		// If s leaves out tasks of the file, each tick says so.
		if _, printed := reportHourly(a, invalid, o); printed || s.Without != nil && !o.Quiet {
			a.Warn("%s is invalid; running %s", filepath.Base(s.File), s.InPlace())
		}
	case invalid != nil:
		if _, printed := reportHourly(a, invalid, o); printed {
			count := humanize.Count(len(s.BadLines), "line")
			a.Warn("%s of %s cannot run; the others do", count, filepath.Base(s.File))
		}
	}
	if err := app.CheckState(s); err != nil {
		return nil, nil, err
	}
	warnOfOtherRelease(a, s)
	if invalid != nil {
		return s, &exit.Error{Code: exit.Invalid}, nil
	}
	if !o.dryRun {
		os.Remove(filepath.Join(s.StateDir, printedFile)) // the next tick with problems prints them
	}
	return s, nil, nil
}

// warnOfOtherRelease warns of a first tick in a release: the state of the one before it stays
// behind.
func warnOfOtherRelease(a *app.App, s *schedule.Schedule) {
	if release := preflight.ReleaseOf(s); release != nil && release.IsNew() {
		if left := release.LeftBehind(); left != "" {
			a.WarnWithHint(release.Hint(), "the state folder is new, because the link %s was moved: "+
				"history, pauses and locks are in %s, and what still runs may start once more", release.Link, left)
		}
	}
}

// reportToPreview prints the problems for a dry run. It counts the tasks that lack a variable or a
// file: the preview itself says which of them it would skip.
func reportToPreview(a *app.App, s *schedule.Schedule, err error) {
	if invalid, ok := errors.AsType[*load.InvalidError](err); ok {
		isLack := func(p schedule.Problem) bool { return p.Lacks != "" }
		problems := a.CountMistakes(invalid, "task", isLack)
		if len(problems) == 0 {
			return
		}
		err = &load.InvalidError{Problems: problems}
	}
	a.Report(err)
	a.Warn("%s is invalid; running %s", filepath.Base(s.File), s.InPlace())
}

// reportNothingRuns prints why a tick has no schedule, and returns the exit of the tick. Each such
// tick says in a line that nothing runs until the file is valid.
func reportNothingRuns(a *app.App, err error, o options) error {
	code, _ := reportHourly(a, err, o)
	_, isInvalid := errors.AsType[*load.InvalidError](err)
	file, fileErr := a.FindConfig()
	noteUnloaded(a, err, o)
	if isInvalid && fileErr == nil && !errors.Is(err, os.ErrNotExist) {
		a.Warn("nothing runs until %s is valid", filepath.Base(file))
	}
	return &exit.Error{Code: code}
}

// noteUnloaded notes for later ticks that this one came, and why it could load no schedule.
func noteUnloaded(a *app.App, err error, o options) {
	invalid, ok := errors.AsType[*load.InvalidError](err)
	isTick := !o.dryRun && o.at == "" && o.Only == ""
	if !ok || !isTick || invalid.StateDir == "" || statedir.Check(invalid.StateDir) != nil {
		return
	}
	why, _, _ := strings.Cut(invalid.Error(), "\n")
	statedir.NoteUnloaded(invalid.StateDir, a.Now().Truncate(time.Minute), humanize.Line(why))
}

// reportHourly prints an error of loading and returns its exit code. It does not print the problems
// of an invalid schedule if a tick printed the same problems in the last hour.
func reportHourly(a *app.App, err error, o options) (code int, printed bool) {
	note := noteOf(a, err, o)
	if note.isRecent(a.Now()) {
		return exit.Invalid, false
	}
	code = a.Report(err)
	note.write(a.Now())
	return code, true
}

// A printedNote says which problems of the schedule a tick printed last, and when. It is a file of
// the state folder, until the schedule is valid again. The zero note is not recent, and write does
// nothing.
type printedNote struct {
	stateDir string
	digest   string // of the problems of this tick
}

const (
	printedFile   = "printed-problems"
	repeatInvalid = time.Hour
)

// noteOf returns the note for the problems of an invalid schedule. It returns the zero note if this
// tick shall print them in any case: to a terminal, with -v or --dry-run, and if no state folder
// can be trusted.
func noteOf(a *app.App, err error, o options) printedNote {
	invalid, ok := errors.AsType[*load.InvalidError](err)
	if !ok || o.dryRun || o.Verbose || terminal.Is(a.Err) || statedir.Check(invalid.StateDir) != nil {
		return printedNote{}
	}
	sum := sha256.New()
	for _, p := range invalid.Problems {
		fmt.Fprintln(sum, p)
	}
	return printedNote{stateDir: invalid.StateDir, digest: fmt.Sprintf("%x", sum.Sum(nil))}
}

// isRecent reports whether a tick printed the same problems in the last hour.
func (n printedNote) isRecent(now time.Time) bool {
	if n.stateDir == "" {
		return false
	}
	text, _ := statedir.ReadFile(filepath.Join(n.stateDir, printedFile))
	digest, printed, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	at, err := time.Parse(time.RFC3339, printed)
	return err == nil && digest == n.digest && !now.Before(at) && now.Before(at.Add(repeatInvalid))
}

// write notes that a tick has printed the problems now. It makes no state folder, because an
// invalid schedule may name the wrong one.
func (n printedNote) write(now time.Time) {
	if _, err := os.Stat(n.stateDir); err != nil {
		return
	}
	line := fmt.Appendln(nil, n.digest, now.UTC().Format(time.RFC3339))
	statedir.Replace(filepath.Join(n.stateDir, printedFile), line)
}
