package output

import (
	"cmp"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/state"
)

// Remove removes what a run of the state folder printed, and its hooks. Only the Run, the Task and
// the Output of the record count.
func Remove(dir string, r state.Row) {
	path := cmp.Or(r.Output, Path(dir, r))
	os.Remove(path)
	os.Remove(HooksPath(path))
}

// Sweep removes the outputs of runs that began before that time and have no record. Their history
// was damaged, or their process was killed before it had written down that the run begins. From the
// runs that unknown is given, it returns the runs without a record. Sweep ends when it has taken
// atMost. Each call goes through the tasks in another order.
func Sweep(dir string, before time.Time, atMost time.Duration, unknown func(runs []string) ([]string, error)) error {
	end := time.Now().Add(atMost)
	folders, _ := os.ReadDir(folderOf(dir))
	rand.Shuffle(len(folders), func(i, j int) { folders[i], folders[j] = folders[j], folders[i] })
	for _, folder := range folders {
		if time.Now().After(end) {
			return nil
		}
		if err := sweepTask(filepath.Join(folderOf(dir), folder.Name()), before, unknown); err != nil {
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
		if !outcome.IsID(run) || !outcome.Begun(run).Before(before) {
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
