//go:build linux

package main

import (
	"bytes"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// diskSize is the size of the disk with the state folder. The disk is filled in a moment. It has
// room for the copies of damaged databases of an hour, which sched keeps: 8 MiB a minute.
const diskSize = "size=512m"

// mount makes a small disk for the state folder, if this process may mount.
func (c *campaign) mount() {
	if os.Getenv("CRASH_NAMESPACE") != "" {
		err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		if err == nil {
			err = unix.Mount("none", c.disk, "tmpfs", 0, diskSize)
		}
		c.mounted = err == nil
	}
	if !c.mounted {
		c.notes = append(c.notes, "the disk was not filled: that needs root, who may mount a small one")
	}
	must(os.Mkdir(c.state(), 0o700))
}

func (c *campaign) unmount() {
	if c.mounted {
		unix.Unmount(c.disk, unix.MNT_DETACH)
	}
}

// save copies what is on the small disk beside it, as evidence: the disk is gone with the mounts.
func (c *campaign) save() {
	if c.mounted {
		must(os.CopyFS(c.path("evidence"), os.DirFS(c.disk)))
	}
}

// A faultKind is something that goes wrong with the state folder: for a while, or once if it has no
// end.
type faultKind struct {
	name  string
	begin func(*campaign, *rand.Rand) error
	again func(*campaign) // while it lasts
	end   func(*campaign)
}

// The names of the faults, as findings.go looks for them.
const (
	fullDisk       = "full disk"
	readOnly       = "read-only folder"
	damagedHistory = "damaged history"
)

func (c *campaign) faults() []faultKind {
	damage := faultKind{name: damagedHistory, begin: damageHistory}
	if !c.mounted {
		return []faultKind{{readOnly, makeReadOnly, func(*campaign) {}, makeWritable}, damage}
	}
	return []faultKind{
		{fullDisk, func(c *campaign, _ *rand.Rand) error { fill(c); return nil }, fill,
			func(c *campaign) { os.Remove(c.filler()) }},
		{readOnly, remount, func(*campaign) {}, func(c *campaign) { unix.Unmount(c.state(), unix.MNT_DETACH) }},
		damage,
	}
}

// injectFaults makes one fault after another until over is closed.
func (c *campaign) injectFaults(over <-chan struct{}) {
	r := c.random("faults")
	faults := slices.DeleteFunc(c.faults(),
		func(f faultKind) bool { return strings.Contains(*without, strings.Fields(f.name)[0]) })
	if len(faults) == 0 {
		return
	}
	for i := 0; ; i++ {
		select {
		case <-over:
			return
		case <-time.After(time.Duration(4000+r.IntN(5000)) * time.Millisecond):
		}
		f := faults[i%len(faults)]
		c.journal.write(event{what: faultBegan, detail: f.name})
		if err := f.begin(c, r); err != nil {
			must(fmt.Errorf("%s: %w", f.name, err))
		}
		if f.end == nil {
			continue
		}
		for end := time.Now().Add(time.Duration(1000+r.IntN(3000)) * time.Millisecond); time.Now().Before(end); {
			f.again(c)
			time.Sleep(30 * time.Millisecond)
		}
		f.end(c)
		c.journal.write(event{what: faultEnded, detail: f.name})
	}
}

func (c *campaign) filler() string { return filepath.Join(c.disk, "filler") }

// fill takes all the room on the disk, also the room that was freed after its last call.
func fill(c *campaign) {
	file, err := os.OpenFile(c.filler(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	defer file.Close()
	for size := 1 << 20; size > 0; size /= 16 {
		for err = nil; err == nil; {
			_, err = file.Write(make([]byte, size))
		}
	}
}

// remount lays a read-only view of the state folder over it. Files that are open stay writable.
func remount(c *campaign, _ *rand.Rand) error {
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		if err := unix.Mount(c.state(), c.state(), "", unix.MS_BIND, ""); err != nil {
			return err
		}
		err := unix.Mount("", c.state(), "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")
		if err == nil {
			return nil
		}
		// A process of sched has opened a file through the view before it was read-only, and may
		// keep the file open for long. The next view is without that file.
		unix.Unmount(c.state(), unix.MNT_DETACH)
		if err != unix.EBUSY || time.Now().After(end) {
			return err
		}
	}
}

// makeReadOnly takes away the permission to write. It has no effect on root, who uses remount.
func makeReadOnly(c *campaign, _ *rand.Rand) error { return c.chmod(0o500) }

func makeWritable(c *campaign) { must(c.chmod(0o700)) }

func (c *campaign) chmod(mode os.FileMode) error {
	for _, name := range []string{"", "locks", "output"} {
		if err := os.Chmod(filepath.Join(c.state(), name), mode); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

func (c *campaign) history() string { return filepath.Join(c.state(), "sched.db") }

// damageHistory overwrites some pages of the database, or cuts it off, or overwrites its beginning.
// It first reads the records, for join.
func damageHistory(c *campaign, r *rand.Rand) error {
	const page = 4096
	records, err := c.recorded()
	planned, plannedErr := c.planned()
	if err == nil && plannedErr == nil { // else it is damaged already
		c.before = append(c.before, records...)
		// A row goes from planned over going to recorded: read in this order, no row is missed.
		for _, slot := range planned {
			c.goingBefore[slot] = true
		}
		for _, row := range c.going() {
			c.goingBefore[slotName(row.Task, row.Slot)] = true
		}
		since, _ := c.recorded() // a run may have ended since the records were read
		for _, r := range since {
			if r.Until.IsZero() {
				c.goingBefore[slotName(r.Task, r.Slot)] = true
			}
		}
		c.journal.write(event{what: historyRead, detail: fmt.Sprint(len(records))})
	}
	file, err := os.OpenFile(c.history(), os.O_RDWR, 0)
	if os.IsNotExist(err) {
		return nil // nothing was put away yet
	}
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	pages := info.Size() / page
	if err != nil || pages < 2 {
		return err
	}
	switch r.IntN(3) {
	case 0:
		for range 1 + r.IntN(8) {
			if _, err := file.WriteAt(bytes.Repeat([]byte{0xff}, page), page*(1+r.Int64N(pages-1))); err != nil {
				return err
			}
		}
	case 1:
		return file.Truncate(page * (1 + r.Int64N(pages-1)))
	default:
		_, err = file.WriteAt(bytes.Repeat([]byte("this is no database "), 16), 0)
	}
	return err
}

// planned returns the slots that a tick has planned and not come to yet. They may be older than the
// minute of the tick: slots that other ticks have left.
func (c *campaign) planned() (slots []string, err error) {
	db, err := sql.Open("sqlite", "file:"+c.history()+"?mode=ro") // the driver that package state uses
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.Query("SELECT task, slot FROM run WHERE phase = 'planned'")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var task string
		var micros int64
		if err := rows.Scan(&task, &micros); err != nil {
			return nil, err
		}
		slots = append(slots, slotName(task, time.UnixMicro(micros)))
	}
	return slots, rows.Err()
}

// noteSetAside writes into the journal which damaged histories were set aside after its last call.
func (c *campaign) noteSetAside() {
	files, _ := filepath.Glob(c.history() + ".damaged-*Z*")
	for _, file := range files {
		name := filepath.Base(file)
		if !c.asides[name] && !strings.HasSuffix(name, "-wal") && !strings.HasSuffix(name, "-shm") {
			c.asides[name] = true
			c.journal.write(event{what: historySetAside, detail: name})
		}
	}
}
