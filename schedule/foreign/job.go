package foreign

import (
	"cmp"
	"errors"
	"fmt"

	"sched/schedule/crontab"
	"sched/schedule/dialect"
	"sched/schedule/yamldoc"
)

// ErrOther says that a file has another kind.
var ErrOther = errors.New("it has nothing of that kind")

// A Job is a job of a file.
type Job struct {
	Line        int // of the file; 0 if it is not known
	Name        string
	Expressions []string
	Zone        string // "" for the zone of the kind
	Command     string
	Keys        []crontab.Key
	Notes       []string // what the task has otherwise, or not at all
	Refused     string   // why it is no task; "" if it is one

	readings []*dialect.Reading // of its expressions, if the dialect is known
	notSame  string             // why its times cannot be compared; "" if they can
	timeless string             // what is said of a job whose keys say all of its times; "" if expressions do
}

func (j *Job) note(format string, args ...any) {
	j.Notes = append(j.Notes, fmt.Sprintf(format, args...))
}

func (j *Job) refuse(format string, args ...any) *Job {
	j.Refused = cmp.Or(j.Refused, fmt.Sprintf(format, args...))
	return j
}

func (j *Job) set(key, value string) {
	j.Keys = append(j.Keys, crontab.Key{Name: key, Value: yamldoc.NewText(value)})
}

// setPlain sets a key whose value is written as it is.
func (j *Job) setPlain(key, value string) {
	j.Keys = append(j.Keys, crontab.Key{Name: key, Value: yamldoc.NewText(value), Text: value})
}

// noteRest says which keys are not in the task.
func (j *Job) noteRest(path string, n node, silent ...string) {
	for _, key := range n.rest(silent...) {
		j.note("not taken: %s%s", path, key)
	}
}

// key is the same for jobs that have the same times.
func (j *Job) key() string {
	zone := ""
	if len(j.readings) > 0 {
		zone = j.readings[0].Location.String()
	}
	return fmt.Sprint(j.Expressions, zone)
}

// setLater gives a job that is no command a command that fails, and switches the task off.
func setLater(j *Job, what string) {
	j.setPlain("enabled", "false")
	j.Command = "echo " + quoteWords("write here what starts "+what) + " >&2; exit 1"
	j.note("it is switched off: its command, which starts %s, is yours to write", what)
}
