package statedir

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// In a folder for everybody, as /tmp is, another user may have made the spare folder, with files that say
// which hooks to run.
func TestASpareFolderOfOthersIsNotRead(t *testing.T) {
	inPlaces(t, t.TempDir())
	dir := t.TempDir()
	spare := Spares(dir)[0]
	if err := os.Mkdir(spare, 0o700); err != nil {
		t.Fatal(err)
	}
	if n := len(Folders(dir)); n != 2 {
		t.Errorf("our own: %d folders", n)
	}
	if err := os.Chmod(spare, 0o777); err != nil {
		t.Fatal(err)
	}
	if n := len(Folders(dir)); n != 1 {
		t.Errorf("one that others can write: %d folders", n)
	}
	if err := os.Rename(spare, spare+"-elsewhere"); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(spare+"-elsewhere", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(spare+"-elsewhere", spare); err != nil {
		t.Fatal(err)
	}
	if n := len(Folders(dir)); n != 1 {
		t.Errorf("a link: %d folders", n)
	}
}

// inPlaces has spare folders made in these folders.
func inPlaces(t *testing.T, places ...string) {
	before := SparePlaces
	SparePlaces = places
	t.Cleanup(func() { SparePlaces = before })
}

// One place is full and another taken by somebody else: the next one is used, and from then on it is the first.
func TestTheNextSpareFolderIsUsedWhereOneCannotBe(t *testing.T) {
	full, taken, free := filepath.Join(t.TempDir(), "none"), t.TempDir(), t.TempDir()
	inPlaces(t, full, taken, free)
	dir := t.TempDir()
	if err := os.WriteFile(Spares(dir)[1], nil, 0o600); err != nil {
		t.Fatal(err)
	}
	spare, err := OpenAnySpare(dir)
	if spare != Spares(dir)[2] || err == nil || !strings.Contains(err.Error(), "nor can "+Spares(dir)[0]) || !strings.Contains(err.Error(), "nor can "+Spares(dir)[1]) {
		t.Errorf("%s, %v", spare, err)
	}
	if err := os.Mkdir(full, 0o700); err != nil {
		t.Fatal(err)
	}
	if again, err := OpenAnySpare(dir); again != spare || err != nil {
		t.Errorf("later: %s, %v", again, err)
	}
}

// Locks hold between a shell with a TMPDIR of its own and cron.
func TestNoVariableMovesTheSpareFolders(t *testing.T) {
	before := Spares("/srv/.sched")
	t.Setenv("TMPDIR", t.TempDir())
	if after := Spares("/srv/.sched"); !slices.Equal(before, after) || len(after) < 2 {
		t.Errorf("%v, not %v", after, before)
	}
	if root := placesOf(0); root[0] != "/run" {
		t.Errorf("those of root are in %v", root)
	}
}

// letGo is the end of the processes that use spare folders.
func letGo() {
	spareLocks.Range(func(lock, _ any) bool {
		spareLocks.Delete(lock)
		return lock.(*os.File).Close() == nil
	})
}

// A spare folder stayed in /run or /tmp for ever, once a disk was full.
func TestASpareFolderIsRemovedWhenNothingIsInIt(t *testing.T) {
	inPlaces(t, t.TempDir())
	spare, err := OpenAnySpare(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(spare, name)), 0o700), os.WriteFile(filepath.Join(spare, name), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	file("locks/task")
	file("runs/one.json")
	locks := func() []string { return []string{"locks/*"} }
	if RemoveSpare(spare, locks) {
		t.Fatal("a process uses it")
	}
	letGo()
	held, err := OpenLocked(filepath.Join(spare, "locks/task"), os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	os.Remove(filepath.Join(spare, "runs/one.json"))
	if RemoveSpare(spare, locks) {
		t.Fatal("a run has its lock in it")
	}
	held.Close()
	file("runs/one.json")
	if RemoveSpare(spare, locks) {
		t.Fatal("a run is in it")
	}
	if err := os.Remove(filepath.Join(spare, "runs/one.json")); err != nil {
		t.Fatal(err)
	}
	if !RemoveSpare(spare, locks) {
		t.Error("nothing is in it")
	}
	if _, err := os.Lstat(spare); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// Ticks begin to use a spare folder in the moment in which others remove it. What they write there is never lost with it.
func TestASpareFolderIsNotRemovedUnderItsUser(t *testing.T) {
	inPlaces(t, t.TempDir())
	dir := t.TempDir()
	spare, over := Spares(dir)[0], make(chan bool)
	var removed int
	var removing sync.WaitGroup
	removing.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
				if RemoveSpare(spare, func() []string { return []string{"written"} }) {
					removed++
				}
			}
		}
	})
	for range 2000 {
		if err := OpenSpare(spare); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(spare, "written")
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatalf("it was removed while it was in use: %v", err)
		}
		runtime.Gosched()
		if _, err := os.Stat(path); err != nil {
			t.Fatalf("what was written is gone: %v", err)
		}
		letGo()
	}
	close(over)
	removing.Wait()
	t.Logf("removed %d times", removed)
	if removed == 0 {
		t.Error("it was never removed: nothing was tried")
	}
}
