package state

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule/outcome"
	"sched/schedule/statedir"
)

func init() {
	children["add a row each line"] = func(dir string, out io.Writer) error {
		db, err := Open(dir, Patience)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, "open")
		buffer := make([]byte, 1)
		for i := 0; ; i++ {
			if n, _ := os.Stdin.Read(buffer); n == 0 {
				return nil
			}
			if _, err := db.Runs().Request(ctx,
				Row{ID: outcome.NewID(), Task: "other", Slot: noon.Add(time.Duration(i) * time.Minute)}); err != nil {
				return err
			}
			fmt.Fprintln(out, "added")
		}
	}
	children["lock the database"] = func(dir string, out io.Writer) error {
		db, err := Open(dir, Patience)
		if err != nil {
			return err
		}
		if _, err := db.Plan(ctx); err != nil {
			return err
		}
		fmt.Fprintln(out, "locked")
		_, err = io.ReadAll(os.Stdin)
		return err
	}
	children["look"] = func(dir string, out io.Writer) error {
		db, err := OpenRead(dir, Patience)
		if err != nil {
			return err
		}
		defer db.Close()
		rows, err := db.Runs().BegunOrWaiting(ctx)
		fmt.Fprintln(out, len(rows))
		return err
	}
	children["add a row"] = func(dir string, out io.Writer) error {
		db, err := Open(dir, Patience)
		if err != nil {
			return err
		}
		defer db.Close()
		_, err = db.Runs().Request(ctx, Row{ID: outcome.NewID(), Task: "task", Slot: noon})
		return err
	}
	children["die with a log"] = func(dir string, out io.Writer) error {
		db, err := Open(dir, Patience)
		if err != nil {
			return err
		}
		if _, err = db.Runs().Request(ctx, Row{ID: outcome.NewID(), Task: "task", Slot: noon}); err != nil {
			return err
		}
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
}

func request(db *DB) error {
	_, err := db.Runs().Request(ctx, Row{ID: outcome.NewID(), Task: "task", Slot: noon})
	return err
}

func count(t testing.TB, db *DB) int {
	t.Helper()
	return len(allRows(t, db))
}

func TestANewFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "state")
	db := open(t, dir)
	must(t, request(db))
	for path, want := range map[string]os.FileMode{dir: 0o700 | os.ModeDir, db.file.locksDir(): 0o700 | os.ModeDir,
		db.file.path(): 0o600, db.file.path() + "-wal": 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	must(t, db.Close())
	if err := request(db); err == nil {
		t.Error("it is closed")
	}
	db = open(t, dir)
	if count(t, db) != 1 {
		t.Error("the row is gone")
	}
}

func TestAFolderOfAnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give folders away")
	}
	dir := folder(t)
	must(t, os.Chown(dir, 12345, 12345))
	var foreign *statedir.ForeignError
	if _, err := Open(dir, Patience); !errors.As(err, &foreign) {
		t.Errorf("%v", err)
	}
}

func TestTheFileOfANewerSchedIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	db := open(t, dir)
	_, err := db.file.conn.Exec("PRAGMA user_version = 99")
	must(t, err)
	must(t, db.Close())
	before, err := os.ReadFile(db.file.path())
	must(t, err)
	for _, open := range []func(string, time.Duration) (*DB, error){Open, OpenRead} {
		var newer *NewerError
		if _, err := open(dir, Patience); !errors.As(err, &newer) || newer.Version != 99 ||
			!strings.Contains(err.Error(), "newer sched") {
			t.Errorf("%v", err)
		}
	}
	if after, err := os.ReadFile(db.file.path()); string(after) != string(before) || err != nil {
		t.Errorf("it was changed: %v", err)
	}
}

// The supervisor of a run that takes hours closes the file meanwhile. If a newer sched has upgraded
// the file by then, the result of the run is written all the same.
func TestAProcessThatHadTheFileOpenGoesOnWithANewerOne(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	_, err := db.file.conn.Exec("PRAGMA user_version = 99")
	must(t, err)
	db.CloseIfIdle(0)
	must(t, request(db))
	if n := count(t, db); n != 1 {
		t.Errorf("%d rows", n)
	}
}

