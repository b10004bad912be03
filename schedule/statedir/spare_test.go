package statedir

import (
	"os"
	"testing"
)

// In a folder for everybody, as /tmp is, another user may have made the spare folder, with files that say
// which hooks to run.
func TestASpareFolderOfOthersIsNotRead(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
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
