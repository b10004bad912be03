//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A place is that of a run in the queue for a mutex, or for the seats of a pool, as another process sees it: a file, and who has it locked.
// Two places that are equal are one, which nobody has left meanwhile.
type place struct {
	queue string // the name of the mutex; of the pool with a "#"
	since string // sorts places as they are served
	run   string
	pid   string // of the process that waits
	inode uint64
}

// A look is who stood in the queues at one moment.
type look struct {
	from, to int64 // how long the journal was before the look, and after it; then the first line that was not there yet
	standing map[place]bool
}

// observe looks at the queues until over is closed. It takes no lock itself, which would be in the way: the kernel lists who has which.
func (c *campaign) observe(over <-chan struct{}) {
	for {
		l := look{from: c.journal.size()}
		l.standing = c.standing()
		l.to = c.journal.size()
		c.looks = append(c.looks, l)
		select {
		case <-over:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// standing returns the places that are kept. What a process left that was killed is none.
func (c *campaign) standing() map[place]bool {
	all := map[place]bool{}
	paths, _ := filepath.Glob(c.state() + "/queues/*@*")
	if len(paths) == 0 {
		return all
	}
	lockers := flocks()
	for _, path := range paths {
		var stat unix.Stat_t
		if unix.Lstat(path, &stat) != nil {
			continue // it was left meanwhile
		}
		file := fmt.Sprintf("%02x:%02x:%d", unix.Major(stat.Dev), unix.Minor(stat.Dev), stat.Ino)
		if pid, locked := lockers[file]; locked {
			order, queue, _ := strings.Cut(filepath.Base(path), "@")
			_, run, _ := strings.Cut(order, "-")
			all[place{queue, order, run, pid, stat.Ino}] = true
		}
	}
	return all
}

// flocks returns who holds each lock of flock(2), by device and inode.
func flocks() map[string]string {
	lockers := map[string]string{}
	text, _ := os.ReadFile("/proc/locks")
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 5 && f[1] == "FLOCK" {
			lockers[f[5]] = f[4]
		}
	}
	return lockers
}
