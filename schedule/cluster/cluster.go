// Package cluster is what the servers of one schedule tell each other through their store: which
// servers tick, which runs live there, and which runs have ended. It also has the keys of the
// claims of slots.
//
// No value that is read is proof: it may be old, and everybody who can write to the store can write
// anything. So values are cleaned (mutex.Decode) and checked, and no value decides what runs.
//
// On the board of the store (mutex.Board) are, below the schedule's name:
//
//	servers  a table: each server, its last tick, and what runs there; gone ten minutes after it
//	         said that last
//	last     a table: of each task, the ended run that began last on a server; by task and server
//	runs     a log: the last 10,000 runs that ended on any server
//
// All functions may be used concurrently. An error means that nobody knows whether a value was
// written.
package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"sched/mutex"
	"sched/schedule"
)

const (
	tableServers = "servers"
	tableLast    = "last"
	logRuns      = "runs"
)

// encode makes JSON of one of the types of this package, or of a record: each can be encoded.
func encode(v any) []byte {
	text, _ := json.Marshal(v)
	return text
}

// Key is the key of the claim of a slot. It does not contain the mutex, which tasks with other
// slots may share.
func Key(slot schedule.Slot) string {
	return slot.Task.Name + "@" + slot.At.UTC().Format("20060102T150405Z")
}

// Until returns until when a slot's claim is kept, on every server: an hour after the last time at
// which a tick may start it.
func Until(slot schedule.Slot) time.Time {
	last := slot.At
	if slot.Task.RunMissed || slot.Task.WaitWhenStoreDown {
		last = last.Add(slot.Task.MissedWithin)
	}
	return last.Add(time.Hour)
}

// Taken is the reason of a slot that was skipped because of a claim. The holder may be unknown.
func Taken(holder mutex.Holder) string {
	if holder.Run == "" {
		return "another tick had this slot, some time ago"
	}
	return "another tick has this slot " + holder.String()
}

// Forget removes the last runs of a task with that name, and the announcements of a server with
// that name. It reports whether there were any.
func Forget(ctx context.Context, store mutex.Board, name string) (found bool, err error) {
	for _, table := range []string{tableLast, tableServers} {
		values, allErr := store.All(ctx, table)
		err = cmp.Or(err, allErr)
		for key := range values {
			if err == nil && strings.HasPrefix(key, name+"@") { // no name has an @
				found, err = true, store.Delete(ctx, table, key)
			}
		}
	}
	return found, err
}
