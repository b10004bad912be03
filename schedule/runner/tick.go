// Package runner runs what is due: it starts commands, watches them, finishes their runs and
// remembers them. A run goes through it from top to bottom as docs/how-a-run-works.md tells.
package runner

import (
	"context"
	"slices"
	"sync"
	"time"

	"sched/mutex"
	"sched/schedule"

	"sched/schedule/clock"
	"sched/schedule/outcome"

	"sched/schedule/ledger"

	"sched/schedule/outbox"
)

// A Tick is one call of `sched run`: it starts what is due in one minute. The minute was read once
// and decides everything; how late the tick starts and how long it takes change no decision.
type Tick struct {
	Schedule *schedule.Schedule
	Minute   time.Time
	Began    time.Time // when this process read its clock, before it read the schedule; zero: when it runs
	Only     string    // a task's name: leave the others alone
	Replay   bool      // the minute was given, not read: its slots are taken as they come, without waiting for their seconds
	Link     *Link     // to the `sched work` that started this tick; nil where cron did
	Valid    bool      // Schedule is what the file says, not the last valid one instead
	State    State
	Server   string   // the name of this machine
	Version  string   // of sched
	Self     string   // the path of sched, for the witnesses
	Environ  []string // of the caller

	Parse   func([]byte) (*schedule.Schedule, error) // reads the last valid schedule
	Begun   func(outcome.Record)                     // a foreground run begins; may be nil
	Started func(outcome.Record)                     // a background run was forked
	Done    func(outcome.Record)                     // a foreground run, or a skipped slot, has its outcome
	Problem func(format string, a ...any)            // something is wrong that is not a task's own failure
	Detail  func(format string, a ...any)            // something that only few want to know; may be nil

	postman   *outbox.Sender
	held      []heldBack // that may be sent before the tick ends
	mu        sync.Mutex
	records   []finished          // what this tick has to put into the history
	notes     map[string][]string // by run: what there is to note of those that are in the history, or will be
	hooks     sync.WaitGroup      // of skipped slots
	spare     *State              // in use since State could not be written
	journal   *ledger.Journal     // of what this tick has promised
	debt      *debt               // what earlier ticks had promised
	unwritten bool                // not all of it is in the history, so the journals stay
	kept      bool                // the schedule is the last valid one
	folders   []State             // the state folder, and the spare ones that were there at first

	wishes wishes // of people, see wanted

	crowd  chan struct{}                    // conditions of background slots that are being asked, see enter
	asking sync.WaitGroup                   // of background slots with conditions
	guards map[*schedule.Task]chan struct{} // closed when the last slot with conditions is dealt with, see guard

	inMaintenance   map[time.Time]string // what maintenance found for each instant
	saidMaintenance bool                 // that nobody knows

	saidDown, skippedUnknown bool                    // of the store, see storeDown
	taken                    map[string]mutex.Holder // claims of other servers, see lookAhead
}

// Run runs the tick. It returns when the foreground tasks have ended and the background tasks were
// forked. When enough is done it starts no other task; when stop is done it stops the running one, and
// when hurry is done too it kills it. Failed says that a foreground task failed.
func (t *Tick) Run(enough, stop, hurry context.Context) (failed bool) {
	if t.Began.IsZero() {
		t.Began = clock.Now()
	}
	t.crowd = make(chan struct{}, mostAsked)
	t.State.meetStore()
	due := t.Schedule.Due(t.Minute)
	if len(due) > 0 {
		t.wishes.readers.Go(func() { t.wanted() }) // what is paused, while we take our turn
	}
	defer t.wishes.readers.Wait()
	background, foreground := t.due(t.account(due))
	t.openPost(hurry)
	living, over := context.WithCancel(context.Background())
	var announcing sync.WaitGroup
	announcing.Go(func() { t.announce(living) })
	defer announcing.Wait()
	defer over()

	// Background tasks first, so that no foreground task delays them. Those of a later second of
	// this minute are forked on time while foreground tasks run.
	now, later := split(background, t.Minute)
	staying, leave := t.stay(enough, 2, slices.Concat(later, foreground))
	t.startBackground(enough, now)
	t.startAsked(enough)
	var side sync.WaitGroup
	side.Go(func() {
		t.startLater(staying, later)
		t.asking.Wait()
		leave()
	})
	side.Go(func() {
		t.finishLost(enough)
		if len(foreground) > 0 { // which may take long
			t.remember()
		}
	})

	t.lookAhead(foreground)
	lane := t.lane(enough, staying, stop, hurry, len(foreground))
	lane.run(foreground)
	if staying.Err() == nil { // else the next tick answers what people asked for
		failed = t.runAsked(enough, stop, hurry)
	}
	lane.rest()
	leave()
	side.Wait()
	t.hooks.Wait()
	t.deliverHeld()
	t.postman.Wait(stop, outbox.Patience)
	t.remember()
	t.closeJournal()
	t.keepValid()
	return failed || lane.failed
}

// due sorts the slots into those that go to the background and those that do not.
func (t *Tick) due(slots []schedule.Slot) (background, foreground []schedule.Slot) {
	for _, slot := range slots {
		switch {
		case t.Only != "" && slot.Task.Name != t.Only:
		case slot.Task.Background:
			background = append(background, slot)
		default:
			foreground = append(foreground, slot)
		}
	}
	return background, foreground
}
