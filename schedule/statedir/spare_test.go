package statedir

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
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
