package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/crontab"
	"sched/schedule/ticknote"
	"sched/schedule/usercrontab"
)

// A Subject is what is examined, and its surroundings. Checks may read it at the same time.
type Subject struct {
	Schedule *schedule.Schedule
	Broken   error // why the schedule in the file is invalid: Schedule is what ticks run then
	Now      time.Time
	Environ  []string // of the person
	Self     string   // the path of this sched
	Zone     string   // the machine's, as this process sees it
	Server   string   // the name of this machine, as ticks announce it
	Store    mutex.Store

	// LoadWith loads the schedule with the variables that lookup finds, and returns what is then
	// wrong with it.
	LoadWith func(lookup func(string) (string, bool)) error

	noteOnce sync.Once
	note     ticknote.Note
	hasNote  bool

	crontabsOnce sync.Once
	cronLines    []cronLine
	crontabError error
}

// crontabLines returns the lines of the crontabs that this user may read. The error says why the
// user's own lines are not known.
func (s *Subject) crontabLines() ([]cronLine, error) {
	s.crontabsOnce.Do(func() { s.cronLines, s.crontabError = readCrontabs() })
	return s.cronLines, s.crontabError
}

// tickNote returns the note with the environment of the ticks; false if no tick wrote one.
func (s *Subject) tickNote() (ticknote.Note, bool) {
	s.noteOnce.Do(func() { s.note, s.hasNote = ticknote.Read(s.Schedule.StateDir) })
	return s.note, s.hasNote
}

// A cronLine is a line of a crontab that starts a command.
type cronLine struct {
	crontab.Entry
	source         string // the file, or "crontab -l"
	lacksLineBreak bool   // it is the last line of its file
}

func (l cronLine) place() string { return fmt.Sprintf("%s:%d", l.source, l.Line) }

// systemCrontabs are the crontabs with a user in each line. Tests change them.
var systemCrontabs = []string{"/etc/crontab", "/etc/cron.d/*"}

func readCrontabs() (lines []cronLine, err error) {
	text, _, err := usercrontab.Crontab{}.Read()
	lines = parseLines("crontab -l", text, false)
	for _, pattern := range systemCrontabs {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			if text, err := os.ReadFile(file); err == nil {
				lines = append(lines, parseLines(file, string(text), true)...)
			}
		}
	}
	return lines, err
}

// parseLines returns the lines of a crontab that start a command. Lines that are commented out do
// not.
func parseLines(source, text string, hasUser bool) (lines []cronLine) {
	last := strings.Count(text, "\n") + 1 // the number of a last line that has no line break
	for _, e := range crontab.Parse(crontab.Source{Name: source, Text: text, System: hasUser}).Entries {
		if !e.Off {
			lines = append(lines, cronLine{e, source, e.Line == last})
		}
	}
	return lines
}
