// Package crontab brings crontabs to sched. It reads one as cron does (Parse), writes its lines as
// the tasks of a schedule.yaml (Convert, Schedule.YAML), proves that both are due at the same
// minutes (Prove), and writes a schedule as a crontab (Export).
//
// # Promises
//
//   - What a command is to its shell is kept byte for byte, unless Tidy was asked for; Prove
//     compares that, too.
//   - A line either becomes a task or is omitted with a Finding that says why. None is dropped in
//     silence.
//   - Names depend on a line and the lines before it alone, so lines that are added below change
//     none.
//   - It is pure: it opens no file, runs nothing and reads no clock.
//
// It installs nothing: see package install. anacrontab(5) and run-parts(8) are not crontabs.
package crontab

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sched/schedule/cron"
	"sched/schedule/crontab/vixie"
	"sched/schedule/humanize"
)

// A Task is a line of a crontab as a task.
type Task struct {
	Entry  Entry
	Source string // the name of the crontab

	Name, Description string
	Comment           []string // lines above the task
	Cron              string
	Command           string
	MailFailures      bool // Mail gets only what a failure printed
	Enabled           bool
	surroundings

	WithoutOverlapping bool
	Mutex              string // with WithoutOverlapping; "" for its own
	Waits              bool   // with WithoutOverlapping: it waits in place of being skipped
	MaxWait            string // with Waits; "" for the default
	Timeout, KillAfter string
	Output             string // a file; "" for none
	Append             bool
	Tidied             bool // keys were made of parts of the command

	Boot bool // cron starts the line at a boot

	// Times are what cron makes of the line; nil with Boot, or if cron has no such times.
	Times *vixie.Times
}

// surroundings are what the settings above a line, and its user, say about the command. In a Task
// they are its own. In the defaults of a file they are what all tasks share: a zero value is not
// shared.
type surroundings struct {
	Env       Variables
	Timezone  string // "" for the machine's zone
	Shell     string
	Dir, User string
	Mail      []string // the addresses that get what the command prints; empty for nobody
}

// defaultShell is the shell of cron, and of a schedule.
const defaultShell = "/bin/sh"

// A Schedule is what becomes of crontabs.
type Schedule struct {
	Keys     []Key // of the whole file
	Tasks    []*Task
	Findings []Finding
	Secret   bool // a variable may be a secret
	MailsTo  bool // cron mails what the tasks without MAILTO print to their user, which the schedule does not
}

// OmitsLines reports whether a line is not in the schedule.
func (s *Schedule) OmitsLines() bool {
	return slices.ContainsFunc(s.Findings, func(f Finding) bool { return f.IsOmitted })
}

// TaskOf returns the task to which a line belongs, with the comment above it, or else the task with
// the name. It returns nil if the schedule has neither.
func (s *Schedule) TaskOf(line int, name string) *Task {
	for _, t := range s.Tasks {
		if line == t.Entry.Line || slices.ContainsFunc(t.Entry.Keys, func(k Key) bool { return k.Line == line }) {
			return t
		}
	}
	if i := slices.IndexFunc(s.Tasks, func(t *Task) bool { return t.Name == name }); i >= 0 {
		return s.Tasks[i]
	}
	return nil
}

var (
	tilde     = humanize.Pattern(`(\d+)?~(\d+)?`)
	fieldLows = []string{"0", "0", "1", "1", "0"}
	fieldTops = []string{"59", "23", "28", "12", "6"} // each month has a day 28
)

// nicknameEveryMinute is a nickname that only FreeBSD's cron knows.
const nicknameEveryMinute = "@every_minute"

// timesProblem returns what is wrong with times that neither a cron nor sched takes. For other
// times the problem is "".
func timesProblem(when string) (problem, hint string) {
	if strings.Contains(when, "_") && when != nicknameEveryMinute {
		return fmt.Sprintf("%q has _, which is no value of a field", when),
			`write * for _: formatters of Markdown turn "* *" into "_ _"`
	}
	_, notVixie := vixie.Parse(when)
	_, err := cron.Parse(randomToH(when), "")
	if notVixie == nil || err == nil || when == "@reboot" || when == nicknameEveryMinute {
		return "", ""
	}
	if cronError, ok := err.(*cron.Error); ok {
		hint = cronError.Hint
	}
	return fmt.Sprintf("%q: %v", when, err), hint
}