// A tick upgrades the file of an earlier version once, and its runs stay. Before that, readers say
// so. The test is not parallel: others wait until it has taken its migration back.
func TestTheFileOfAnEarlierSchedIsUpgraded(t *testing.T) {
	dir := folder(t)
	db := open(t, dir)
	must(t, request(db))
	must(t, db.Close())
	before := migrations
	t.Cleanup(func() { migrations = before })
	migrations = append(slices.Clip(before), "ALTER TABLE meta ADD COLUMN note TEXT NOT NULL DEFAULT 'none'")
	if _, err := OpenRead(dir, Patience); err == nil ||
		!strings.Contains(err.Error(), "an older sched; the next tick brings it up to date") {
		t.Errorf("%v", err)
	}
	for range 2 { // a second upgrade would fail, because the column is there
		db := open(t, dir)
		if n := count(t, db); n != 1 {
			t.Errorf("%d rows", n)
		}
		if _, err := db.file.conn.Exec("SELECT note FROM meta"); err != nil {
			t.Error(err)
		}
		must(t, db.Close())
	}
}

// damageHeader overwrites the header, so that SQLite does not take the file for a database. It
// opens a descriptor of its own: no connection of this process may have the file.
func damageHeader(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	must(t, err)
	defer f.Close()
	_, err = f.WriteAt([]byte(strings.Repeat("damage! ", 512)), 0)
	must(t, err)
}

func TestADamagedFileIsSetAside(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	db := open(t, dir)
	must(t, request(db))
	must(t, db.Close())
	damageHeader(t, db.file.path())
	if _, err := OpenRead(dir, Patience); !Damaged(err) || !strings.Contains(err.Error(), "not a database") {
		t.Errorf("who looks changes nothing: %v", err)
	}
	db = open(t, dir)
	if count(t, db) != 0 || !strings.HasPrefix(db.SetAside(), filepath.Join(dir, "sched.db.damaged-2")) {
		t.Errorf("set aside to %q", db.SetAside())
	}
	if _, err := os.Stat(db.SetAside()); err != nil {
		t.Error(err)
	}
	must(t, request(db))
}

// Two processes have the file open when a page of it is damaged. The process that meets the damage
// sets the file aside; the other one goes on in the new file. Neither loses what it writes from
// then on. A row that lives is added again.
func TestDamageIsMetWhileProcessesWork(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	other := start(t, "add a row each line", dir)
	other.line()
	db := open(t, dir)
	ours := owned(t, db)
	row := due("task", noon, ours.ID)
	add(t, db, row)
	must(t, ours.Apply(ctx, Start(Attempt{Number: 1, At: noon}), &row))

	// Damage the pages by way of SQLite itself.
	_, err := db.file.conn.Exec("PRAGMA writable_schema = ON")
	must(t, err)
	if _, err := db.file.conn.Exec("UPDATE sqlite_dbpage SET data = ? WHERE pgno > 1",
		bytes.Repeat([]byte{0xff}, 4096)); err != nil {
		t.Skip(err)
	}
	live := row
	live.Phase, live.Attempt = Running, Attempt{Number: 1, At: noon}
	if err := ours.Apply(ctx, Fork(1), &row); !errors.Is(err, ErrGone) {
		t.Fatalf("%v", err)
	}
	if db.SetAside() == "" {
		t.Error("it was not set aside")
	}
	traceless := Row{ID: outcome.MissedID("task", noon), Task: "task",
		Slot: noon, Phase: Ended, Result: Result{Outcome: outcome.Lost, Ended: noon}}
	must(t, db.Runs().Record(ctx, []Row{traceless}, false)) // by a tick that does not find the run
	must(t, ours.Restore(ctx, live, nil))
	must(t, ours.Restore(ctx, live, nil))
	must(t, ours.Apply(ctx, Fork(1), &row))

	fmt.Fprint(other.in, "x")
	if line := other.line(); line != "added\n" {
		t.Errorf("the other process: %q", line)
	}
	if n := count(t, db); n != 2 {
		t.Errorf("%d rows", n)
	}
	other.in.Close()
	other.line()
	must(t, other.Wait())
	if n := count(t, db); n != 2 {
		t.Errorf("%d rows after the other process has closed the file", n)
	}
	damaged, err := filepath.Glob(filepath.Join(dir, "sched.db.damaged-*Z"))
	if len(damaged) != 1 || err != nil {
		t.Errorf("%v", damaged)
	}
}

