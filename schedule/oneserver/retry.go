package oneserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"sched/mutex"
	"sched/schedule/statedir"
)

// RetryKeptFor is how long claims of deferred retries that were taken over are kept: a server that comes back later than that does not
// go on with its own.
const RetryKeptFor = 32 * 24 * time.Hour

// retrySlot is the claim of who goes on with a deferred attempt of a run, as a slot: servers that have told of slots tell of it, too.
// The turn is 0 for the server that the attempt was left on, and one more each time that it is taken over.
func retrySlot(run string, attempt, turn int, due time.Time) (name string, at time.Time) {
	return fmt.Sprintf("retry/%s/%d/%d", run, attempt, turn), due.UTC().Truncate(24 * time.Hour)
}

// RetryKey is the key of that claim. Due is the same for all who claim it, and not after the first claim.
func RetryKey(run string, attempt, turn int, due time.Time) string {
	return mutex.SlotKey(retrySlot(run, attempt, turn, due))
}

func retriesPath(dir string) string { return filepath.Join(dir, "taken-over") }

// NoteTaken notes in the state folder that this machine takes a deferred retry over, for a Redis that forgets the claim.
func NoteTaken(dir, run string, attempt, turn int, due, now time.Time) error {
	var text bytes.Buffer
	name, at := retrySlot(run, attempt, turn, due)
	for _, slot := range append(takenRetries(dir, now), mutex.ClaimedSlot{Task: name, At: at, Until: now.Add(RetryKeptFor).UTC()}) {
		line, err := json.Marshal(slot)
		if err != nil {
			return err
		}
		text.Write(append(line, '\n'))
	}
	return statedir.Replace(retriesPath(dir), text.Bytes())
}

// takenRetries returns the claims of deferred retries that this machine has taken over.
func takenRetries(dir string, now time.Time) (slots []mutex.ClaimedSlot) {
	text, _ := statedir.ReadFile(retriesPath(dir)) // what cannot be read is left out
	for line := range bytes.Lines(text) {
		var slot mutex.ClaimedSlot
		if json.Unmarshal(line, &slot) == nil && slot.Until.After(now) {
			slots = append(slots, slot)
		}
	}
	return slots
}
