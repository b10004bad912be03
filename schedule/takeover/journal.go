// Package takeover hands the jobs of cron over to a schedule, and back.
//
// # Promises
//
//   - At each minute each job is started by one of the two, cron or the schedule: also if the
//     process that hands it over is killed at any moment.
//   - A file of cron is replaced as a whole. No byte changes but the mark before a line that is
//     taken, and to take the mark away gives the file back as it was.
//
// # How
//
// The line of the crontab itself says who starts a job. A line that is taken stands behind a mark,
// which names the first minute that is not cron's any more. As long as a handover goes on, the line
// of the schedule calls `sched takeover --tick`. Such a tick reads the crontabs, and leaves the
// tasks alone whose lines cron still has (Journal.Held). Cron reads a changed crontab before it
// starts what is due in a minute, so a line changes hands between two minutes: it is marked in a
// minute whose tick has been seen, which proves that cron has read its crontabs already, and long
// enough before the next one.
package takeover

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sched/schedule/install"
	"sched/schedule/statedir"
)

// A Journal is what a takeover does, and has done. It is a file, written before anything else
// changes, and removed when everything is given back.
type Journal struct {
	Line     install.Line `json:"line"`      // of the schedule
	Text     string       `json:"text"`      // of the schedule, as it was written
	Secret   bool         `json:"secret"`    // only its user may read the schedule
	Name     string       `json:"name"`      // of the schedule
	StateDir string       `json:"state_dir"` // of the schedule
	Began    time.Time    `json:"began"`
	Done     bool         `json:"done"` // every line is taken, and the line of the schedule is the usual one
	Back     bool         `json:"back"` // the lines are being given back
	Files    []File       `json:"files"`

	path string
	lock *os.File
}

// ErrBusy says that another process works on the same takeover.
var ErrBusy = errors.New("another takeover of this schedule goes on")

// Open reads and locks the journal of a schedule in a folder. The error is os.ErrNotExist if
// nothing was taken over, and ErrBusy if another process has it.
func Open(folder string, line install.Line) (*Journal, error) {
	j := &Journal{path: line.Journal(folder)}
	if _, err := os.Stat(j.path); err != nil {
		return nil, err // to look leaves no file
	}
	if err := j.takeLock(); err != nil {
		return nil, err
	}
	if err := j.read(); err != nil {
		j.Close()
		return nil, err
	}
	return j, nil
}

// Read reads the journal of a schedule, for a tick.
func Read(folder string, line install.Line) (*Journal, error) {
	j := &Journal{path: line.Journal(folder)}
	return j, j.read()
}

// Find returns the schedules that took jobs over, by the journals in a folder.
func Find(folder string) (schedules []string) {
	found, _ := filepath.Glob(filepath.Join(folder, "takeover-*.json"))
	for _, path := range found {
		if j := (&Journal{path: path}); j.read() == nil {
			schedules = append(schedules, j.Line.File)
		}
	}
	return schedules
}

// Create locks and writes the journal, which is not there yet.
func (j *Journal) Create(folder string) error {
	j.path = j.Line.Journal(folder)
	if err := statedir.MakeDir(folder); err != nil {
		return err
	}
	if err := j.takeLock(); err != nil {
		return err
	}
	return j.save()
}

func (j *Journal) takeLock() (err error) {
	j.lock, err = statedir.OpenLocked(j.path+".lock", os.O_RDWR|os.O_CREATE)
	if errors.Is(err, statedir.ErrLocked) {
		return ErrBusy
	}
	return err
}

// Close releases the journal.
func (j *Journal) Close() {
	if j.lock != nil {
		j.lock.Close()
	}
}

func (j *Journal) read() error {
	text, err := statedir.ReadFile(j.path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, j); err != nil {
		return fmt.Errorf("%s cannot be read: %w", j.path, err)
	}
	return nil
}

func (j *Journal) save() error {
	text, err := json.MarshalIndent(j, "", "  ")
	if err != nil {
		return err
	}
	return statedir.Replace(j.path, text)
}

// remove forgets the takeover.
func (j *Journal) remove() error {
	err := os.Remove(j.path)
	os.Remove(j.path + ".lock")
	return err
}

// Held returns the tasks whose lines cron starts in a minute: those that have no mark, or one of a
// later minute.
func (j *Journal) Held(minute time.Time) (tasks []string) {
	for _, file := range j.Files {
		text, err := file.read()
		if err != nil {
			text = "" // without the file nobody knows, and cron has it
		}
		taken := j.taken(text, minute)
		for _, line := range file.Lines {
			if taken[line.Raw] > 0 {
				taken[line.Raw]--
				continue
			}
			tasks = append(tasks, line.Tasks...)
		}
	}
	return tasks
}

// sinceForm is how a mark writes its minute.
const sinceForm = "2006-01-02T15:04Z"

// mark begins the mark before a line that is taken; its minute follows.
func (j *Journal) mark() string { return "# taken by sched " + j.Line.ID() + " since " }

// cutMark returns a marked line without its mark, and the first minute that is not cron's.
func (j *Journal) cutMark(line string) (raw string, since time.Time, marked bool) {
	rest, marked := strings.CutPrefix(line, j.mark())
	word, raw, found := strings.Cut(rest, ": ")
	since, err := time.Parse(sinceForm, word)
	return raw, since, marked && found && err == nil
}

// taken counts the lines of a text that are taken from a minute on, or earlier.
func (j *Journal) taken(text string, minute time.Time) map[string]int {
	count := map[string]int{}
	for line := range strings.Lines(text) {
		raw, since, marked := j.cutMark(strings.TrimSuffix(line, "\n"))
		if marked && !since.After(minute) {
			count[raw]++
		}
	}
	return count
}

// putMarks returns the text with a mark before each of the lines, but for those that have one, and
// the lines that are not there any more.
func (j *Journal) putMarks(text string, lines []Line, since time.Time) (marked string, missing []Line) {
	wanted := map[string]int{}
	for _, line := range lines {
		wanted[line.Raw]++
	}
	for line := range strings.Lines(text) {
		if raw, _, has := j.cutMark(strings.TrimSuffix(line, "\n")); has {
			wanted[raw]--
		}
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if raw := strings.TrimSuffix(line, "\n"); wanted[raw] > 0 {
			wanted[raw]--
			b.WriteString(j.mark() + since.UTC().Format(sinceForm) + ": ")
		}
		b.WriteString(line)
	}
	for _, line := range lines {
		if wanted[line.Raw] > 0 {
			wanted[line.Raw]--
			missing = append(missing, line)
		}
	}
	return b.String(), missing
}

// takeMarks returns the text without the marks, and the lines of the journal that had none.
func (j *Journal) takeMarks(text string, lines []Line) (plain string, missing []Line) {
	found := map[string]int{}
	var b strings.Builder
	for line := range strings.Lines(text) {
		body, end := strings.CutSuffix(line, "\n")
		raw, _, marked := j.cutMark(body)
		if !marked {
			b.WriteString(line)
			found[body]++
			continue
		}
		found[raw]++
		b.WriteString(raw)
		if end {
			b.WriteString("\n")
		}
	}
	for _, line := range lines {
		if found[line.Raw] == 0 {
			missing = append(missing, line)
			continue
		}
		found[line.Raw]--
	}
	return b.String(), missing
}
