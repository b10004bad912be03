// Package oneserver says under which key, and until when, a slot of a one_server task is claimed for all servers, and which slots this
// machine knows to be claimed: that is what it tells a Redis that has lost its data.
package oneserver

import (
	"time"

	"sched/mutex"
	"sched/schedule"
	"sched/schedule/outcome"
)

// keptFor is how long a claim outlives its slot: longer than any two clocks differ.
const keptFor = time.Hour

// Key is the key under which every server claims a slot of a task. It has nothing of the mutex, which other tasks may share:
// each of them has slots of its own.
func Key(slot schedule.Slot) string { return mutex.SlotKey(slot.Task.Name, slot.At) }

// Until returns how long the claim of a slot is kept: longer than any two clocks differ, after the last moment at
// which a tick may start it. It is the same for every tick and every server.
func Until(slot schedule.Slot) time.Time { return slot.At.Add(keep(slot.Task)) }

func keep(task *schedule.Task) time.Duration {
	if task.RunMissed || task.WaitWhenStoreDown {
		return keptFor + task.MissedWithin
	}
	return keptFor
}

// Taken is the reason of a skip because of a claim. Who made it is forgotten before the claim is.
func Taken(holder mutex.Holder) string {
	if holder.Run == "" {
		return outcome.AnotherTick + "had this slot, some time ago"
	}
	return outcome.AnotherTick + "has this slot " + holder.String()
}
