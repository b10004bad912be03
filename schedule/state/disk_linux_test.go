package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// smallDisk mounts a disk of so many kilobytes; it needs root.
func smallDisk(t *testing.T, kilobytes int) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dk,mode=0700", kilobytes)); err != nil {
		t.Skip("a disk cannot be mounted here: ", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// A full disk hinders writes, and damages nothing. When there is room again the same process goes
// on.
func TestTheDiskIsFull(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(smallDisk(t, 1024), "state")
	db := open(t, dir)
	must(t, request(db))
	filler := filepath.Join(filepath.Dir(dir), "filler")
	if err := os.WriteFile(filler, make([]byte, 2<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	var err error
	rows := 1
	for range 10_000 {
		if err = request(db); err != nil {
			break
		}
		rows++
	}
	if !Unwritable(err) || !strings.Contains(err.Error(), "no room left") &&
		!strings.Contains(err.Error(), "the disk failed") {
		t.Fatalf("%v", err)
	}
	if _, err := db.Owners().New(Tick); err == nil {
		t.Log("an owner can still be made") // an empty file needs no room
	}
	if n := count(t, db); n != rows {
		t.Errorf("%d rows, want %d", n, rows)
	}
	must(t, os.Remove(filler))
	// A process that another test is about to start may have the file open for a moment.
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		if err = request(db); err == nil || time.Now().After(end) {
			break
		}
	}
	must(t, err)
	must(t, db.CheckPages(ctx))
	must(t, db.Close())
	if n := count(t, open(t, dir)); n != rows+1 || db.SetAside() != "" {
		t.Errorf("%d rows, want %d; set aside to %q", n, rows+1, db.SetAside())
	}
}

func TestTheDiskIsFullFromTheBeginning(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, 64)
	_ = os.WriteFile(filepath.Join(disk, "filler"), make([]byte, 1<<20), 0o600)
	if _, err := Open(filepath.Join(disk, "state"), Patience); !Unwritable(err) {
		t.Errorf("%v", err)
	}
}

// A database that nobody has open has no log, and there is no room for one.
func TestAFullDiskCanBeLookedAt(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, 1024)
	dir := filepath.Join(disk, "state")
	db := open(t, dir)
	must(t, request(db))
	must(t, db.Close())
	if err := os.WriteFile(filepath.Join(disk, "filler"), make([]byte, 2<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	for range 2 { // the first may leave an empty log behind
		look, err := OpenRead(dir, Patience)
		must(t, err)
		if count(t, look) != 1 {
			t.Error("the row cannot be seen")
		}
		must(t, look.Close())
	}
}

func TestTheDiskBecomesReadOnly(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, 1024)
	dir := filepath.Join(disk, "state")
	db := open(t, dir)
	must(t, request(db))
	must(t, db.Close())
	if err := unix.Mount("", disk, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Skip(err)
	}
	if db, err := Open(dir, Patience); err == nil {
		defer db.Close()
		if err := request(db); !Unwritable(err) {
			t.Errorf("%v", err)
		}
		if _, err := db.Owners().New(Tick); !Unwritable(err) {
			t.Errorf("%v", err)
		}
	} else if !Unwritable(err) {
		t.Errorf("%v", err)
	}
	look, err := OpenRead(dir, Patience)
	must(t, err)
	defer look.Close()
	if count(t, look) != 1 {
		t.Error("the row cannot be seen")
	}
}

// A process that opened the file while the folder was read-only could not write to it for ever,
// even when the folder could be written again: a run that had ended kept its mutex.
func TestTheFolderCanBeWrittenAgain(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(smallDisk(t, 1024), "state")
	other := open(t, dir) // keeps the log
	must(t, request(other))
	for _, flags := range []uintptr{unix.MS_BIND, unix.MS_BIND | unix.MS_REMOUNT | unix.MS_RDONLY} {
		if err := unix.Mount(dir, dir, "", flags, ""); err != nil {
			t.Skip(err)
		}
	}
	process := open(t, dir)
	if err := request(process); !Unwritable(err) {
		t.Errorf("while the folder is read-only: %v", err)
	}
	must(t, unix.Unmount(dir, unix.MNT_DETACH))
	must(t, request(process))
	if n := count(t, process); n != 2 {
		t.Errorf("%d rows, want 2", n)
	}
}
