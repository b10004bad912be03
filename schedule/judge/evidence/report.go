package evidence

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"sched/schedule"
	"sched/schedule/clock"
	"sched/schedule/judge"
	"sched/schedule/output"
	"sched/schedule/process"
	"sched/schedule/state"
)

// Variable names the file to which a command writes its report.
const Variable = "SCHED_REPORT"

// PathOfReport returns the file for the report of a run: beside its output, or for a command of
// another user, who cannot reach that folder, in the folder of all users.
func PathOfReport(dir string, r state.Row, task *schedule.Task) string {
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
	if !task.Judge.Reports() {
		return nil, nil
	}
	RemoveReport(dir, r, task) // of the attempt before
	path := PathOfReport(dir, r, task)
	file, err := create(path)
	if err != nil { // as in a folder that cannot be written: the task runs nevertheless
		path = pathForAll(r)
		file, err = create(path)
	}
	if err != nil {
		return nil, fmt.Errorf("no file for its report can be made: %w", err)
	}
	defer file.Close()
	if err := process.Give(file, task.As); err != nil {
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
	if task.Judge.Reports() {
		os.Remove(PathOfReport(dir, r, task))
		os.Remove(pathForAll(r))
	}
}

// Report reads what the command has reported. endedByItself says that nothing has ended it.
func Report(
	dir string, r state.Row, task *schedule.Task, endedByItself bool,
) (values map[string]float64, notes []string) {
	if !task.Judge.Reports() {
		return nil, nil
	}
	text, err := readReport(pathForAll(r))
	if errors.Is(err, os.ErrNotExist) {
		text, err = readReport(PathOfReport(dir, r, task))
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil, []string{"its report is gone"}
	}
	if err != nil {
		return nil, []string{fmt.Sprintf("its report cannot be read: %v", err)}
	}
	return judge.ReadReport(text, endedByItself)
}

// WithDuration returns the values with how long the run has taken up to now.
func WithDuration(values map[string]float64, result state.Row) map[string]float64 {
	all := maps.Clone(values)
	if all == nil {
		all = map[string]float64{}
	}
	all[judge.Duration] = max(0, clock.Now().Sub(result.Started).Seconds())
	return all
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