// setTimes sets the times of the entry, with H for a number made from the name. It omits an entry
// that is never due.
func (c *converter) setTimes(t *Task, name string) bool {
	if c.entry.When == "@reboot" {
		t.Cron, t.Boot = c.entry.When, true
		c.remark("", "cron starts it when cron starts after a boot; "+
			"the schedule starts it with the first tick after that, up to a minute later")
		return true
	}
	when := c.rewriteTimes()
	if times, err := vixie.Parse(when); err == nil {
		return c.setCronTimes(t, when, name, times)
	}
	e, err := cron.Parse(when, name)
	if err != nil {
		c.omit("", "%q: %v", when, err)
		return false
	}
	c.remarkOnForeignTimes(when, e)
	t.Cron = when
	return true
}

// rewriteTimes returns the times of the entry as sched writes them: @every_minute and ~ in other
// words, with a remark, and all others as they stand.
func (c *converter) rewriteTimes() (when string) {
	switch when = c.entry.When; {
	case when == nicknameEveryMinute:
		when = "* * * * *"
		c.remark("", "Debian's cron refuses %s, and with it the whole file; "+
			"FreeBSD's takes it, and so does the schedule", nicknameEveryMinute)
	case strings.Contains(when, "~"):
		when = randomToH(when)
		c.remark("", "cronie and OpenBSD's cron take a new random number for each ~ when they start, "+
			"and Debian's does not know it; the schedule always takes the same, made from the name (%s)", when)
	}
	return when
}

// remarkOnForeignTimes says what other crons make of times that Debian's cron refuses.
func (c *converter) remarkOnForeignTimes(when string, e cron.Expression) {
	isRewritten := when != c.entry.When // rewriteTimes has said so
	switch {
	case strings.ContainsAny(when, "Hh~") && !isRewritten:
		c.remark("", "cron does not know H; here it is a number made from the name: %s", e)
	case c.entry.Off: // cron does not read the line
	case len(strings.Fields(when)) == 6:
		c.remark("", "seconds are supercronic's: cron would take the last fields for the command")
	case !isRewritten:
		c.remark("", "Debian's cron refuses %q, and with it the whole file; the schedule takes it as it stands", when)
	}
}

// setCronTimes sets times that cron takes. If sched refuses their text, or reads it in another way,
// it sets plain numbers.
func (c *converter) setCronTimes(t *Task, when, name string, times vixie.Times) bool {
	if times.Never() {
		hint := ""
		if strings.Contains(when, "-") {
			hint = "a range that runs backwards is empty to cron: write 22-4 as 22-23,0-4, and FRI-SUN as 5-7"
		}
		c.omit(hint, "cron never starts this line: no date matches %q", when)
		return false
	}
	t.Cron, t.Times = when, &times
	if _, err := cron.Parse(when, name); err == nil && !endsOnSunday().MatchString(when) {
		return true
	}
	t.Cron = times.String()
	e, err := cron.Parse(t.Cron, name)
	if err != nil {
		c.omit("", "%q: %v", when, err)
		return false
	}
	c.remark("", "%q is written as %q, which is what it is to cron", when, e)
	return true
}

// endsOnSunday matches ranges that end on Sunday. sched reads them as people mean them; to cron
// they are empty.
var endsOnSunday = humanize.Pattern(`(?i)-(0|sun)([,/]\S*)?$`)

// randomToH writes the random ~ of OpenBSD and cronie as H.
func randomToH(when string) string {
	words := strings.Fields(when)
	for i, word := range words {
		words[i] = tilde().ReplaceAllStringFunc(word, func(found string) string {
			low, high, _ := strings.Cut(found, "~")
			if low == "" && high == "" {
				return "H"
			}
			if i < len(fieldTops) {
				low, high = cmp.Or(low, fieldLows[i]), cmp.Or(high, fieldTops[i])
			}
			return "H(" + low + "-" + high + ")"
		})
	}
	return strings.Join(words, " ")
}