func TestAFolderIsDeletedWhileAProcessWorks(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	db := open(t, dir)
	must(t, request(db))
	must(t, os.RemoveAll(dir))
	must(t, request(db))
	if n := count(t, db); n != 1 {
		t.Errorf("%d rows", n)
	}
	if _, err := os.Stat(db.file.path()); err != nil {
		t.Error(err)
	}
}

// The file is set aside once, whichever process meets the damage.
func TestManyMeetTheDamageAtOnce(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	db := open(t, dir)
	must(t, db.Close())
	damageHeader(t, db.file.path())
	var opening sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		opening.Go(func() {
			db, err := Open(dir, Patience)
			if err == nil {
				err = errors.Join(request(db), db.Close())
			}
			errs[i] = err
		})
	}
	opening.Wait()
	must(t, errors.Join(errs...))
	if n := count(t, open(t, dir)); n != len(errs) {
		t.Errorf("%d rows", n)
	}
	if damaged, _ := filepath.Glob(filepath.Join(dir, "sched.db.damaged-*Z*")); len(damaged) != 1 {
		t.Errorf("%v", damaged)
	}
}

func TestWhatIsNoFileIsNamed(t *testing.T) {
	t.Parallel()
	for _, suffix := range fileSuffixes {
		dir := folder(t)
		must(t, unix.Mkfifo(filepath.Join(dir, "sched.db"+suffix), 0o600))
		for _, open := range []func(string, time.Duration) (*DB, error){Open, OpenRead} {
			if _, err := open(dir, Patience); err == nil || !Unwritable(err) ||
				!strings.Contains(err.Error(), "sched.db"+suffix+" is a named pipe") {
				t.Errorf("%s: %v", suffix, err)
			}
		}
	}
}

func TestAnotherProcessKeepsItLocked(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	c := start(t, "lock the database", dir)
	c.line()
	db, err := Open(dir, 50*time.Millisecond)
	must(t, err)
	defer db.Close()
	if err := request(db); !Unwritable(err) ||
		!strings.Contains(err.Error(), "another process kept it locked for too long") {
		t.Errorf("%v", err)
	}
	if _, err := db.Plan(ctx); !Unwritable(err) {
		t.Errorf("%v", err)
	}
	look, err := OpenRead(dir, 50*time.Millisecond)
	must(t, err)
	defer look.Close()
	if count(t, look) != 0 {
		t.Error("rows")
	}
	patient, err := Open(dir, time.Hour)
	must(t, err)
	defer patient.Close()
	patient.ShortenWaits()
	if err := request(patient); !Unwritable(err) {
		t.Errorf("%v", err)
	}
	c.kill()
	must(t, request(db))
}

func TestTheDatabaseInMemory(t *testing.T) {
	t.Parallel()
	db, err := OpenMemory()
	must(t, err)
	defer db.Close()
	owner, err := db.Owners().Enroll(ctx, Tick)
	must(t, err)
	ours := db.Owners().Owned(owner)
	row := due("task", noon, owner.ID)
	add(t, db, row)
	if rows := orphans(t, db); len(rows) > 0 || len(owner.Files()) > 0 {
		t.Errorf("%v", rows)
	}
	must(t, ours.Apply(ctx, Start(Attempt{Number: 1, At: noon}), &row))
	must(t, ours.Apply(ctx, End(Ending{Result: Result{Outcome: outcome.Succeeded, Ended: noon}}), &row))
	must(t, errors.Join(owner.Release(), db.Owners().RemoveStale(ctx)))
	if n := count(t, db); n != 1 || !db.InMemory() {
		t.Errorf("%d rows", n)
	}
}

