package previous

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sched/schedule"
	"sched/schedule/boot"
	"sched/schedule/history"
	"sched/schedule/outcome"
)

// An askingTask is a task whose hook asks how the run before ended, in a state folder. Its runs are named 1 to 9.
type askingTask struct {
	*testing.T
	dir  string
	task schedule.Task
}

func newAskingTask(t *testing.T) *askingTask {
	if boot.ID() == "" {
		t.Skip("this system does not tell boots apart")
	}
	return &askingTask{t, t.TempDir(), schedule.Task{Name: "t", Hooks: schedule.Hooks{OnRecovery: []schedule.Hook{{}}}}}
}

func asked(run string, o outcome.Outcome) outcome.Record {
	return outcome.Record{Run: run, Task: "t", Outcome: o}
}

// ends has a run end, as far as the file of outcomes is concerned.
func (a *askingTask) ends(run string, o outcome.Outcome) {
	Keep(a.dir, &a.task, asked(run, o))
}

// recorded has runs put into the history.
func (a *askingTask) recorded(records ...outcome.Record) {
	a.Helper()
	db, err := history.Open(a.dir)
	if err != nil {
		a.Fatal(err)
	}
	if err := errors.Join(db.Add(a.Context(), records), db.Close()); err != nil {
		a.Fatal(err)
	}
	Add(a.dir, records)
}

// before checks what a run is told of the one before it.
func (a *askingTask) before(run string, want outcome.Outcome) {
	a.Helper()
	if got, ok := Outcome(a.dir, "t", run); got != want || ok != (want != "") {
		a.Errorf("before run %s there was %q (%t), not %q", run, got, ok, want)
	}
}

// noHistory takes the history away: what is known then is known from the file.
func (a *askingTask) noHistory() {
	a.Helper()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		os.Remove(filepath.Join(a.dir, "sched.db"+suffix))
	}
	if err := os.Mkdir(filepath.Join(a.dir, "sched.db"), 0o700); err != nil {
		a.Fatal(err)
	}
}

func (a *askingTask) file() string { return outcomes{a.dir, "t"}.path() }

func TestTheRunBeforeIsTheNewestByItsBeginningWhateverTheOrderOfEnds(t *testing.T) {
	a := newAskingTask(t)
	a.noHistory()
	a.before("1", "")
	a.ends("1", outcome.Failed)
	a.ends("4", outcome.TimedOut)
	a.ends("3", outcome.Succeeded) // began before 4, and took longer
	a.before("1", "")
	a.before("3", outcome.Failed)
	a.before("4", outcome.Succeeded)
	a.before("5", outcome.TimedOut)
	a.ends("3", outcome.Succeeded) // its finish was killed, and comes again
	a.ends("2", outcome.Lost)      // found by a tick
	a.before("3", outcome.Lost)
	a.before("5", outcome.TimedOut)
}

func TestANewFileKnowsWhatWasBeforeIt(t *testing.T) {
	a := newAskingTask(t)
	a.recorded(asked("1", outcome.Failed), asked("2", outcome.Succeeded), asked("3", outcome.Skipped), asked("6", outcome.Stopped))
	a.ends("5", outcome.Succeeded) // the first since the task has such hooks
	a.before("4", outcome.Succeeded)
	a.before("6", outcome.Succeeded)
	a.noHistory()
	a.before("7", outcome.Stopped)
}

func TestRunsThatEndedElsewhereAreAddedWithTheirRecords(t *testing.T) {
	a := newAskingTask(t)
	a.ends("1", outcome.Succeeded)
	other := outcome.Record{Run: "3", Task: "other", Outcome: outcome.Failed}
	a.recorded(asked("1", outcome.Succeeded), asked("2", outcome.Lost), asked("3", outcome.Skipped), other)
	a.noHistory()
	a.before("4", outcome.Lost)
	if files, _ := os.ReadDir(folderOf(a.dir)); len(files) != 1 {
		t.Errorf("there are files of tasks that nobody asks about: %v", files)
	}
}

