package runfile

import (
	"errors"
	"os"
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

func TestWhatAKillLeftIsSweptAfterADay(t *testing.T) {
	dir := t.TempDir()
	ended(t, begun(t, dir, "a"))
	old := time.Now().Add(-25 * time.Hour)
	for _, name := range []string{".draft-1", ".draft-2"} {
		os.WriteFile(runsDir(dir)+"/"+name, nil, 0o600)
	}
	os.Chtimes(runsDir(dir)+"/.draft-1", old, old)
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
