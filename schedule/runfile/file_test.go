package runfile

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule/outcome"
)

// begun begins a run of the task and returns it with its record.
func begun(t *testing.T, state, task string) *File {
	t.Helper()
	run, err := Create(state, outcome.Record{Run: outcome.NewID(), Task: task, Snapshot: []byte(`{"name":"` + task + `"}`)})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// ended writes the end of a run and stops watching it.
func ended(t *testing.T, run *File) {
	t.Helper()
	end := run.Record
	end.Outcome, end.Snapshot = outcome.Succeeded, nil
	if err := errors.Join(run.Append(Event{Hook: "after 1"}), run.Append(Event{End: &end}), run.Close()); err != nil {
		t.Fatal(err)
	}
}

func inode(t *testing.T, path string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestARunIsWatchedUntilItsFileIsClosed(t *testing.T) {
	state := t.TempDir()
	run := begun(t, state, "a")
	if _, watched, err := Read(state, run.Record.Run); err != nil || !watched {
		t.Errorf("watched %v, %v", watched, err)
	}
	if _, _, err := Take(state, run.Record.Run); err != ErrAlive {
		t.Errorf("Take: %v", err)
	}
	ended(t, run)
	taken, log, err := Take(state, run.Record.Run)
	if err != nil || log.End == nil || log.End.Outcome != outcome.Succeeded || string(log.End.Snapshot) != `{"name":"a"}` {
		t.Fatalf("%+v, %v", log, err)
	}
	taken.Close()
}

// A kill may leave half a line; what follows it counts.
func TestATornLineIsPassedOver(t *testing.T) {
	state := t.TempDir()
	run := begun(t, state, "a")
	run.Descriptor().WriteString(`{"attempt":{"number":1,"p`)
	ended(t, run)
	log, watched, err := Read(state, run.Record.Run)
	if err != nil || watched || log.End == nil || log.Attempt != nil {
		t.Errorf("%+v, watched %v, %v", log, watched, err)
	}
}

func TestTheFileOfARunIsUsedAgain(t *testing.T) {
	state := t.TempDir()
	first := begun(t, state, "a")
	ended(t, first)
	before := inode(t, Path(state, first.Record.Run))
	if err := Recycle(state, first.Record.Run, "a"); err != nil {
		t.Fatal(err)
	}
	if err := Recycle(state, first.Record.Run, "a"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the second Recycle: %v", err)
	}

	second := begun(t, state, "a")
	if !os.SameFile(before, inode(t, Path(state, second.Record.Run))) {
		t.Error("the file was not used again")
	}
	log, watched, err := Read(state, second.Record.Run)
	if err != nil || !watched || log.End != nil || len(log.Hooks) > 0 || log.Begin.Run != second.Record.Run {
		t.Errorf("the events of the first run count for the second: %+v, watched %v, %v", log, watched, err)
	}
	if ids, err := List(state); err != nil || len(ids) != 1 {
		t.Errorf("runs: %v, %v", ids, err)
	}
	ended(t, second)
}

// Who opened the file of a run just before it was recycled sees that it is another run's.
func TestARecycledFileIsNotTakenForTheOldRun(t *testing.T) {
	state := t.TempDir()
	first := begun(t, state, "a")
	ended(t, first)
	Recycle(state, first.Record.Run, "a")
	second := begun(t, state, "a")
	ended(t, second)
	os.Link(Path(state, second.Record.Run), Path(state, first.Record.Run)) // as if it were still open under the old name
	if _, _, err := Read(state, first.Record.Run); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Look: %v", err)
	}
	if _, _, err := Take(state, first.Record.Run); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Take: %v", err)
	}
}

func TestAFileThatIsLookedAtOrLargeIsNotUsedAgain(t *testing.T) {
	state := t.TempDir()
	looked := begun(t, state, "a")
	id, end := looked.Record.Run, looked.Record
	end.Outcome = outcome.Succeeded
	looked.Append(Event{End: &end})
	before := inode(t, Path(state, id))
	Recycle(state, id, "a") // while looked still has the lock
	next := begun(t, state, "a")
	if os.SameFile(before, inode(t, Path(state, next.Record.Run))) {
		t.Error("a locked file was used again")
	}
	looked.Close()

	next.Descriptor().WriteString(strings.Repeat("x", largestReused+1))
	ended(t, next)
	Recycle(state, next.Record.Run, "a")
	if _, err := os.Stat(sparePath(state, "a")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a large file was kept: %v", err)
	}
}

func TestWhatAKillLeftIsSweptAfterADay(t *testing.T) {
	state := t.TempDir()
	ended(t, begun(t, state, "a"))
	old := time.Now().Add(-25 * time.Hour)
	for _, name := range []string{".draft-1", ".draft-2", ".spare-b"} {
		os.WriteFile(runsDir(state)+"/"+name, nil, 0o600)
	}
	os.Chtimes(runsDir(state)+"/.draft-1", old, old)
	os.Chtimes(runsDir(state)+"/.spare-b", old, old)
	SweepDrafts(state, time.Now())
	left, _ := os.ReadDir(runsDir(state))
	if len(left) != 2 || left[0].Name() != ".draft-2" {
		t.Errorf("left: %v", left)
	}
}

// `sched status` and `list` look at runs at any time. A tick that takes a run at that very moment must
// not think that it lives.
func TestALookKeepsNobodyFromTakingARun(t *testing.T) {
	state := t.TempDir()
	run := begun(t, state, "a")
	ended(t, run)
	looker, err := os.Open(Path(state, run.Record.Run))
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(looker.Fd()), unix.LOCK_SH|unix.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Take(state, run.Record.Run); err != ErrAlive {
		t.Errorf("beside one who looks for ever: %v", err)
	}
	time.AfterFunc(5*time.Millisecond, func() { looker.Close() })
	taken, _, err := Take(state, run.Record.Run)
	if err != nil {
		t.Fatalf("beside one who looks for a moment: %v", err)
	}
	taken.Close()
}
