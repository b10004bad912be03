package output

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestWhichOutputIsUsedAgain(t *testing.T) {
	for _, test := range []struct {
		what  string
		spare func(t *testing.T, spare string)
		again bool
	}{
		{"one in which nothing was printed", func(t *testing.T, spare string) {}, true},
		{"not one to which a daemon may still print", func(t *testing.T, spare string) {
			daemon, err := Open(spare)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { daemon.Close() })
		}, false},
		{"not one to which a daemon has printed since", func(t *testing.T, spare string) {
			if err := os.WriteFile(spare, []byte("late\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"not one that a link leads to", func(t *testing.T, spare string) {
			elsewhere := filepath.Join(t.TempDir(), "empty")
			if err := os.Rename(spare, elsewhere); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(elsewhere, spare); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"no pipe", func(t *testing.T, spare string) {
			os.Remove(spare)
			if err := unix.Mkfifo(spare, 0o600); err != nil {
				t.Fatal(err)
			}
		}, false},
	} {
		t.Run(test.what, func(t *testing.T) {
			first := filepath.Join(t.TempDir(), "output", "first.log")
			second := filepath.Join(filepath.Dir(first), "second.log")
			file, err := Create(first)
			if err != nil {
				t.Fatal(err)
			}
			was, _ := file.Stat()
			file.Close()
			if err := os.Link(first, filepath.Join(t.TempDir(), "kept")); err != nil { // or a new file could get its inode
				t.Fatal(err)
			}
			Recycle(first)
			test.spare(t, spareOf(first))

			file, err = Create(second)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			is, _ := file.Stat()
			if os.SameFile(was, is) != test.again {
				t.Errorf("used again: %v, want %v", !test.again, test.again)
			}
			if at, err := os.Lstat(second); err != nil || !os.SameFile(at, is) || is.Size() > 0 {
				t.Errorf("what is at its path is not the empty file that was opened: %v, %d bytes, %v", at, is.Size(), err)
			}
			if !InUse(second) {
				t.Error("it is not locked while it is open")
			}
			if _, err := os.Lstat(spareOf(second)); err == nil {
				t.Error("the next run could have the same one")
			}
		})
	}
}
