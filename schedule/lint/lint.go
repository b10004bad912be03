// Package lint warns of tasks and pauses that are valid, but probably do not do what their author
// meant. It runs nothing.
package lint

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/calendar"
	"sched/schedule/humanize"
)

// NeverRuns warns of each active task that will not run again: its times are over (`from`,
// `until`), or its conditions of time are unmet at every time at which it is due.
func NeverRuns(s *schedule.Schedule, now time.Time) (warnings []schedule.Problem) {
	for t := range s.ActiveTasks() {
		next, due := t.When.Next(now)
		if !due {
			if bounds := t.Bounds(); bounds != "" && len(t.When.Crons) > 0 {
				warnings = append(warnings, t.Problem(boundsKey(t),
					"move its `from` or `until`, or remove the task",
					"it is never due again: its times are those %s", bounds))
			}
			continue
		}
		if _, runs := t.NextRun(now); !runs {
			warnings = append(warnings, t.Problem(timingKey(t),
				"change the times, or `days`, `between`, `unless_between` and `except`",
				"it never runs: each time it is due it is kept from it, the next time since it is %s",
				t.UnmetCondition(next)))
		}
	}
	return warnings
}

// HooksNamedAsTasks warns of each hook whose whole command is the name of another task.
func HooksNamedAsTasks(s *schedule.Schedule) (warnings []schedule.Problem) {
	for t := range s.ActiveTasks() {
		for key, hook := range t.Hooks.All() {
			name := strings.TrimSpace(hook.Run.Line)
			if other := s.Task(name); name == "" || other == nil || other == t {
				continue
			}
			warnings = append(warnings, t.Problem(key, "write `{trigger: "+name+"}` to start the task",
				"%s: %s is a task, and here it is a command", key, name))
		}
	}
	return warnings
}

// timingKey returns the key that says when the task is due.
func timingKey(t *schedule.Task) string {
	switch {
	case len(t.TimeValues) > 0:
		return "schedule"
	case t.When.Every != "":
		return "every"
	}
	return "cron"
}

// boundsKey returns the key that bounds the times of the task: until, or from if there is no until.
func boundsKey(t *schedule.Task) string {
	if t.When.Until.IsZero() {
		return "from"
	}
	return "until"
}

// A foreground task is slow from slowFrom on: later tasks start noticeably late. If it takes
// tickEvery, it still runs when the next tick comes.
const (
	slowFrom  = 5 * time.Second
	tickEvery = time.Minute
)

// maxSlots is how many slots of a task the warnings look at.
const maxSlots = 200

// SlowForeground warns of each active foreground task that usually takes so long that later
// tasks start late, or that its tick takes over a minute. usual has the usual durations of tasks,
// by their names.
func SlowForeground(s *schedule.Schedule, usual map[string]time.Duration, now time.Time) (warnings []schedule.Problem) {
	for i, t := range s.Tasks {
		took := usual[t.Name]
		if t.Background || !s.Active(t) || took < slowFrom {
			continue
		}
		const hint = "with `background: true` nothing waits for it"
		waiting := dueWith(s, t, s.Tasks[i+1:], now)
		switch {
		case len(waiting) > 0:
			warnings = append(warnings, t.Problem("background", hint,
				"it usually takes %s in the foreground, and %s of the same time waits for it; "+
					"cron would run them side by side",
				humanize.Duration(took), firstOfNames(waiting)))
		case took >= tickEvery:
			warnings = append(warnings, t.Problem("background", hint,
				"it usually takes %s in the foreground, longer than there is between two ticks",
				humanize.Duration(took)))
		}
	}
	return warnings
}

// NeverCatchesUp warns of each active task with `missed: all` that usually takes longer than
// the time from one slot to the next: once it is late, it stays late.
func NeverCatchesUp(s *schedule.Schedule, usual map[string]time.Duration, now time.Time) (warnings []schedule.Problem) {
	for t := range s.ActiveTasks() {
		first, due := t.NextRun(now)
		if !due || !t.RunAllMissed {
			continue
		}
		if second, due := t.NextRun(first); due && usual[t.Name] >= second.Sub(first) {
			warnings = append(warnings, t.Problem("missed", "write `missed: once`",
				"it usually takes %s, and is due each %s: with missed: all it never catches up",
				humanize.Duration(usual[t.Name]), humanize.Duration(second.Sub(first))))
		}
	}
	return warnings
}