// names returns the files of a folder with their sizes, times and owners. Processes coordinate
// through the file -shm, so it changes as others look.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var b strings.Builder
	for _, e := range entries {
		info, err := e.Info()
		must(t, err)
		if strings.HasSuffix(e.Name(), "-shm") {
			fmt.Fprintln(&b, e.Name())
			continue
		}
		fmt.Fprintln(&b, e.Name(), info.Size(), info.ModTime(), info.Sys().(*syscall.Stat_t).Uid)
	}
	return b.String()
}

func TestLookingChangesNothing(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	look := func(want int) {
		t.Helper()
		before := names(t, dir)
		db, err := OpenRead(dir, Patience)
		must(t, err)
		if n := count(t, db); n != want {
			t.Errorf("%d rows, want %d", n, want)
		}
		if err := request(db); err == nil {
			t.Error("who looks can write")
		}
		must(t, db.Close())
		if after := names(t, dir); after != before {
			t.Errorf("%s became\n%s", before, after)
		}
	}
	look(0) // there is no file
	run(t, "add a row", dir)
	look(1) // nobody has it open
	db := open(t, dir)
	must(t, request(db))
	look(2) // a tick has it open
	must(t, db.Close())
	_ = run(t, "look", dir)
	c := start(t, "die with a log", dir)
	c.line()
	_ = c.Wait()
	if _, err := os.Stat(db.file.path() + "-wal"); err != nil {
		t.Fatal("no log was left: ", err)
	}
	look(3) // a killed process has left its log
	if n := count(t, open(t, dir)); n != 3 {
		t.Errorf("%d rows", n)
	}
}

// A reader that stays open, as in sched serve, sees what ticks do. It also sees a file that is made
// later, or replaced.
func TestWhoLooksForLongSeesWhatHappens(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	look, err := OpenRead(dir, Patience)
	must(t, err)
	defer look.Close()
	if count(t, look) != 0 {
		t.Error("rows")
	}
	run(t, "add a row", dir)
	if count(t, look) != 1 {
		t.Error("the file was made meanwhile")
	}
	must(t, os.RemoveAll(dir))
	if count(t, look) != 0 {
		t.Error("the file was deleted meanwhile")
	}
}

// SQLite makes -wal and -shm by path, and gives them to the owner of the database.
func TestRootOpensNothingInTheFolderOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	const user = 12345
	parent := t.TempDir()
	dir := filepath.Join(parent, "state")
	db := open(t, dir)
	must(t, request(db))
	must(t, db.Close())
	for _, path := range []string{dir, filepath.Join(dir, "locks"), filepath.Join(dir, "sched.db")} {
		must(t, os.Chown(path, user, user))
	}
	before, err := os.ReadDir(dir)
	must(t, err)
	_, err = OpenRead(dir, Patience)
	if foreign, ok := errors.AsType[*statedir.ForeignError](err); !ok || foreign.Owner != user {
		t.Errorf("%v", err)
	}
	after, err := os.ReadDir(dir)
	must(t, err)
	if len(after) != len(before) {
		t.Errorf("%v was there, and now %v", before, after)
	}
	must(t, os.Chown(parent, user, user)) // who can put another folder in the place of this one
	must(t, os.Chown(dir, 0, 0))
	if _, err := OpenRead(dir, Patience); !errors.As(err, new(*statedir.FolderError)) {
		t.Errorf("%v", err)
	}
}

func TestATruncatedJournalWorksToo(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	must(t, os.MkdirAll(filepath.Join(dir, "locks"), 0o700))
	conn, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "sched.db"))
	must(t, err)
	must(t, migrate(conn, 0))
	must(t, conn.Close())
	db := open(t, dir)
	must(t, request(db))
	var mode string
	must(t, db.file.conn.QueryRow("PRAGMA journal_mode").Scan(&mode))
	if mode != "truncate" {
		t.Errorf("%q", mode)
	}
	if n := run(t, "look", dir); n != "1\n" {
		t.Errorf("%q rows", n)
	}
}

