package database

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// contents is what a folder has: names, times, owners and bytes.
func contents(t *testing.T, dir string) (files map[string]string) {
	t.Helper()
	files = map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		info, statErr := e.Info()
		if err := errors.Join(err, statErr); err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = fmt.Sprint(info.ModTime(), info.Sys().(*syscall.Stat_t).Uid, len(text), string(text))
	}
	return files
}

// Whatever state a history is in, who looks sees all runs that were added, leaves no trace in the folder, and one in the
// folder for temporary files neither. Once a look made -wal and -shm, as root those of root, and ticks recorded nothing more.
func TestLookingWritesNothingWhateverItMeets(t *testing.T) {
	for _, tt := range []struct {
		state string
		make  func(t *testing.T, dir string)
		runs  int
	}{
		{"a history that ticks have closed", func(t *testing.T, dir string) { fill(t, dir, run{1, "a"}) }, 1},
		{"one without its lock file and its journal, as in a backup", func(t *testing.T, dir string) {
			fill(t, dir, run{1, "a"})
			for _, suffix := range []string{"-lock", "-mend", "-journal"} {
				os.Remove(filepath.Join(dir, "history.db"+suffix))
			}
		}, 1},
		{"one whose writer was killed in a transaction", func(t *testing.T, dir string) { killWhileWriting(t, "half a transaction", dir) }, 1},
	} {
		t.Run(tt.state, func(t *testing.T) {
			dir, temporary := t.TempDir(), t.TempDir()
			t.Setenv("TMPDIR", temporary)
			tt.make(t, dir)
			before := contents(t, dir)
			f, err := Open(lookIn(dir))
			if err != nil {
				t.Fatal(err)
			}
			if got := idsOf(t, f, ""); len(got) != tt.runs {
				t.Errorf("%d runs are seen", len(got))
			}
			if left := contents(t, temporary); len(left) > 0 {
				t.Errorf("left in the folder for temporary files: %v", left)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
			after := contents(t, dir)
			for name := range after {
				if after[name] != before[name] {
					t.Errorf("%s was written", name)
				}
			}
			if len(after) != len(before) {
				t.Errorf("there were %d files, and are %d", len(before), len(after))
			}
			// The next tick finds everything in order.
			writer := mustOpen(t, in(dir))
			mustAdd(t, writer, run{5000, "tick"})
			if got := idsOf(t, writer, ""); len(got) != tt.runs+1 {
				t.Errorf("a tick finds %d runs", len(got))
			}
		})
	}
}

func TestACopyThatWasReadIsNotReadAnyMoreAfterATick(t *testing.T) {
	dir := t.TempDir()
	killWhileWriting(t, "half a transaction", dir)
	f, err := Open(lookIn(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := idsOf(t, f, ""); len(got) != 1 {
		t.Errorf("%d runs are seen", len(got))
	}
	fill(t, dir, run{2, "a"})
	if got := idsOf(t, f, ""); len(got) != 2 {
		t.Errorf("%d runs are seen after the tick", len(got))
	}
}

func TestAReaderThatIsThereWhenAWriterIsKilledReadsOn(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, run{0, "a"})
	f, err := Open(lookIn(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for want := 1; want <= 2; want++ {
		if got := idsOf(t, f, ""); len(got) != want {
			t.Errorf("%d runs are seen, not %d", len(got), want)
		}
		killWhileWriting(t, "half a transaction", dir)
	}
}

func TestWhereNoCopyCanBeMadeLookingSaysWhenItWillBePossible(t *testing.T) {
	dir := t.TempDir()
	killWhileWriting(t, "half a transaction", dir)
	t.Setenv("TMPDIR", filepath.Join(dir, "none"))
	_, err := Open(lookIn(dir))
	if err == nil || IsCorrupt(err) || !strings.Contains(err.Error(), "history.db: it can be read after the next tick that records something") {
		t.Errorf("got %v", err)
	}
}

// A reader waits for a commit, and sees a transaction whole or not at all.
func TestReadersGoOnWhileOthersWrite(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, run{0, "a"})
	done := make(chan error, 1)
	go func() {
		for n := 1; n <= 200; n += 2 {
			f, err := Open(in(dir))
			if err == nil {
				err = add(f, run{n, "a"}, run{n + 1, "a"})
				err = errors.Join(err, f.Close())
			}
			if err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for {
		f, err := Open(lookIn(dir))
		if err != nil {
			t.Fatal(err)
		}
		found, err := find(f, "")
		if err = errors.Join(err, f.Close()); err != nil || len(found)%2 != 1 {
			t.Fatalf("%d runs are seen: %v", len(found), err)
		}
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			return
		default:
		}
	}
}

// A reader that was stopped in the middle (Ctrl-Z) keeps a writer from committing. Its tick says so, and the next one adds the run.
func TestAReaderThatNeverEndsIsNamedAndLosesNothing(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, run{1, "a"}, run{2, "a"})
	reader, err := Open(lookIn(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	rows, err := reader.conn.Query("SELECT run FROM runs")
	if err != nil || !rows.Next() {
		t.Fatal(err)
	}
	f, err := Open(atOnce(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	err = add(f, run{3, "a"})
	if err == nil || !strings.Contains(err.Error(), "another process kept it locked for too long") {
		t.Errorf("got %v", err)
	}
	rows.Close()
	mustAdd(t, f, run{3, "a"})
	if got := idsOf(t, reader, ""); len(got) != 3 {
		t.Errorf("%d runs are there", len(got))
	}
}

// To close a descriptor drops the locks that SQLite has on the file for others of the process: a tick that writes would go on
// without.
func TestNoCopyIsMadeWhileThisProcessWrites(t *testing.T) {
	dir := t.TempDir()
	writer := mustOpen(t, in(dir))
	reader := &File{config: Config{Dir: dir, Reading: true, Patience: 10 * time.Millisecond}}
	to := filepath.Join(t.TempDir(), "copy")
	if _, err := reader.copyTo(to); !errors.Is(err, errWaited) {
		t.Errorf("got %v", err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.copyTo(to); err != nil {
		t.Error(err)
	}
}
