package outbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"time"

	"sched/schedule"
	"sched/schedule/notify"
	"sched/schedule/statedir"
)

// A Delivery is a notification of one run, with all that is needed to send it but its secrets.
type Delivery struct {
	Hook    string                `json:"hook"` // as `after 2`
	Folder  string                `json:"folder"`
	To      schedule.Notification `json:"to"`
	Message notify.Message        `json:"news"` // its ID is the name of the delivery; without the output
	Output  []byte                `json:"output,omitempty"`

	file *os.File // locked while it is open; nil for a delivery that no outbox took
	last failure  // the zero value before the first attempt
}

// A failure is an attempt that failed: a line behind the delivery in its file. The last one counts.
type failure struct {
	Tries     int       `json:"tries"`
	Since     time.Time `json:"since"` // of the first
	At        time.Time `json:"at"`
	Task      string    `json:"task"`
	Why       string    `json:"why"`
	Permanent bool      `json:"permanent,omitempty"`
	Reported  bool      `json:"told,omitempty"` // people have read of it
	Left      []int     `json:"left,omitempty"` // indexes of the addresses for which the next attempt is; empty: all
}

type failureLine struct {
	Failed failure `json:"failed"`
}

var errUnreadable = errors.New("it cannot be read")

// lastFailure reads the last line alone: where a server is down, many large deliveries wait for each tick.
func lastFailure(file *os.File, size int64) (failure, error) {
	tail := make([]byte, min(size, 8<<10))
	if _, err := file.ReadAt(tail, size-int64(len(tail))); err != nil {
		return failure{}, err
	}
	start := bytes.LastIndex(tail, []byte("\n{\"failed\":"))
	if start < 0 {
		return failure{}, nil
	}
	line, _, whole := bytes.Cut(tail[start+1:], []byte{'\n'})
	var last failureLine
	if !whole || json.Unmarshal(line, &last) != nil {
		return failure{}, nil // torn by a kill: it is tried again at once
	}
	return last.Failed, nil
}

// read reads the whole of a delivery that is open. The error is errUnreadable for one that is no JSON.
func (d *Delivery) read() error {
	text, err := statedir.ReadFile(d.file.Name())
	if err != nil {
		return err
	}
	line, _, _ := bytes.Cut(text, []byte{'\n'})
	if err := json.Unmarshal(line, d); err != nil {
		return errUnreadable // what a power cut may leave
	}
	return nil
}

// fail notes that an attempt failed. Where that cannot be written, the next attempt comes sooner.
func (d *Delivery) fail(f failure) {
	d.last = f
	text, err := json.Marshal(failureLine{f})
	if err == nil {
		_, err = d.file.Write(slices.Concat([]byte{'\n'}, text, []byte{'\n'}))
	}
	if err == nil {
		d.file.Sync()
	}
}

// remove removes a delivery that is open.
func (d *Delivery) remove() error {
	if d.file == nil {
		return nil
	}
	return os.Remove(d.file.Name())
}

func (d *Delivery) close() {
	if d.file != nil {
		d.file.Close()
	}
}

// Kept reports whether an outbox has the delivery, so that later ticks find it.
func (d *Delivery) Kept() bool { return d.file != nil }

// Undelivered sums up the deliveries of outboxes of which an attempt has failed.
type Undelivered struct {
	Count int
	Since time.Time // the first attempt for the oldest
	Task  string    // of the delivery that failed first
	Why   string    // its last attempt failed
}

// Add adds the deliveries of an outbox. It locks none of them, and passes over what it cannot read.
func (u *Undelivered) Add(o Outbox) {
	deliveries, _, _ := o.List()
	for _, name := range deliveries {
		file, err := statedir.OpenPlain(o.path(name), os.O_RDONLY)
		if err != nil {
			continue
		}
		var last failure
		if info, err := file.Stat(); err == nil {
			last, _ = lastFailure(file, info.Size())
		}
		file.Close()
		if last.Tries == 0 {
			continue
		}
		u.Count++
		if u.Since.IsZero() || last.Since.Before(u.Since) {
			u.Since, u.Task, u.Why = last.Since, last.Task, last.Why
		}
	}
}
