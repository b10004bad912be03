package state

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func init() {
	children["own a row"] = func(dir string, out io.Writer) error {
		db, err := Open(dir, Patience)
		if err != nil {
			return err
		}
		owner, err := db.Owners().Enroll(ctx, Supervisor)
		if err != nil {
			return err
		}
		plan, err := db.Plan(ctx)
		if err != nil {
			return err
		}
		if _, err := plan.Add(ctx, []Row{due("task", noon, owner.ID)}); err != nil {
			return err
		}
		if err := plan.Commit(); err != nil {
			return err
		}
		fmt.Fprintln(out, owner.ID)
		_, err = io.ReadAll(os.Stdin) // until it is killed
		return err
	}
	children["inherit an owner"] = func(dir string, out io.Writer) error {
		fmt.Fprintln(out, "here")
		_, err := io.ReadAll(os.Stdin)
		return err
	}
}

func orphans(t *testing.T, db *DB) []Row {
	t.Helper()
	_, lost, err := db.LiveAndLost(ctx)
	must(t, err)
	return lost
}

func TestAnOwnerLivesAsLongAsItsProcess(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	c := start(t, "own a row", dir)
	id, err := strconv.ParseInt(strings.TrimSpace(c.line()), 10, 64)
	must(t, err)
	db := open(t, dir)
	if !db.Owners().Alive(id) || len(orphans(t, db)) > 0 {
		t.Error("it lives, and its row was found to be an orphan")
	}
	c.kill()
	if db.Owners().Alive(id) {
		t.Error("it was killed")
	}
	rows := orphans(t, db)
	if len(rows) != 1 || rows[0].Owner != id || len(rows[0].Snapshot) == 0 {
		t.Fatalf("%+v", rows)
	}
	if _, err := os.Stat(db.Owners().path(id)); err != nil {
		t.Errorf("the owner has a row still: %v", err)
	}
	ours := owned(t, db)
	must(t, ours.Apply(ctx, Take(), &rows[0]))
	if rows := orphans(t, db); len(rows) != 0 {
		t.Errorf("%+v", rows)
	}
	must(t, db.Owners().RemoveStale(ctx))
	if _, err := os.Stat(db.Owners().path(id)); !os.IsNotExist(err) {
		t.Errorf("nobody needs the file of the owner any more: %v", err)
	}
}

// A supervisor inherits its owner from the tick, and its witness has it, too.
// The owner of a row gives it away and ends, again and again. No look may find the row between two
// owners, and call it lost.
func TestARowThatChangesHandsIsNotLost(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	owner, err := db.Owners().Enroll(ctx, Tick)
	must(t, err)
	row := due("task", noon, owner.ID)
	add(t, db, row)
	ended := make(chan error)
	go func() {
		for range 300 {
			next, err := db.Owners().Enroll(ctx, Finish)
			if err == nil {
				err = db.Owners().Owned(owner).Apply(ctx, HandOver(next.ID), &row)
			}
			if err != nil {
				ended <- err
				return
			}
			owner.Close()
			owner = next
		}
		ended <- nil
	}()
	for {
		if lost := orphans(t, db); len(lost) > 0 {
			t.Errorf("%v is lost", lost)
		}
		select {
		case err := <-ended:
			must(t, err)
			return
		default:
		}
	}
}

func TestAnOwnerLivesInTheProcessesThatInheritedIt(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	db := open(t, dir)
	owner, err := db.Owners().New(Supervisor)
	must(t, err)
	c := start(t, "inherit an owner", dir, func(c *exec.Cmd) { c.ExtraFiles = owner.Files() })
	c.line()
	must(t, owner.Close())
	if !db.Owners().Alive(owner.ID) {
		t.Error("the process that inherited it lives")
	}
	c.kill()
	if db.Owners().Alive(owner.ID) {
		t.Error("all its processes are dead")
	}
}

func TestOwnersHaveDifferentIDs(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	seen := map[int64]bool{}
	for range 200 {
		owner, err := db.Owners().New(Finish)
		must(t, err)
		if seen[owner.ID] {
			t.Fatal("twice")
		}
		seen[owner.ID] = true
		defer owner.Release()
	}
}

// When nobody can tell whether an owner lives, its rows stay untouched.
func TestAnOwnerThatCannotBeLookedAtLives(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	must(t, os.Mkdir(db.Owners().path(7), 0o700)) // no file: it cannot be opened as one
	if !db.Owners().Alive(7) {
		t.Error("nobody knows, and it was taken for dead")
	}
}

func TestStaleLocksAreRemoved(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	dead, err := db.Owners().New(Tick)
	must(t, err)
	must(t, dead.Close())
	lives, err := db.Owners().New(Tick)
	must(t, err)
	must(t, db.Owners().RemoveStale(ctx))
	if _, err := os.Stat(db.Owners().path(dead.ID)); !os.IsNotExist(err) {
		t.Errorf("the one that is dead: %v", err)
	}
	if _, err := os.Stat(db.Owners().path(lives.ID)); err != nil {
		t.Errorf("the one that lives: %v", err)
	}
	must(t, lives.Release())
}

// The error named the file twice.
func TestTheErrorOfAnOwnerNamesTheFileOnce(t *testing.T) {
	dir := t.TempDir()
	db, err := Open(dir, Patience)
	must(t, err)
	defer db.Close()
	inTheWay := filepath.Join(dir, "sched.db")
	must(t, os.Remove(inTheWay))
	must(t, os.Mkdir(inTheWay, 0o700))
	_, err = db.Owners().Enroll(t.Context(), Tick)
	if err == nil || strings.Count(err.Error(), "sched.db: ") != 1 {
		t.Error(err)
	}
}
