package database

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestFilesAreForTheirOwnerOnlyWhateverTheUmask(t *testing.T) {
	for _, umask := range []int{0, 0o077} {
		old := syscall.Umask(umask)
		dir := t.TempDir()
		f := mustOpen(t, in(dir))
		mustAdd(t, f, run{1, "a"})
		syscall.Umask(old)
		files, _ := filepath.Glob(filepath.Join(dir, "*"))
		if len(files) != 3 {
			t.Errorf("got %v, want the database, its journal and its lock", files)
		}
		for _, file := range files {
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("umask %#o: %s has mode %v, %v", umask, file, info.Mode(), err)
			}
		}
	}
}

func TestTheConnectionIsSetUpAsPromised(t *testing.T) {
	f := mustOpen(t, in(t.TempDir()))
	for pragma, want := range map[string]string{"journal_mode": "truncate", "synchronous": "1", "busy_timeout": "10000", "user_version": "1"} {
		var got string
		if err := f.conn.QueryRow("PRAGMA " + pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %s, %v; want %s", pragma, got, err, want)
		}
	}
}

func TestAFullDiskFailsClearlyAndLosesNothing(t *testing.T) {
	f := mustOpen(t, in(t.TempDir()))
	mustAdd(t, f, run{1, "a"})
	if _, err := f.conn.Exec("PRAGMA max_page_count = 1"); err != nil { // SQLite takes the size it has
		t.Fatal(err)
	}
	more := many(2, 1000, "b")
	err := add(f, more...)
	if err == nil || !strings.Contains(err.Error(), "history.db: there is no room left for it: ") || IsCorrupt(err) {
		t.Errorf("got %v", err)
	}
	if got := idsOf(t, f, ""); !slices.Equal(got, []int{1}) {
		t.Errorf("left are %v", got)
	}
	if _, err := f.conn.Exec("PRAGMA max_page_count = 100000"); err != nil {
		t.Fatal(err)
	}
	mustAdd(t, f, more...)
}

func TestAClosedFileSaysSo(t *testing.T) {
	f, err := Open(in(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	if err := add(f, run{1, "a"}); !errors.Is(err, errClosed) {
		t.Errorf("got %v", err)
	}
}

func TestAFolderThatDoesNotExistIsNamed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	if _, err := Open(in(dir)); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v", err)
	}
}
