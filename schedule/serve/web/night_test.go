package web

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"sched/schedule/cluster"
	"sched/schedule/outcome"
	"sched/schedule/serve"
	"sched/schedule/state"
	"sched/testing/controltest"
	"sched/testing/redistest"
)

// night is a schedule of which something failed, was missed, runs, waits and is paused at noon.
const night = `
name: shop
timezone: UTC
store: redis://unused
defaults: {background: true}
include: [schedule.d/*.yaml]
pauses: [{every: day at 22:00, for: 2h, tasks: price-feed, reason: "the partner's backup"}]
tasks:
  - {name: import-orders, description: Fetches new orders from the marketplace, tags: [orders], every: 5 minutes, command: ./import}
  - {name: price-feed, description: Sends changed prices to the partners, tags: [partners], every: 4 minutes, without_overlapping: true, command: ./prices}
  - {name: invoices, description: Writes the invoices of the last quarter of an hour, tags: [orders], every: 15 minutes, command: ./invoices --pdf, dir: /srv, on_failure: [{run: ./tell}], timeout: 10m}
  - {name: nightly-backup, description: Everything to the other building, every: day at 2:30, timeout: 2h, command: ./backup}
  - {name: mirror/assets, description: Copies new assets to the mirror, every: hour, command: ./mirror}
  - {name: stock-take, description: One count after another, every: hour, without_overlapping: wait, wait_at_most: 1d, command: ./count}
  - {name: newsletter, description: The letter to all customers, tags: [letters], every: weekday at 9:00, command: ./letter}
  - {name: old-sync, every: hour, enabled: false, command: ./sync}
`

// The ids of a run that failed, and of a run that waits for its mutex.
const (
	failedID  = "019ca8e2-0000-7000-8000-000000000005"
	waitingID = "019ca8f0-0000-7000-8000-000000000003"
)

// nightBox is the schedule with the history of a night, always the same, and two other servers: one
// that is silent, and one that is gone.
func nightBox(t *testing.T) *box {
	t.Helper()
	redis := miniredis.RunT(t)
	redis.SetTime(controltest.Noon.Add(-time.Hour))
	b := newBox(t, night, serve.ScopeEdit)
	b.Store = redistest.Dial(t, "redis://"+redis.Addr())
	b.ticked()
	var rows []state.Row
	add := func(task string, ago int, as outcome.Outcome, took time.Duration, reason string) *state.Row {
		r := b.Ended(task, ago, as, "")
		if r.Ran() {
			r.Ended = r.Started.Add(took)
		}
		r.ID, r.Reason = fmt.Sprintf("%s-7000-8000-%012d", r.ID[:13], len(rows)), reason
		rows = append(rows, r)
		return &rows[len(rows)-1]
	}
	for ago := 5; ago < 30*60; ago += 5 {
		add("import-orders", ago, outcome.Succeeded, time.Duration(3+ago%7)*time.Second, "")
	}
	for ago := 4; ago < 30*60; ago += 4 {
		if ago%100 == 0 {
			add("price-feed", ago, outcome.Skipped, 0, "still running for 4 m 1 s")
		} else {
			add("price-feed", ago, outcome.Succeeded, 50*time.Second, "")
		}
	}
	for ago := 1770; ago > 15; ago -= 15 {
		switch {
		case ago == 600 || ago == 585 || ago == 30:
			add("invoices", ago, outcome.Failed, 12*time.Second, "exit code 7")
		default:
			add("invoices", ago, outcome.Succeeded, time.Duration(60+ago%50)*time.Second, "")
		}
	}
	failed := add("invoices", 15, outcome.Failed, 9*time.Second, "exit code 7")
	failed.ID = failedID
	failed.Output = b.Ended("invoices", 15, outcome.Failed, "invoices of 11:45\n  order 1011  pdf\n  order 1012  pdf\n\x1b[31merror:\x1b[0m the printer is on fire\n").Output
	add("nightly-backup", 570, outcome.Succeeded, 42*time.Minute, "")
	for ago := 60; ago < 30*60; ago += 60 {
		switch {
		case ago == 240 || ago == 300:
			add("mirror/assets", ago, outcome.Missed, 0, "no tick came")
		case ago == 780:
			add("mirror/assets", ago, outcome.TimedOut, 20*time.Minute, "after 20 m 0 s")
		default:
			add("mirror/assets", ago, outcome.Succeeded, 4*time.Minute, "")
		}
	}
	b.Remember(rows...)
	b.stockTakes(t)
	running := cluster.Running{Run: "019ca8f0-0000-7000-8000-000000000001", Task: "price-feed", PID: 7, Slot: controltest.Noon,
		Since: controltest.Noon.Add(-6 * time.Minute)}
	gone := b.Ended("newsletter", 60, outcome.Succeeded, "")
	gone.ID, gone.Server = "019ca8b9-0000-7000-8000-000000000004", "web-4"
	if err := cluster.Publish(t.Context(), b.Store, []state.Row{gone}, nil); err != nil {
		t.Fatal(err)
	}
	for _, s := range []cluster.Server{
		{Name: "web-2", Minute: controltest.Noon.Add(-6 * time.Minute), Running: []cluster.Running{running}},
		{Name: "web-3", Minute: controltest.Noon, Labels: []string{"role=web", "zone=eu-1"}},
	} {
		s.Version, s.File, s.Digest = "1", "/srv/shop/schedule.yaml", "0123"
		redis.SetTime(s.Minute)
		if _, _, err := cluster.Announce(t.Context(), b.Store, func() time.Time { return s.Minute }, s); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// stockTakes adds a run that lives, and one that waits for its mutex.
func (b *box) stockTakes(t *testing.T) {
	t.Helper()
	db, err := state.Open(b.State(), state.Patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	owner, err := db.Owners().Enroll(t.Context(), state.Supervisor)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { owner.Close() })
	ctx, ago := context.Background(), func(minutes int) time.Time { return controltest.Noon.Add(-time.Duration(minutes) * time.Minute) }
	lives := state.Row{ID: "019ca8b9-0000-7000-8000-000000000002", Task: "stock-take", Mutex: "stock-take", Slot: ago(60), Scheduled: true,
		Phase: state.Ready, Owner: owner.ID, Server: "web-1", Locked: true}
	waits := state.Row{ID: waitingID, Task: "stock-take", Mutex: "stock-take", Slot: ago(25), Scheduled: true,
		Phase: state.Ready, Owner: owner.ID, Server: "web-1", Wait: state.Wait{For: state.ForMutex, Since: ago(25), Until: ago(-24*60 + 25)}}
	for _, row := range []*state.Row{&lives, &waits} {
		if _, err := db.Runs().Request(ctx, *row); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Owners().Owned(owner).Apply(ctx, state.Start(state.Attempt{Number: 1, At: ago(60)}), &lives); err != nil {
		t.Fatal(err)
	}
}
