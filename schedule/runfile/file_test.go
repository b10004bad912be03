package runfile

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule/outcome"
)

// begun begins a run of the task and returns it with its record.
func begun(t *testing.T, dir, task string) *File {
	t.Helper()
	run, err := Create(dir, outcome.Record{Run: outcome.NewID(), Task: task, Snapshot: []byte(`{"name":"` + task + `"}`)})
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

func TestARunIsAliveUntilItsFileIsClosed(t *testing.T) {
	dir := t.TempDir()
	run := begun(t, dir, "a")
	if _, alive, err := Read(dir, run.Record.Run); err != nil || !alive {
		t.Errorf("alive %v, %v", alive, err)
	}
	if _, _, err := Take(dir, run.Record.Run); err != ErrAlive {
		t.Errorf("Take: %v", err)
	}
	ended(t, run)
	taken, state, err := Take(dir, run.Record.Run)
	if err != nil || state.End == nil || state.End.Outcome != outcome.Succeeded || string(state.End.Snapshot) != `{"name":"a"}` {
		t.Fatalf("%+v, %v", state, err)
	}
	taken.Close()
}

// A kill may leave half a line; what follows it counts.
func TestATornLineIsPassedOver(t *testing.T) {
	dir := t.TempDir()
	run := begun(t, dir, "a")
	run.Descriptor().WriteString(`{"attempt":{"number":1,"p`)
	ended(t, run)
	state, alive, err := Read(dir, run.Record.Run)
	if err != nil || alive || state.End == nil || state.Attempt != nil {
		t.Errorf("%+v, alive %v, %v", state, alive, err)
	}
}

func TestTheFileOfARunIsUsedAgain(t *testing.T) {
	dir := t.TempDir()
	first := begun(t, dir, "a")
	ended(t, first)
	before := inode(t, Path(dir, first.Record.Run))
	if err := Recycle(dir, first.Record.Run, "a"); err != nil {
		t.Fatal(err)
	}
	if err := Recycle(dir, first.Record.Run, "a"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the second Recycle: %v", err)
	}

	second := begun(t, dir, "a")
	if !os.SameFile(before, inode(t, Path(dir, second.Record.Run))) {
		t.Error("the file was not used again")
	}
	state, alive, err := Read(dir, second.Record.Run)
	if err != nil || !alive || state.End != nil || len(state.Hooks) > 0 || state.Begin.Run != second.Record.Run {
		t.Errorf("the events of the first run count for the second: %+v, alive %v, %v", state, alive, err)
	}
	if ids, err := List(dir); err != nil || len(ids) != 1 {
		t.Errorf("runs: %v, %v", ids, err)
	}
	ended(t, second)
}

// A kill while a run begins leaves its beginning in the file that is used again. Nobody takes it for a run.
func TestABeginningWithoutARunIsPassedOver(t *testing.T) {
	dir := t.TempDir()
	first := begun(t, dir, "a")
	ended(t, first)
	Recycle(dir, first.Record.Run, "a")
	spare, err := os.OpenFile(sparePath(dir, "a"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	killed := &File{Record: outcome.Record{Run: outcome.NewID(), Task: "a"}, file: spare}
	if err := errors.Join(killed.Append(Event{Begin: &killed.Record}), killed.Close()); err != nil {
		t.Fatal(err)
	}
	if ids, err := List(dir); err != nil || len(ids) != 0 {
		t.Errorf("runs: %v, %v", ids, err)
	}
	second := begun(t, dir, "a")
	if state, alive, err := Read(dir, second.Record.Run); err != nil || !alive || state.Begin.Run != second.Record.Run {
		t.Errorf("%+v, alive %v, %v", state, alive, err)
	}
	ended(t, second)
}

// Runs of one task that begin and are put away at the same time each have a file of their own.
func TestFilesAreUsedAgainByManyAtOnce(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 {
				run := begun(t, dir, "a")
				if state, alive, err := Read(dir, run.Record.Run); err != nil || !alive || state.Begin.Run != run.Record.Run || state.End != nil {
					t.Errorf("%+v, alive %v, %v", state, alive, err)
				}
				ended(t, run)
				if err := Recycle(dir, run.Record.Run, "a"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if ids, err := List(dir); err != nil || len(ids) != 0 {
		t.Errorf("runs: %v, %v", ids, err)
	}
}

// A process that opened the file of a run just before it was recycled sees that it is another run's.
func TestARecycledFileIsNotTakenForTheOldRun(t *testing.T) {
	dir := t.TempDir()
	first := begun(t, dir, "a")
	ended(t, first)
	Recycle(dir, first.Record.Run, "a")
	second := begun(t, dir, "a")
	ended(t, second)
	os.Link(Path(dir, second.Record.Run), Path(dir, first.Record.Run)) // as if it were still open under the old name
	if _, _, err := Read(dir, first.Record.Run); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Read: %v", err)
	}
	if _, _, err := Take(dir, first.Record.Run); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Take: %v", err)
	}
}

func TestAFileThatIsLockedOrLargeIsNotUsedAgain(t *testing.T) {
	dir := t.TempDir()
	locked := begun(t, dir, "a")
	id, end := locked.Record.Run, locked.Record
	end.Outcome = outcome.Succeeded
	locked.Append(Event{End: &end})
	before := inode(t, Path(dir, id))
	Recycle(dir, id, "a") // while locked still has the lock
	next := begun(t, dir, "a")
	if os.SameFile(before, inode(t, Path(dir, next.Record.Run))) {
		t.Error("a locked file was used again")
	}
	locked.Close()

	next.Descriptor().WriteString(strings.Repeat("x", largestReused+1))
	ended(t, next)
	Recycle(dir, next.Record.Run, "a")
	if _, err := os.Stat(sparePath(dir, "a")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a large file was kept: %v", err)
	}
}

func TestWhatAKillLeftIsSweptAfterADay(t *testing.T) {
	dir := t.TempDir()
	ended(t, begun(t, dir, "a"))
	old := time.Now().Add(-25 * time.Hour)
	for _, name := range []string{".draft-1", ".draft-2", ".spare-b"} {
		os.WriteFile(runsDir(dir)+"/"+name, nil, 0o600)
	}
	os.Chtimes(runsDir(dir)+"/.draft-1", old, old)
	os.Chtimes(runsDir(dir)+"/.spare-b", old, old)
	SweepDrafts(dir, time.Now())
	left, _ := os.ReadDir(runsDir(dir))
	if len(left) != 2 || left[0].Name() != ".draft-2" {
		t.Errorf("left: %v", left)
	}
}

// `sched status` and `list` read the files of runs at any time. A tick that takes a run at that very moment must
// not find it alive.
func TestAReaderKeepsNoTickFromTakingARun(t *testing.T) {
	dir := t.TempDir()
	run := begun(t, dir, "a")
	ended(t, run)
	reader, err := os.Open(Path(dir, run.Record.Run))
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(reader.Fd()), unix.LOCK_SH|unix.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Take(dir, run.Record.Run); err != ErrAlive {
		t.Errorf("beside a reader that stays: %v", err)
	}
	time.AfterFunc(5*time.Millisecond, func() { reader.Close() })
	taken, _, err := Take(dir, run.Record.Run)
	if err != nil {
		t.Fatalf("beside a reader that goes: %v", err)
	}
	taken.Close()
}