// dueWith returns the later tasks that run in the foreground and are due at a time at which t is
// due.
func dueWith(s *schedule.Schedule, t *schedule.Task, later []*schedule.Task, now time.Time) (names []string) {
	slots := make([]time.Time, 0, maxSlots)
	for next, ok := t.When.Next(now); ok && len(slots) < maxSlots; next, ok = t.When.Next(next) {
		slots = append(slots, next)
	}
	for _, other := range later {
		isDue := func(at time.Time) bool { return slices.ContainsFunc(other.When.Slots(at), at.Equal) }
		if !other.Background && s.Active(other) && slices.ContainsFunc(slots, isDue) {
			names = append(names, other.Name)
		}
	}
	return names
}

// firstOfNames returns the first of the names, and how many more there are.
func firstOfNames(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return fmt.Sprintf("%s (and %s)", names[0], humanize.Count(len(names)-1, "other"))
}

// LosesItsMutex warns of each active background task that does not wait for its mutex, and is
// due only at times at which a task above it takes the same mutex.
func LosesItsMutex(s *schedule.Schedule, now time.Time) (warnings []schedule.Problem) {
	takes := func(t *schedule.Task) bool { return t.Background && t.WithoutOverlapping && s.Active(t) }
	for i, t := range s.Tasks {
		if !takes(t) || t.MaxWait > 0 {
			continue
		}
		first := slices.IndexFunc(s.Tasks[:i], func(other *schedule.Task) bool {
			return takes(other) && other.Mutex == t.Mutex && onlyWith(t, other, now)
		})
		if first >= 0 {
			warnings = append(warnings, t.Problem("mutex",
				"write `without_overlapping: wait`, or give the two other times",
				"each time it is due, %s starts before it and takes their mutex %s: it is skipped",
				s.Tasks[first].Name, t.Mutex))
		}
	}
	return warnings
}

// onlyWith reports whether t runs only at times at which other runs, too. It looks at maxSlots
// slots.
func onlyWith(t, other *schedule.Task, now time.Time) bool {
	at, everDue := t.NextRun(now)
	for n, due := 0, everDue; due && n < maxSlots; n++ {
		if !slices.ContainsFunc(other.When.Slots(at), at.Equal) || other.UnmetCondition(at) != "" {
			return false
		}
		at, due = t.NextRun(at)
	}
	return everDue
}

// OverdueAnyway warns of each active task that will be overdue though it runs at all of its
// times: two of them lie further apart than expect.every.
func OverdueAnyway(s *schedule.Schedule, now time.Time) (warnings []schedule.Problem) {
	for _, t := range s.Expecting() {
		if t.Expect.Every == 0 {
			continue
		}
		if last, next, found := longGap(t, now); found {
			zone := t.When.Location
			warnings = append(warnings, t.Problem("expect.every",
				"make expect.every longer than the longest time between two runs",
				"it will be overdue though all is well: it does not run from %s to %s, and expect.every is %s",
				humanize.MinuteZone(last, zone), humanize.MinuteZone(next, zone), humanize.Duration(t.Expect.Every)))
		}
	}
	return warnings
}

// longGap returns two slots after now between which more time passes than Expect.Every. It looks at
// maxSlots slots.
func longGap(t *schedule.Task, now time.Time) (last, next time.Time, found bool) {
	last, ok := t.NextRun(now)
	for n := 0; ok && n < maxSlots; n++ {
		if next, ok = t.NextRun(last); ok && next.Sub(last) > t.Expect.Every {
			return last, next, true
		}
		last = next
	}
	return time.Time{}, time.Time{}, false
}

// TimesMeet warns of each active task with a time at which two entries of schedule are due, with
// other values for params: one run has the values of the last entry alone.
func TimesMeet(s *schedule.Schedule, now time.Time) (warnings []schedule.Problem) {
	for t := range s.ActiveTasks() {
		at, lost, won := meeting(t, now)
		if at.IsZero() {
			continue
		}
		warnings = append(warnings, t.Problem("schedule",
			"for a run with each write two tasks, or give the two other times",
			"%s is a time of two entries, and one run has the values of the last: %s, not %s",
			humanize.MinuteZone(at, t.When.Location), said(won), said(lost)))
	}
	return warnings
}

