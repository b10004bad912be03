package history

import (
	"bytes"
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sched/schedule/outcome"
)

const page = 4096

// sound is the bytes of a history of 600 runs, and their number.
func sound(t *testing.T) ([]byte, int) {
	t.Helper()
	dir, many := t.TempDir(), []outcome.Record{}
	for n := range 600 {
		many = append(many, rec(n, "a", outcome.Failed))
	}
	fill(t, dir, many...)
	b, err := os.ReadFile(filepath.Join(dir, "history.db"))
	if err != nil {
		t.Fatal(err)
	}
	return b, len(many)
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
			db := openTest(t, dir)
			mustAdd(t, db, rec(9000, "b", outcome.Succeeded))
			if got := runsOf(t, db, Query{Task: "b"}); len(got) != 1 {
				t.Errorf("got %v", got)
			}
			if kept, err := os.ReadFile(db.SetAside()); err != nil || !strings.HasPrefix(db.SetAside(), path+".corrupt-2") || !bytes.Equal(kept, tt.file) {
				t.Errorf("set aside as %q: %v", db.SetAside(), err)
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
		db := openTest(t, dir)
		if err := db.CheckPages(context.Background()); err != nil || db.SetAside() == "" {
			t.Errorf("page %d: set aside as %q, %v", at/page, db.SetAside(), err)
		}
		if found := runsOf(t, db, Query{Task: "a"}); len(found) != 0 {
			t.Errorf("page %d: %d rows of %d in the new history", at/page, len(found), rows)
		}
	}
	db := openTest(t, t.TempDir())
	mustAdd(t, db, rec(9000, "b", outcome.Succeeded))
	if err := db.CheckPages(context.Background()); err != nil || db.SetAside() != "" {
		t.Errorf("a sound one: %q, %v", db.SetAside(), err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := db.CheckPages(ended); err != nil || db.SetAside() != "" {
		t.Errorf("without time: %q, %v", db.SetAside(), err)
	}
}

func TestAZeroPageAnywhereIsMetByOneMethodAndThenMended(t *testing.T) {
	good, rows := sound(t)
	for at := page; at < len(good); at += 8 * page {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "history.db"), zeroed(good, at, at+page), 0o600); err != nil {
			t.Fatal(err)
		}
		db := openTest(t, dir)
		mustAdd(t, db, rec(9000, "b", outcome.Succeeded))
		found := runsOf(t, db, Query{Task: "a"})
		if _, err := db.Prune(context.Background(), noon, 0, 10, 0); err != nil {
			t.Errorf("page %d: %v", at/page, err)
		}
		mustAdd(t, db, rec(9001, "b", outcome.Succeeded))
		if len(found) != rows && db.SetAside() == "" {
			t.Errorf("page %d: %d of %d rows, and nothing was said", at/page, len(found), rows)
		}
		if err := db.Close(); err != nil {
			t.Errorf("page %d: %v", at/page, err)
		}
	}
}

func TestAFolderInThePlaceOfTheFileIsSetAside(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "history.db", "inside"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenRead(dir); !IsCorrupt(err) {
		t.Errorf("got %v", err)
	}
	db := openTest(t, dir)
	mustAdd(t, db, rec(1, "a", outcome.Succeeded))
	if _, err := os.Stat(filepath.Join(db.SetAside(), "inside")); err != nil {
		t.Error(err)
	}
}

func TestAnEmptyFileIsANewHistory(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "history.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	look, err := OpenRead(dir)
	if err != nil {
		t.Fatal(err)
	}
	look.Close()
	db := openTest(t, dir)
	mustAdd(t, db, rec(1, "a", outcome.Succeeded))
	if db.SetAside() != "" {
		t.Errorf("set aside as %q", db.SetAside())
	}
}

// A journal or a log left behind by a history that was deleted must not be played into the new one.
func TestWhatIsLeftWithoutItsDatabaseIsIgnored(t *testing.T) {
	for _, suffix := range []string{"-wal", "-journal"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "history.db"+suffix), bytes.Repeat([]byte("log"), 5000), 0o600); err != nil {
			t.Fatal(err)
		}
		db := openTest(t, dir)
		mustAdd(t, db, rec(1, "a", outcome.Succeeded))
		if got := runsOf(t, db, Query{}); len(got) != 1 || db.SetAside() != "" {
			t.Errorf("%s: got %v, set aside as %q", suffix, got, db.SetAside())
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
		db, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		kept[db.SetAside()] = true
		db.Close()
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
	_, err := OpenRead(dir)
	if !IsCorrupt(err) || !strings.Contains(err.Error(), path+": it is not a database") {
		t.Errorf("got %v", err)
	}
	if aside, _ := filepath.Glob(path + ".*"); len(aside) > 0 {
		t.Errorf("set aside: %v", aside)
	}
}

func TestALockedFileIsNotCorrupt(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, rec(1, "a", outcome.Succeeded))
	other, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "history.db")+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	tx, err := other.Begin()
	if err != nil {
		t.Fatal(err)
	}
	db := &DB{file{dir: dir, migrations: migrations}} // no patience
	if err := db.open(nil); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Add(context.Background(), []outcome.Record{rec(2, "a", outcome.Succeeded)})
	if err == nil || IsCorrupt(err) || !strings.Contains(err.Error(), "another process kept it locked") {
		t.Errorf("got %v", err)
	}
	tx.Rollback()
	mustAdd(t, db, rec(2, "a", outcome.Succeeded))
	if got := runsOf(t, db, Query{}); len(got) != 2 || db.SetAside() != "" {
		t.Errorf("got %v, set aside %q", got, db.SetAside())
	}
}

// The process that has it open found no damage, and may be adding a record at this moment.
func TestADamagedFileIsNotMovedUnderAnother(t *testing.T) {
	good, _ := sound(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "history.db"), zeroed(good, page, len(good)), 0o600); err != nil {
		t.Fatal(err)
	}
	other, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	db := &DB{file{dir: dir, migrations: migrations}} // no patience
	if err := db.open(nil); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Add(context.Background(), []outcome.Record{rec(1, "b", outcome.Succeeded)})
	if !IsCorrupt(err) || !strings.Contains(err.Error(), "and another process keeps it open") || db.SetAside() != "" {
		t.Errorf("got %v, set aside %q", err, db.SetAside())
	}
	other.Close()
	mustAdd(t, db, rec(1, "b", outcome.Succeeded))
	if got := runsOf(t, db, Query{}); len(got) != 1 || db.SetAside() == "" {
		t.Errorf("got %v, set aside %q", got, db.SetAside())
	}
}