func TestRunsOfATimeWithoutSuchHooksAreNotMissing(t *testing.T) {
	a := newAskingTask(t)
	a.ends("1", outcome.Failed)
	with := a.task
	a.task.Hooks = schedule.Hooks{}
	a.ends("2", outcome.Succeeded)
	a.task = with
	a.recorded(asked("1", outcome.Failed), asked("2", outcome.Succeeded))
	a.before("3", outcome.Succeeded)
}

func TestAFileThatCannotBeTrustedIsMadeAnew(t *testing.T) {
	for state, spoil := range map[string]func(text string) string{
		"of another boot":          func(text string) string { return "another" + text },
		"half a line at its end":   func(text string) string { return text[:len(text)-4] },
		"empty":                    func(string) string { return "" },
		"something else":           func(string) string { return "x\ny\n" },
		"an outcome that is none":  func(text string) string { return text + "2 flew away\n" },
		"half a line in the midst": func(text string) string { return text + "2 succ3 succeeded\n" },
	} {
		t.Run(state, func(t *testing.T) {
			a := newAskingTask(t)
			a.ends("1", outcome.Succeeded)
			text, err := os.ReadFile(a.file())
			if err = errors.Join(err, os.WriteFile(a.file(), []byte(spoil(string(text))), 0o600)); err != nil {
				t.Fatal(err)
			}
			a.recorded(asked("1", outcome.Succeeded), asked("2", outcome.Failed))
			a.before("4", outcome.Failed)
			a.ends("4", outcome.Stopped)
			a.noHistory()
			a.before("2", "") // the history knew
			a.before("3", outcome.Failed)
			a.before("5", outcome.Stopped)
		})
	}
}

func TestTheFileStaysSmallAndKnowsTheNewest(t *testing.T) {
	a := newAskingTask(t)
	a.noHistory()
	for n := range 1000 {
		o := outcome.Succeeded
		if n%2 == 1 {
			o = outcome.Failed
		}
		a.ends(fmt.Sprintf("%036d", n), o)
	}
	a.before(fmt.Sprintf("%036d", 999), outcome.Succeeded)
	a.before(fmt.Sprintf("%036d", 1000), outcome.Failed)
	if info, err := os.Stat(a.file()); err != nil || info.Size() > largest {
		t.Errorf("%v, %v", info.Size(), err)
	}
	a.before(fmt.Sprintf("%036d", 500), "") // the history knows
}

func TestRunsThatEndAtTheSameMomentAreAllThere(t *testing.T) {
	a := newAskingTask(t)
	a.noHistory()
	var wg sync.WaitGroup
	for n := range 40 {
		wg.Go(func() { a.ends(fmt.Sprintf("%02d", n), outcome.Failed) })
	}
	wg.Wait()
	text, err := os.ReadFile(a.file())
	if lines := strings.Count(string(text), "\n"); err != nil || lines != 41 {
		t.Errorf("%d lines, %v", lines, err)
	}
}

func TestAFolderInItsPlaceStopsNothing(t *testing.T) {
	a := newAskingTask(t)
	if err := os.MkdirAll(a.file(), 0o700); err != nil {
		t.Fatal(err)
	}
	a.ends("1", outcome.Failed) // and removes it
	a.ends("2", outcome.Failed)
	a.noHistory()
	a.before("3", outcome.Failed)
}

func FuzzParse(f *testing.F) {
	f.Add(boot.ID() + " \n1 failed\n")
	f.Add(boot.ID() + " 1\n1 failed\n2 timed out\n")
	f.Add("x 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := parse([]byte(text))
		if err != nil {
			return
		}
		again, err := parse(list.text())
		if err != nil || len(again.ended) != min(len(list.ended), kept) {
			t.Errorf("%q is written as %q: %v", text, list.text(), err)
		}
	})
}
