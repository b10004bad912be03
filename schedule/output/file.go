// Package output has what runs print, in files of the state folder: output/TASK/RUN.log, which a
// command writes to, and RUN.hooks.log beside it for the hooks of the run. A file is made when its
// run begins, kept within output.limit, and removed with the record of the run, or before if
// nothing was printed.
//
// Non-goals: the copy for the key output (package run), and reading while a run prints (package
// cmd).
package output

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule/outcome"
	"sched/schedule/state"
	"sched/schedule/statedir"
)

// Folder has the outputs of a state folder, a folder for each task.
func Folder(dir string) string { return filepath.Join(dir, "output") }

// Path returns the path of the file that captures what a run of the state folder prints. Only the
// Run and the Task of the record count.
func Path(dir string, r state.Row) string {
	inOneFolder := func(name string) string { return strings.ReplaceAll(name, "/", "+") }
	return filepath.Join(Folder(dir), inOneFolder(r.Task), inOneFolder(r.ID)+".log")
}

// HooksPath names the file with what the hooks of a run print, beside its output.
func HooksPath(output string) string { return strings.TrimSuffix(output, ".log") + ".hooks.log" }

// UnmaskedPath names the file with an output that could not be masked, beside it.
func UnmaskedPath(output string) string { return strings.TrimSuffix(output, ".log") + ".unmasked" }

// Open opens the file that captures a run for appending. It is locked as long as a process of the
// run has it as its stdout or stderr (InUse).
func Open(path string) (*os.File, error) {
	file, err := Append(path)
	if err != nil {
		return nil, err
	}
	unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	return file, nil
}

// Append opens the file for appending, without its lock. If the file is missing, it is made for its
// owner alone, and so is its folder.
func Append(path string) (*os.File, error) {
	return statedir.Open(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND)
}

// modes has the mode of an output for each number of attempts that were started although the
// database could not be written: a mode is all that a full disk still takes
// (docs/internals/decisions.md#the-mode-of-an-output-says-what-a-full-disk-cannot).
var modes = []os.FileMode{0o600, 0o700, 0o610, 0o710, 0o601, 0o701, 0o611, 0o711}

// MarkUnwritten notes on the output how many attempts were started, up to 7, although the database
// could not be written.
func MarkUnwritten(output *os.File, attempts int) {
	if info, err := output.Stat(); err == nil && info.Mode().IsRegular() { // and not /dev/null
		output.Chmod(modes[min(attempts, len(modes)-1)])
	}
}

// Unwritten returns how many attempts MarkUnwritten has noted.
func Unwritten(path string) (attempts int) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return slices.Index(modes, info.Mode()&0o111|0o600) // whoever else may read it
}

// AttemptLine is the line before what a further attempt prints.
func AttemptLine(attempt int) string { return fmt.Sprintf("sched: attempt %d\n", attempt) }

// Separate appends a line to the output at the path if that has something, after the end of its
// last line.
func Separate(output *os.File, path, line string) {
	last, _ := Tail(path, 1)
	if len(last) == 0 {
		return
	}
	if last[0] != '\n' {
		line = "\n" + line
	}
	io.WriteString(output, line) // if that fails, the command has the same trouble
}

// InUse reports whether a process of the run still has its output open. It is false if there is no
// such file.
func InUse(path string) bool {
	file, err := statedir.OpenPlain(path, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer file.Close()
	return errors.Is(unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// Tail returns the end of what a run printed, at most limit bytes, and whether there was more
// before it. It is empty if nothing can be read.
func Tail(path string, limit int64) (tail []byte, cut bool) {
	file, err := statedir.OpenPlain(path, os.O_RDONLY)
	if err != nil {
		return nil, false
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, false
	}
	from := max(0, info.Size()-limit)
	tail, _ = io.ReadAll(io.NewSectionReader(file, from, limit))
	return tail, from > 0
}

// Remove removes what a run of the state folder printed, and its hooks. Only the Run, the Task and
// the Output of the record count.
func Remove(dir string, r state.Row) {
	path := cmp.Or(r.Output, Path(dir, r))
	os.Remove(path)
	os.Remove(HooksPath(path))
	os.Remove(UnmaskedPath(path))
	os.Remove(UnmaskedPath(HooksPath(path)))
}

// Sweep removes the outputs of runs that began before that time and have no record. Their history
// was damaged, or their process was killed before it had written down that the run begins. From the
// runs that unknown is given, it returns the runs without a record. Sweep ends when it has taken
// maxTime. Each call goes through the tasks in another order.
func Sweep(dir string, before time.Time, maxTime time.Duration, unknown func(runs []string) ([]string, error)) error {
	end := time.Now().Add(maxTime)
	folders, _ := os.ReadDir(Folder(dir))
	rand.Shuffle(len(folders), func(i, j int) { folders[i], folders[j] = folders[j], folders[i] })
	for _, folder := range folders {
		if time.Now().After(end) {
			return nil
		}
		if err := sweepTask(filepath.Join(Folder(dir), folder.Name()), before, unknown); err != nil {
			return err
		}
	}
	return nil
}

// sweepTask is Sweep for one task.
func sweepTask(folder string, before time.Time, unknown func(runs []string) ([]string, error)) error {
	files, _ := os.ReadDir(folder)
	names := map[string][]string{} // by run
	var old []string
	for _, file := range files {
		run, _, _ := strings.Cut(file.Name(), ".") // RUN.log, RUN.hooks.log, RUN.log.cut
		if !outcome.IsID(run) || !outcome.TimeOfID(run).Before(before) {
			continue
		}
		if names[run] == nil {
			old = append(old, run)
		}
		names[run] = append(names[run], file.Name())
	}
	gone, err := unknown(old)
	for _, run := range gone {
		for _, name := range names[run] {
			os.Remove(filepath.Join(folder, name))
		}
	}
	return err
}

// HasBytes reports whether a file exists, and is not empty.
func HasBytes(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() > 0
}
