//go:build linux

package main

import (
	"context"
	"fmt"
	"time"

	"sched/schedule/state"
)

// A place says that a run waits in the queue for a mutex, or for the seats of a pool. It is read
// from the row of the run. If two looks find an equal place, the run has not left the queue in
// between.
type place struct {
	queue string // the name of the mutex; of the pool with a "#"
	since string // sorts places as they are served
	run   string
	owner int64 // the process that waits
}

// A look has the places that were taken at one moment.
type look struct {
	from, to int64 // how long the journal was before the look, and after it; then the first line that was not there yet
	standing map[place]bool
}

// observe looks at the queues until over is closed.
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

// standing returns the places that are taken. The place of a killed process does not count.
func (c *campaign) standing() map[place]bool {
	all := map[place]bool{}
	db, err := state.OpenRead(c.state(), time.Second)
	if err != nil {
		return all
	}
	defer db.Close()
	rows, _ := db.LiveQueue(context.Background())
	for _, row := range rows {
		for _, name := range []string{row.Mutex, state.SeatQueue(row.Pool)} {
			if row.InQueue(name) {
				all[place{name, fmt.Sprintf("%016d-%s", row.Wait.Since.UnixMicro(), row.ID), row.ID, row.Owner}] = true
			}
		}
	}
	return all
}
