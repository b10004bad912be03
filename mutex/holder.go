package mutex

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"sched/schedule/humanize"
)

// A Holder says which run has a mutex, or has claimed a key. Only Run decides anything; the rest is
// for people.
type Holder struct {
	Run   string    `json:"run"`
	PID   int       `json:"pid"` // 0 when it is unknown
	Host  string    `json:"host"`
	Task  string    `json:"task,omitempty"` // of the run; "" when it is unknown
	Since time.Time `json:"since"`
}

// String returns a phrase that follows "is held": since when, and by which run and process.
func (h Holder) String() string {
	if h.Run == "" {
		return "by a run that left no name"
	}
	who := "run " + humanize.Line(humanize.ShortRun(h.Run)) // others may have written it
	if h.PID != 0 {
		who += fmt.Sprintf(", pid %d", h.PID)
	}
	if h.Host != "" {
		who += " on " + humanize.Line(h.Host)
	}
	if h.Since.IsZero() {
		return "by " + who
	}
	return fmt.Sprintf("since %s (%s)", h.Since.Local().Format("2006-01-02 15:04:05 MST"), who)
}

// A value is what a store has for a lock or a claim. Each attempt has its own nonce: an attempt
// that failed is undone by its value, and the value of an earlier attempt of the same run must
// stay.
type value struct {
	Holder
	Nonce string `json:"nonce"`
}

// NewValue returns what a store keeps for one attempt of a holder.
func NewValue(holder Holder) string {
	text, _ := json.Marshal(value{holder, rand.Text()}) // of texts and numbers: this cannot fail
	return string(text)
}

// HolderOf reads a value. The holder of a value that cannot be read is empty.
func HolderOf[V string | []byte](text V) Holder {
	v, _ := Decode[value]([]byte(text))
	return v.Holder
}

// A HeldError says that another run has the mutex or the key.
type HeldError struct {
	Name   string // of the mutex, or the key of the claim
	Holder Holder // without a Run if its value cannot be read
}

func (e *HeldError) Error() string { return fmt.Sprintf("%s is held %s", e.Name, e.Holder) }

// A LostError says that a run no longer has its mutex, or did not have it all the time.
type LostError struct {
	Name   string
	Holder Holder // who has it now; without a Run when no run has it, or the same one has it again
	Broken bool   // by Break, before the lease ended
}

func (e *LostError) Error() string {
	how := "the lease of %s ran out"
	if e.Broken {
		how = "the lock on %s was broken"
	}
	if e.Holder.Run == "" {
		return fmt.Sprintf(how, e.Name)
	}
	return fmt.Sprintf(how+", and it is held %s", e.Name, e.Holder)
}
