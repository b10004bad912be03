package evidence

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"sched/schedule"
	"sched/schedule/account"
	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/judge"
	"sched/schedule/output"
	"sched/schedule/state"
)

// Variable names the file to which a command writes its report.
const Variable = "SCHED_REPORT"

// pathOfReport returns the file for the report of a run: beside its output, or for a command of
// another user, who cannot reach that folder, in the folder of all users.
func pathOfReport(dir string, r state.Row, task *schedule.Task) string {
	if task.As.User != "" || task.As.Group != "" {
		return pathForAll(r)
	}
	return strings.TrimSuffix(output.Path(dir, r), ".log") + ".report"
}

// pathForAll returns the file for the report of a run that cannot have it in the state folder.
// Nobody can guess the id.
func pathForAll(r state.Row) string { return "/tmp/sched-report-" + r.ID }

// NewReport makes an empty file for the report of an attempt, and returns the variable that names
// it. A task that asks for no values has none.
func NewReport(dir string, r state.Row, task *schedule.Task) (variables []string, err error) {
	if !task.Judge.NeedsReport() {
		return nil, nil
	}
	RemoveReport(dir, r, task) // of the attempt before
	path := pathOfReport(dir, r, task)
	file, err := create(path)
	if err != nil { // as in a folder that cannot be written: the task runs nevertheless
		path = pathForAll(r)
		file, err = create(path)
	}
	if err != nil {
		return nil, fmt.Errorf("no file for its report can be made: %w", err)
	}
	defer file.Close()
	if err := account.Give(file, task.As); err != nil {
		return nil, err
	}
	return []string{Variable + "=" + path}, nil
}

// create makes a new file that only its owner may use.
func create(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
}

// RemoveReport removes the report of a run whose values are recorded.
func RemoveReport(dir string, r state.Row, task *schedule.Task) {
	if task.Judge.NeedsReport() {
		os.Remove(pathOfReport(dir, r, task))
		os.Remove(pathForAll(r))
	}
}

// Report sets the values of the last attempt in the result of a run: what the command has reported,
// and how long the run took if a rule asks for that. endedByItself says that nothing has ended the
// command: then a last line counts that has no end, and the time counts.
func Report(dir string, result *state.Row, task *schedule.Task, endedByItself bool) {
	if result.Values = nil; len(task.Judge.Values) == 0 {
		return
	}
	result.Values = map[string]float64{}
	if task.Judge.NeedsReport() {
		text, err := readReport(pathForAll(*result))
		if errors.Is(err, os.ErrNotExist) {
			text, err = readReport(pathOfReport(dir, *result, task))
		}
		if err != nil {
			result.Notes = append(result.Notes, fmt.Sprintf("its report cannot be read: %v", humanize.WithoutPath(err)))
		}
		values, complaints := judge.ReadReport(text, endedByItself)
		result.Values, result.Notes = values, append(result.Notes, complaints...)
	}
	if task.Judge.NeedsDuration() && endedByItself {
		result.Values[judge.Duration] = max(0, clock.Now().Sub(result.Started).Seconds())
	}
}

// readReport reads a little more than judge.MaxReport bytes. The file may belong to another user:
// what is read must be a plain file of one name, or root would read another file for that user.
func readReport(path string) (string, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	if status, ok := info.Sys().(*syscall.Stat_t); !info.Mode().IsRegular() || ok && status.Nlink > 1 {
		return "", errors.New("the command has put something else in its place")
	}
	text, err := io.ReadAll(io.LimitReader(file, judge.MaxReport+1))
	return string(text), err
}