// meeting returns the first time at which two entries of schedule with other values are due, and
// these values. It looks at maxSlots slots of each entry.
func meeting(t *schedule.Task, now time.Time) (first time.Time, lost, won map[string]string) {
	for i, entry := range t.TimeValues {
		when := t.When
		when.Crons = entry.Crons
		at, due := when.Next(now)
		for n := 0; due && n < maxSlots && (first.IsZero() || at.Before(first)); n++ {
			others := slices.Concat(t.TimeValues[:i], t.TimeValues[i+1:])
			if i := slices.IndexFunc(others, func(other schedule.TimeValues) bool {
				when.Crons = other.Crons
				return !maps.Equal(other.Params, entry.Params) && slices.ContainsFunc(when.Slots(at), at.Equal)
			}); i >= 0 {
				first, won = at, t.ValuesAt(at)
				lost = others[i].Params
				if maps.Equal(lost, won) {
					lost = entry.Params
				}
			}
			when.Crons = entry.Crons
			at, due = when.Next(at)
		}
	}
	return first, lost, won
}

// said names values of params.
func said(values map[string]string) string {
	if len(values) == 0 {
		return "the defaults"
	}
	return strings.Join(schedule.Pairs(values), ", ")
}

// KeptFromWaiting warns of each active task whose slots do not wait for the end of a pause,
// though the file says so: it is due several times in a minute (GivesWay).
func KeptFromWaiting(s *schedule.Schedule, now time.Time) (warnings []schedule.Problem) {
	for t := range s.ActiveTasks() {
		if next, due := t.When.Next(now); due && t.RunAfterPause && t.GivesWay(next) {
			warnings = append(warnings, t.Problem("missed", "write `missed: once`",
				"missed: after_pause is once for what is due several times in a minute: "+
					"the next time is near when the pause is over"))
		}
	}
	return warnings
}

// HolidaysOver warns if the newest holiday has passed and a task depends on the holidays.
// Holidays of every year never pass.
func HolidaysOver(s *schedule.Schedule, now time.Time) []schedule.Problem {
	used := slices.ContainsFunc(s.Tasks, func(t *schedule.Task) bool { return len(t.Conditions.Holidays) > 0 })
	newest, today := s.Holidays.Newest(), calendar.DateOf(now.In(s.Location))
	if used && newest.Year > 0 && newest.Compare(today) < 0 {
		return []schedule.Problem{{
			Place: s.NewestHolidayAt,
			Text:  fmt.Sprintf("the newest of the holidays, %s, has passed", newest),
			Hint:  "add the days to come, or write a day of every year as 12-25",
		}}
	}
	return nil
}

// CalendarsEnd warns of calendars that a task has, and that end within 60 days or have ended.
func CalendarsEnd(s *schedule.Schedule, now time.Time) (warnings []schedule.Problem) {
	for _, c := range s.Calendars {
		text := c.EndText(calendar.DateOf(now.In(s.Location)))
		used := func(t *schedule.Task) bool {
			return t.When.Rule != nil && slices.Contains(t.When.Rule.Set, c.Calendar)
		}
		if text != "" && slices.ContainsFunc(s.Tasks, used) {
			const hint = "add its days to come, and say with `through` until when they are known"
			warnings = append(warnings, schedule.Problem{Place: c.Place, Text: text, Hint: hint})
		}
	}
	return warnings
}

// PausesOver warns of entries of `pauses` that will never come again.
func PausesOver(s *schedule.Schedule, now time.Time) (warnings []schedule.Problem) {
	for _, p := range s.Pauses {
		_, _, isInEffect := p.At(now)
		_, _, comesAgain := p.Next(now)
		if !isInEffect && !comesAgain {
			text := fmt.Sprintf("the pause %s is over", p)
			warnings = append(warnings, schedule.Problem{Place: p.Place, Text: text, Hint: "remove it"})
		}
	}
	return warnings
}

// AlwaysPaused warns of each active task whose times all lie in pauses of the file, from now
// on. It looks at one time of the task in each pause, and at maxSlots pauses.
func AlwaysPaused(s *schedule.Schedule, now time.Time) (warnings []schedule.Problem) {
	for t := range s.ActiveTasks() {
		next, due := t.NextRun(now)
		if !due || t.RunAfterPause {
			continue
		}
		if first := plannedPause(t, next); first != nil && onlyInPauses(t, next) {
			warnings = append(warnings, t.Problem(timingKey(t),
				"change the times of the task or of the pause, or write `missed: after_pause`",
				"it never runs: each time it is due it is paused, the next time by the pause %s", first))
		}
	}
	return warnings
}

