//go:build linux

package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// diskSize holds the history of an hour, and is soon full.
const diskSize = "size=96m"

// mount makes a small disk for the state folder, where that is allowed.
func (w *world) mount() {
	if os.Getenv("CRASH_NAMESPACE") != "" {
		err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		if err == nil {
			err = unix.Mount("none", w.disk, "tmpfs", 0, diskSize)
		}
		w.mounted = err == nil
	}
	if !w.mounted {
		w.notes = append(w.notes, "the disk was not filled: that needs root, who may mount a small one")
	}
	must(os.Mkdir(w.state(), 0o700))
}

func (w *world) unmount() {
	if w.mounted {
		unix.Unmount(w.disk, unix.MNT_DETACH)
	}
}

// save copies what is on the small disk beside it, as evidence.
func (w *world) save() {
	if w.mounted {
		must(os.CopyFS(w.path("evidence"), os.DirFS(w.disk)))
	}
}

// A harm befalls the state folder for a while, or once where it has no end.
type harm struct {
	name  string
	begin func(*world, *rand.Rand) error
	again func(*world) // while it lasts
	end   func(*world)
}

// The names of the harms that are asked for in the check.
const (
	fullDisk = "full disk"
	readOnly = "read-only folder"
	damaged  = "damaged history"
)

func (w *world) harms() []harm {
	damage := harm{name: damaged, begin: damageHistory}
	if !w.mounted {
		return []harm{{readOnly, forbid, func(*world) {}, permit}, damage}
	}
	return []harm{
		{fullDisk, func(w *world, _ *rand.Rand) error { fill(w); return nil }, fill, func(w *world) { os.Remove(w.filler()) }},
		{readOnly, remount, func(*world) {}, func(w *world) { unix.Unmount(w.state(), unix.MNT_DETACH) }},
		damage,
	}
}

// damage lets one harm after another happen until over is closed.
func (w *world) damage(over <-chan struct{}) {
	r := w.random("faults")
	harms := w.harms()
	for i := 0; ; i++ {
		select {
		case <-over:
			return
		case <-time.After(time.Duration(4000+r.IntN(5000)) * time.Millisecond):
		}
		h := harms[i%len(harms)]
		w.journal.write(event{what: fault, detail: h.name})
		if err := h.begin(w, r); err != nil {
			must(fmt.Errorf("%s: %w", h.name, err))
		}
		if h.end == nil {
			continue
		}
		for end := time.Now().Add(time.Duration(1000+r.IntN(3000)) * time.Millisecond); time.Now().Before(end); {
			h.again(w)
			time.Sleep(30 * time.Millisecond)
		}
		h.end(w)
		w.journal.write(event{what: passed, detail: h.name})
	}
}

func (w *world) filler() string { return filepath.Join(w.disk, "filler") }

// fill takes all the room that there is, also what was given back since.
func fill(w *world) {
	file, err := os.OpenFile(w.filler(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
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

// remount lays a view of the state folder over it that nobody can write through. Files that are open
// stay as they are.
func remount(w *world, _ *rand.Rand) error {
	if err := unix.Mount(w.state(), w.state(), "", unix.MS_BIND, ""); err != nil {
		return err
	}
	return unix.Mount("", w.state(), "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")
}

// forbid takes away the permission to write, which root would not notice.
func forbid(w *world, _ *rand.Rand) error { return w.chmod(0o500) }

func permit(w *world) { must(w.chmod(0o700)) }

func (w *world) chmod(mode os.FileMode) error {
	for _, name := range []string{"", "runs", "locks", "output"} {
		if err := os.Chmod(filepath.Join(w.state(), name), mode); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

func (w *world) history() string { return filepath.Join(w.state(), "history.db") }

// damageHistory overwrites some pages of the database, or cuts it off, or overwrites its beginning.
// What was in it is remembered, since it will be gone.
func damageHistory(w *world, r *rand.Rand) error {
	const page = 4096
	if records, err := w.recorded(); err == nil {
		w.before = append(w.before, records...)
		w.journal.write(event{what: recalled, detail: fmt.Sprint(len(records))})
	}
	file, err := os.OpenFile(w.history(), os.O_RDWR, 0)
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

// lookAside writes down the damaged histories that were set aside since it was called last.
func (w *world) lookAside() {
	files, _ := filepath.Glob(w.history() + ".corrupt-*Z*")
	for _, file := range files {
		name := filepath.Base(file)
		if !w.asides[name] && !strings.HasSuffix(name, "-wal") && !strings.HasSuffix(name, "-shm") {
			w.asides[name] = true
			w.journal.write(event{what: aside, detail: name})
		}
	}
}
