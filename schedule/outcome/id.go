package outcome

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/google/uuid"
)

// NewID returns an id for a run: a UUIDv7 (RFC 9562), so that ids sort by the time they were made.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// NewIDAt returns an id for a run that is asked for at another time: it sorts as if it were made at
// that time.
func NewIDAt(at time.Time) string {
	id := uuid.Must(uuid.NewV7())
	binary.BigEndian.PutUint16(id[0:], uint16(at.UnixMilli()>>32))
	binary.BigEndian.PutUint32(id[2:], uint32(at.UnixMilli()))
	return id.String()
}

// Begun returns when the id of a run was made, to the millisecond.
func Begun(id string) time.Time {
	parsed, err := uuid.Parse(id)
	if err != nil {
		return time.Time{}
	}
	seconds, nanoseconds := parsed.Time().UnixTime()
	return time.Unix(seconds, nanoseconds)
}

// IsID reports whether a text is an id in our form. A foreign text may be anything, and ids name
// files.
func IsID(id string) bool {
	parsed, err := uuid.Parse(id)
	return err == nil && parsed.String() == id
}

// RangeID is like MissedID, for the record of all slots from first on (state.Row.IsRange).
func RangeID(task string, first time.Time) string { return MissedID(task+"\x00range", first) }

// TriggeredID returns the id of the run that a hook of the run cause asks for. Hook is its key,
// such as `on_success 1`; ended is when cause ended. The id is the same whenever somebody asks for
// it, and sorts as if it were made at the time ended.
func TriggeredID(cause, hook string, ended time.Time) string {
	return MissedID(cause+"\x00"+hook, ended)
}

// MissedID returns the id of the record of a slot that left no trace of a run: missed, or lost. It
// has the form of any other id. It is made of the task and the slot, so the slot has one such
// record however many ticks add it.
func MissedID(task string, slot time.Time) string {
	hash := sha256.Sum256([]byte(task + "\x00" + slot.UTC().Format(time.RFC3339Nano)))
	var id uuid.UUID
	copy(id[:], hash[:])
	ms := uint64(slot.UnixMilli())
	for i := range 6 {
		id[i] = byte(ms >> (8 * (5 - i)))
	}
	id[6], id[8] = id[6]&0x0f|0x70, id[8]&0x3f|0x80 // version 7 and the variant of RFC 9562
	return id.String()
}