// onlyInPauses reports whether a pause of the file covers the slot at, and the next slot after the
// end of that pause, and so on for maxSlots pauses.
func onlyInPauses(t *schedule.Task, at time.Time) bool {
	for n, due := 0, true; due && n < maxSlots; n++ {
		pause := plannedPause(t, at)
		if pause == nil {
			return false
		}
		_, until, _ := pause.At(at)
		at, due = t.NextRun(until.Add(-1))
	}
	return true
}

// plannedPause returns the pause of the file that covers a time of the task; nil for none.
func plannedPause(t *schedule.Task, at time.Time) *schedule.Pause {
	for _, p := range t.Pauses {
		if _, _, covers := p.At(at); covers {
			return p
		}
	}
	return nil
}

// BecomesUser warns of each active task whose command becomes another user by itself: su(1),
// runuser(1) and sudo(8) clear the environment and begin a session, and sudo closes the lock.
func BecomesUser(s *schedule.Schedule) (warnings []schedule.Problem) {
	for _, t := range s.Tasks {
		if program, user := becomes(t.Command); s.Active(t) && t.As.User == "" && isOtherUser(user) {
			warnings = append(warnings, t.Problem("command",
				fmt.Sprintf("if root runs sched, write `user: %s`, and the command without %s", user, program),
				"command: %s begins a session without the environment of the run, and what it leaves behind may be lost from view",
				program))
		}
	}
	return warnings
}

// isOtherUser reports whether a word of a command names a user, and not root.
func isOtherUser(word string) bool {
	return word != "" && word != "root" && !strings.Contains(word, "'")
}

var (
	quotedText     = humanize.Pattern(`'[^']*'|"(?:[^"\\]|\\.)*"`)
	simpleCommands = humanize.Pattern(`[;&|()\n]+`)
)

// becomes returns the program with which a command becomes another user, and that user. It returns
// "" if the command does not.
func becomes(c schedule.Command) (program, user string) {
	if len(c.List) > 0 {
		return becomesUser(c.List)
	}
	if !strings.Contains(c.Line, "su") && !strings.Contains(c.Line, "runuser") {
		return "", ""
	}
	for _, simple := range simpleCommands().Split(quotedText().ReplaceAllString(c.Line, "''"), -1) {
		words := strings.Fields(simple)
		for len(words) > 0 && slices.Contains([]string{"exec", "nohup", "then", "do", "else", "!"}, words[0]) {
			words = words[1:]
		}
		if program, user = becomesUser(words); user != "" {
			return program, user
		}
	}
	return "", ""
}

// becomers are the programs with which a command may become another user: which of their flags have
// a value, and which begin a session.
var becomers = map[string]struct{ valued, sessions string }{
	"su":      {"cgGswC", "lc"},
	"runuser": {"cgGuswC", "lcu"},
	"sudo":    {"CDghpRrTtUu", "i"},
}

// becomesUser is becomes for one program and its arguments.
func becomesUser(argv []string) (program, user string) {
	if len(argv) == 0 {
		return "", ""
	}
	program = filepath.Base(argv[0])
	becomer, session := becomers[program], false
	for args := argv[1:]; len(args) > 0 && becomer.valued != ""; args = args[1:] {
		flags, isFlag := strings.CutPrefix(args[0], "-")
		last := strings.IndexAny(flags, becomer.valued)
		name, value, _ := strings.Cut(flags, "=")
		switch {
		case !isFlag && (program == "sudo" || user != ""): // the command and its arguments
			args = args[:1]
		case !isFlag:
			user = args[0]
		case name == "-user":
			user = value
		case strings.HasPrefix(name, "-"):
			session = session || name == "-login" || name == "-command"
		case last < 0:
			session = session || flags == "" || strings.ContainsAny(flags, becomer.sessions)
		default:
			session = session || strings.ContainsAny(flags[:last+1], becomer.sessions)
			if value = flags[last+1:]; value == "" && len(args) > 1 {
				args = args[1:]
				value = args[0]
			}
			if flags[last] == 'u' {
				user = value
			}
		}
	}
	if !session {
		return "", ""
	}
	return program, user
}