// Many goroutines of a supervisor write at the same time.
func TestManyGoroutinesWriteAtOnce(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	ours := owned(t, db)
	var working sync.WaitGroup
	errs := make([]error, 50)
	for i := range errs {
		working.Go(func() {
			row := due(fmt.Sprint("task-", i), noon, ours.ID)
			if _, err := db.Runs().Request(ctx, row); err != nil {
				errs[i] = err
				return
			}
			errs[i] = errors.Join(ours.Apply(ctx, Start(Attempt{Number: 1, At: noon}), &row),
				ours.Apply(ctx, Fork(i+1), &row),
				ours.Apply(ctx, End(Ending{Result: Result{Outcome: outcome.Succeeded, Ended: noon}}), &row))
		})
	}
	working.Wait()
	must(t, errors.Join(errs...))
	if n := count(t, db); n != len(errs) {
		t.Errorf("%d rows", n)
	}
}

// A process was killed while it set a damaged file aside: the file is gone, but its log is not. The
// new file must not meet that log.
func TestALogWithoutItsFileMeansNothing(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	c := start(t, "die with a log", dir)
	c.line()
	_ = c.Wait()
	must(t, os.Remove(filepath.Join(dir, "sched.db")))
	db := open(t, dir)
	if n := count(t, db); n != 0 {
		t.Errorf("%d rows", n)
	}
	must(t, request(db))
	must(t, db.CheckPages(ctx))
	must(t, db.Close())
	if n := count(t, open(t, dir)); n != 1 {
		t.Errorf("%d rows", n)
	}
}

func TestHowTheFileIsOpened(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "1", "busy_timeout": "10000",
		"user_version": fmt.Sprint(newestVersion())} {
		var got string
		must(t, db.file.conn.QueryRow("PRAGMA "+pragma).Scan(&got))
		if got != want {
			t.Errorf("%s is %s, want %s", pragma, got, want)
		}
	}
}

// A page that no tick reads is damaged: the look of each day finds it.
func TestTheDailyLookFindsDamage(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	must(t, request(db))
	must(t, db.CheckPages(ctx))
	_, err := db.file.conn.Exec("PRAGMA writable_schema = ON")
	must(t, err)
	page := 0
	must(t, db.file.conn.QueryRow("SELECT rootpage FROM sqlite_schema WHERE name = 'run_tail'").Scan(&page))
	if _, err := db.file.conn.Exec("UPDATE sqlite_dbpage SET data = ? WHERE pgno = ?", bytes.Repeat([]byte{0xff}, 4096),
		page); err != nil {
		t.Skip(err)
	}
	must(t, db.CheckPages(ctx))
	if db.SetAside() == "" || count(t, db) != 0 {
		t.Error("it was not set aside")
	}
}

// A file of the version before has the count of a range in its reason, too.
func TestTheCountOfARangeIsTakenOutOfItsReason(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	for i, reason := range []string{"3 times until 12:20: no tick recorded", "once until 12:20: no tick recorded", "12:20: it was off"} {
		_, err := db.file.conn.Exec(`INSERT INTO run (id, task, mutex, slot, last_slot, slots, scheduled, phase, outcome, reason)
			VALUES (?, 'a', 'a', ?, 99, ?, 1, 'ended', 'missed', ?)`, fmt.Sprint(i), i, []int{3, 1, 2}[i], reason)
		must(t, err)
	}
	_, err := db.file.conn.Exec(counts)
	must(t, err)
	var got []string
	for _, row := range allRows(t, db) {
		got = append(got, row.Reason)
	}
	slices.Sort(got)
	want := []string{"2 times until 12:20: it was off", "3 times until 12:20: no tick recorded", "once until 12:20: no tick recorded"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
