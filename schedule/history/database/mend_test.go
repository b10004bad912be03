package database

import (
	"bytes"
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const page = 4096

// sound is the bytes of a file with 600 runs, and their number.
func sound(t *testing.T) ([]byte, int) {
	t.Helper()
	dir, runs := t.TempDir(), many(0, 600, "a")
	fill(t, dir, runs...)
	b, err := os.ReadFile(filepath.Join(dir, "history.db"))
	if err != nil {
		t.Fatal(err)
	}
	return b, len(runs)
}

func zeroed(b []byte, from, to int) []byte {
	b = bytes.Clone(b)
	clear(b[from:to])
	return b
}

func TestADamagedFileIsSetAsideAndARecordIsAdded(t *testing.T) {
	good, _ := sound(t)
	for _, tt := range []struct {
		damage string
		file   []byte
	}{
		{"the file is text", []byte(strings.Repeat("this is no database\n", 1000))},
		{"the file was cut in the middle of the first page", good[:1000]},
		{"the file was cut within the header", good[:50]},
		{"the file was cut after the first page", good[:page]},
		{"the file was cut in the middle", good[:len(good)/2/page*page]},
		{"the first page is zero", zeroed(good, 0, page)},
		{"the list of tables is zero", zeroed(good, 100, page)},
		{"all but the first page is zero", zeroed(good, page, len(good))},
	} {
		t.Run(tt.damage, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "history.db")
			if err := os.WriteFile(path, tt.file, 0o600); err != nil {
				t.Fatal(err)
			}
			f := mustOpen(t, in(dir))
			mustAdd(t, f, run{9000, "b"})
			if got := idsOf(t, f, "b"); len(got) != 1 {
				t.Errorf("got %v", got)
			}
			if kept, err := os.ReadFile(f.SetAside()); err != nil || !strings.HasPrefix(f.SetAside(), path+".corrupt-2") || !bytes.Equal(kept, tt.file) {
				t.Errorf("set aside as %q: %v", f.SetAside(), err)
			}
		})
	}
}

// A page that ticks never read was damaged for months, until `sched history` failed with it.
func TestCheckPagesFindsDamageThatNobodyReads(t *testing.T) {
	good, rows := sound(t)
	for at := page; at < len(good); at += page {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "history.db"), zeroed(good, at, at+page), 0o600); err != nil {
			t.Fatal(err)
		}
		f := mustOpen(t, in(dir))
		if err := f.CheckPages(context.Background()); err != nil || f.SetAside() == "" {
			t.Errorf("page %d: set aside as %q, %v", at/page, f.SetAside(), err)
		}
		if found := idsOf(t, f, "a"); len(found) != 0 {
			t.Errorf("page %d: %d rows of %d in the new history", at/page, len(found), rows)
		}
	}
	f := mustOpen(t, in(t.TempDir()))
	mustAdd(t, f, run{9000, "b"})
	if err := f.CheckPages(context.Background()); err != nil || f.SetAside() != "" {
		t.Errorf("a sound one: %q, %v", f.SetAside(), err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := f.CheckPages(ended); err != nil || f.SetAside() != "" {
		t.Errorf("without time: %q, %v", f.SetAside(), err)
	}
}

func TestAFolderInThePlaceOfTheFileIsSetAside(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "history.db", "inside"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(lookIn(dir)); !IsCorrupt(err) {
		t.Errorf("got %v", err)
	}
	f := mustOpen(t, in(dir))
	mustAdd(t, f, run{1, "a"})
	if _, err := os.Stat(filepath.Join(f.SetAside(), "inside")); err != nil {
		t.Error(err)
	}
}

func TestAnEmptyFileIsANewHistory(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "history.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	look, err := Open(lookIn(dir))
	if err != nil {
		t.Fatal(err)
	}
	look.Close()
	f := mustOpen(t, in(dir))
	mustAdd(t, f, run{1, "a"})
	if f.SetAside() != "" {
		t.Errorf("set aside as %q", f.SetAside())
	}
}

// A journal or a log left behind by a history that was deleted must not be played into the new one.
func TestWhatIsLeftWithoutItsDatabaseIsIgnored(t *testing.T) {
	for _, suffix := range []string{"-wal", "-journal"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "history.db"+suffix), bytes.Repeat([]byte("log"), 5000), 0o600); err != nil {
			t.Fatal(err)
		}
		f := mustOpen(t, in(dir))
		mustAdd(t, f, run{1, "a"})
		if got := idsOf(t, f, ""); len(got) != 1 || f.SetAside() != "" {
			t.Errorf("%s: got %v, set aside as %q", suffix, got, f.SetAside())
		}
	}
}

func TestTwoDamagedFilesOfOneSecondAreBothKept(t *testing.T) {
	dir := t.TempDir()
	kept := map[string]bool{}
	for range 3 {
		if err := os.WriteFile(filepath.Join(dir, "history.db"), []byte("garbage"), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := Open(in(dir))
		if err != nil {
			t.Fatal(err)
		}
		kept[f.SetAside()] = true
		f.Close()
	}
	files, _ := filepath.Glob(filepath.Join(dir, "history.db.corrupt-*"))
	if len(kept) != 3 || len(files) != 3 {
		t.Errorf("kept %v, there are %v", kept, files)
	}
}

func TestLookingAtADamagedFileLeavesIt(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "history.db")
	if err := os.WriteFile(path, []byte("garbage, and more than a hundred bytes of it: "+strings.Repeat("x", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(lookIn(dir))
	if !IsCorrupt(err) || !strings.Contains(err.Error(), path+": it is not a database") {
		t.Errorf("got %v", err)
	}
	if aside, _ := filepath.Glob(path + ".*"); len(aside) > 0 {
		t.Errorf("set aside: %v", aside)
	}
}

func TestALockedFileIsNotCorrupt(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, run{1, "a"})
	other, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "history.db")+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	tx, err := other.Begin()
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(atOnce(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	err = add(f, run{2, "a"})
	if err == nil || IsCorrupt(err) || !strings.Contains(err.Error(), "another process kept it locked") {
		t.Errorf("got %v", err)
	}
	tx.Rollback()
	mustAdd(t, f, run{2, "a"})
	if got := idsOf(t, f, ""); len(got) != 2 || f.SetAside() != "" {
		t.Errorf("got %v, set aside %q", got, f.SetAside())
	}
}

// The process that has it open found no damage, and may be adding a record at this moment.
func TestADamagedFileIsNotMovedUnderAnother(t *testing.T) {
	good, _ := sound(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "history.db"), zeroed(good, page, len(good)), 0o600); err != nil {
		t.Fatal(err)
	}
	other, err := Open(in(dir))
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(atOnce(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	err = add(f, run{1, "b"})
	if !IsCorrupt(err) || !strings.Contains(err.Error(), "and another process keeps it open") || f.SetAside() != "" {
		t.Errorf("got %v, set aside %q", err, f.SetAside())
	}
	other.Close()
	mustAdd(t, f, run{1, "b"})
	if got := idsOf(t, f, ""); len(got) != 1 || f.SetAside() == "" {
		t.Errorf("got %v, set aside %q", got, f.SetAside())
	}
}
