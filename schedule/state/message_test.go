package state

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"sched/schedule/outcome"
)

// A box is the outbox, as one process has it.
type box struct {
	Messages
	*Owner
	t *testing.T
}

// boxOf returns the outbox for a process with a handle of its own on the database.
func boxOf(t *testing.T, dir string) box {
	t.Helper()
	db := open(t, dir)
	owner, err := db.Owners().New(Finish)
	must(t, err)
	t.Cleanup(func() { owner.Close() })
	return box{db.Messages(), owner, t}
}

// put puts a message in, and checks whether this process is to send it.
func (b box) put(m Message, ours bool) {
	b.t.Helper()
	if got, err := b.Put(ctx, b.Owner, &m); got != ours || err != nil {
		b.t.Errorf("%s is ours: %v, %v", m.ID, got, err)
	}
}

// takes takes the messages that are due, and checks which messages they are.
func (b box) takes(at time.Time, want ...string) (taken []Message) {
	b.t.Helper()
	var got []string
	for {
		m, err := b.Take(ctx, b.Owner, DueQuery{Now: at})
		must(b.t, err)
		if m == nil {
			break
		}
		taken, got = append(taken, *m), append(got, m.ID)
	}
	if !slices.Equal(got, want) {
		b.t.Errorf("at %v it takes %q, not %q", at.Sub(noon), got, want)
	}
	return taken
}

// waiting checks which messages wait.
func (b box) waiting(want ...string) {
	b.t.Helper()
	var got []string
	must(b.t, b.store.read(ctx, func(q querier) (err error) {
		got, err = Only[string](ctx, q, "SELECT id FROM message WHERE status <> 'sent' ORDER BY rowid")
		return err
	}))
	if n, err := b.Waiting(ctx); n != len(got) || err != nil || !slices.Equal(got, want) {
		b.t.Errorf("%d wait, %v: %q, not %q", n, err, got, want)
	}
}

func message(n int, at time.Time) Message {
	return Message{ID: fmt.Sprint("message-", n), HookKey: "task on_failure 1", Task: "task", Hook: "on_failure 1",
		Target: []byte(`{"mail":"ops"}`),
		Body:   []byte(`{"text":"failed"}`), Created: at}
}

func ping(n int) Message {
	m := message(n, noon)
	m.Replaces = true
	return m
}

// A message that was refused, or that failed for a day, was given up, until a later one of the hook
// waits or arrives.
func TestWhetherTheNewestMessageOfAHookWasGivenUp(t *testing.T) {
	t.Parallel()
	for _, isRefused := range []bool{true, false} {
		b := boxOf(t, folder(t))
		isGivenUp := func(when string, want bool) {
			t.Helper()
			if got, err := b.GaveUp(ctx, message(1, noon).HookKey); got != want || err != nil {
				t.Errorf("%s: %t, %v", when, got, err)
			}
		}
		isGivenUp("without a message", false)
		b.put(message(1, noon), true)
		isGivenUp("while it is tried", false)
		failing := Attempts{Tries: 1, LastTry: noon, FailingSince: noon, Error: "gone", Refused: isRefused}
		if isRefused {
			must(t, b.Failed(ctx, b.Owner, "message-1", failing, noon))
		} else {
			must(t, b.GiveUp(ctx, b.Owner, "message-1", "ping a", failing))
		}
		isGivenUp("afterwards", true)
		b.put(message(2, noon), true)
		isGivenUp("while a later one is tried", false)
		must(t, b.Delivered(ctx, b.Owner, "message-2", "ping a", noon))
		isGivenUp("when that has arrived", isRefused) // the refused one is not reported yet
	}
}

func TestAMessageIsDeliveredByOneProcessAtATime(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	one, two := boxOf(t, dir), boxOf(t, dir)
	one.put(message(1, noon), true)
	one.put(message(1, noon), false) // again, as after a kill
	two.takes(noon)
	if err := two.Delivered(ctx, two.Owner, "message-1", "", noon); !errors.Is(err, ErrGone) {
		t.Errorf("it was not the one who has it: %v", err)
	}
	failing := Attempts{Tries: 1, LastTry: noon, FailingSince: noon, Error: "no route", Addresses: []int{1}}
	must(t, one.Failed(ctx, one.Owner, "message-1", failing, noon.Add(time.Minute)))
	two.takes(noon.Add(59 * time.Second))
	waiting, givenUp, err := two.Undelivered(ctx)
	if want := (Undelivered{1, noon, "task", "no route"}); err != nil || waiting != want || givenUp.Count != 0 {
		t.Errorf("%+v, %+v, %v", waiting, givenUp, err)
	}
	taken := two.takes(noon.Add(time.Minute), "message-1")
	if len(taken) != 1 || !reflect.DeepEqual(taken[0].Attempts, failing) || string(taken[0].Target) != `{"mail":"ops"}` {
		t.Errorf("%+v", taken)
	}
	must(t, two.Delivered(ctx, two.Owner, "message-1", "", noon.Add(time.Minute)))
	two.waiting()
}

// A message that fails for an hour keeps no newer one from being sent.
func TestMessagesOfOneSenderDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	one := boxOf(t, folder(t))
	one.put(message(1, noon), true)
	one.put(message(2, noon), true)
	must(t, one.Failed(ctx, one.Owner, "message-1", Attempts{Tries: 7}, noon.Add(time.Hour)))
	one.put(message(3, noon.Add(time.Minute)), true)
	one.takes(noon.Add(2 * time.Hour)) // message-1 is for whoever sends a newer one, before that
	for _, id := range []string{"message-2", "message-3"} {
		must(t, one.Delivered(ctx, one.Owner, id, "", noon.Add(time.Minute)))
	}
	one.takes(noon.Add(time.Minute))
	one.takes(noon.Add(-time.Second), "message-1") // the clock was wrong
}

// A message follows an older one to its target that is tried again, and nothing else.
func TestAMessageFollowsTheOneThatIsTriedAgain(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	one, two := boxOf(t, dir), boxOf(t, dir)
	one.put(message(1, noon), true)
	must(t, one.Failed(ctx, one.Owner, "message-1", Attempts{Tries: 1}, noon.Add(time.Minute)))
	one.takes(noon.Add(time.Minute), "message-1")
	second := message(2, noon.Add(time.Minute))
	two.put(second, false)
	elsewhere := message(3, noon.Add(time.Minute))
	elsewhere.Target = []byte(`{"mail":"dev"}`)
	two.put(elsewhere, true)
	two.takes(noon.Add(time.Hour))
	must(t, one.Owner.Close()) // killed
	m, err := two.Take(ctx, two.Owner, DueQuery{Now: noon, Line: second, Older: true, Waiting: true})
	if err != nil || m == nil || m.ID != "message-1" {
		t.Fatalf("%+v, %v", m, err)
	}
	two.takes(noon.Add(time.Hour))
	must(t, two.Delivered(ctx, two.Owner, m.ID, "", noon.Add(time.Hour)))
	m, err = two.Take(ctx, two.Owner, DueQuery{Now: noon, Line: *m})
	if err != nil || m == nil || m.ID != "message-2" {
		t.Errorf("%+v, %v", m, err)
	}
}

// A success since a failure counts until the task fails again, and a success on another server once
// it was told here.
func TestATaskHasSucceededSince(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	end := func(became outcome.Outcome, at time.Time, test bool) string {
		row := Row{ID: outcome.NewID(), Task: "task", Slot: at, Phase: Ended, Started: at, Test: test,
			Result: Result{Outcome: became, Ended: at}}
		must(t, db.Runs().Record(ctx, []Row{row}, false))
		return row.ID
	}
	is := func(want bool, at time.Time) {
		t.Helper()
		if got, err := db.Runs().SucceededSince(ctx, "task", at); got != want || err != nil {
			t.Errorf("since %v: %v, %v", at.Sub(noon), got, err)
		}
	}
	end(outcome.Succeeded, noon.Add(-time.Minute), false)
	failed := end(outcome.Failed, noon, false)
	end(outcome.Succeeded, noon.Add(time.Minute), true)
	is(false, noon)
	_, err := db.Unowned().HookBegun(ctx, failed, "on_recovery 1", noon.Add(2*time.Minute))
	must(t, err)
	is(true, noon)
	is(false, noon.Add(2*time.Minute))
	end(outcome.Succeeded, noon.Add(3*time.Minute), false)
	is(true, noon.Add(2*time.Minute))
	end(outcome.Failed, noon.Add(4*time.Minute), false)
	is(false, noon.Add(2*time.Minute)) // it fails again
}

func TestARefusedMessageWaitsForWhoReportsIt(t *testing.T) {
	t.Parallel()
	one := boxOf(t, folder(t))
	one.put(message(1, noon), true)
	must(t, one.Failed(ctx, one.Owner, "message-1", Attempts{Tries: 1, Refused: true, Error: "no such user"}, noon))
	one.takes(noon.Add(time.Hour))
	if waiting, givenUp, err := one.Undelivered(ctx); err != nil || waiting.Count != 0 || givenUp.Count != 1 {
		t.Errorf("undelivered: %+v, %+v, %v", waiting, givenUp, err)
	}
	m, err := one.Take(ctx, one.Owner, DueQuery{Now: noon, Refused: true})
	if err != nil || m == nil || !m.Refused || m.Error != "no such user" {
		t.Fatalf("%+v, %v", m, err)
	}
	must(t, one.Drop(ctx, one.Owner, m.ID))
	one.waiting()
}

func TestAMessageWhoseProcessWasKilledIsSentAgain(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	dead, one := boxOf(t, dir), boxOf(t, dir)
	dead.put(message(1, noon), true)
	one.takes(noon)
	must(t, dead.Owner.Close()) // as the kernel does
	one.takes(noon, "message-1")
	one.takes(noon)
}

func TestANewerPingReplacesOlderOnes(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	one, two := boxOf(t, dir), boxOf(t, dir)
	one.put(ping(1), true)
	two.put(ping(2), false) // it must not come before the one that is being sent
	two.put(ping(3), false)
	two.takes(noon)
	one.waiting("message-1", "message-3")
	must(t, one.Failed(ctx, one.Owner, "message-1", Attempts{Tries: 1}, noon.Add(time.Minute)))
	one.waiting("message-3")
	one.takes(noon, "message-3")

	must(t, one.Owner.Close()) // killed while it sends
	two.put(ping(4), true)
	two.waiting("message-4")
}

func TestAMessageIsWithdrawn(t *testing.T) {
	t.Parallel()
	one := boxOf(t, folder(t))
	one.put(message(1, noon), true)
	must(t, one.Withdraw(ctx, "message-1"))
	one.waiting("message-1") // it is being sent
	must(t, one.Failed(ctx, one.Owner, "message-1", Attempts{Tries: 1}, noon))
	must(t, one.Withdraw(ctx, "message-1"))
	one.waiting()
}

// at_most: 1 per hour. Messages that it holds back are counted, and the newest is sent when the
// hour is over.
func TestALimitHoldsMessagesBack(t *testing.T) {
	t.Parallel()
	one := boxOf(t, folder(t))
	fire := func(n int, at time.Time, ours bool) Message {
		m := message(n, at)
		m.Limit = Limit{1, time.Hour}
		one.put(m, ours)
		return m
	}
	sent := func(at time.Time, id string, held int, since time.Time) {
		t.Helper()
		var m []Message
		must(t, one.store.read(ctx, func(q querier) (err error) {
			m, err = messagesOf(ctx, q, "SELECT "+messageColumns+" FROM message WHERE id = ?", id)
			return err
		}))
		if len(m) != 1 || m[0].HeldBack != held || !m[0].HeldSince.Equal(since) {
			t.Errorf("%s: %+v", id, m)
		}
		must(t, one.Delivered(ctx, one.Owner, id, "", at))
	}
	first := fire(1, noon, true)
	sent(noon, "message-1", 0, time.Time{})
	one.put(first, false) // a finish that begins again counts as before
	fire(2, noon.Add(time.Minute), false)
	fire(3, noon.Add(2*time.Minute), false)
	last := fire(4, noon.Add(3*time.Minute), false)
	one.put(last, false)
	must(t, one.ReleaseHeld(ctx, noon.Add(4*time.Minute)))
	one.takes(noon.Add(4 * time.Minute))
	one.waiting("message-4")
	must(t, one.ReleaseHeld(ctx, noon.Add(time.Hour)))
	one.takes(noon.Add(time.Hour), "message-4")
	sent(noon.Add(time.Hour), "message-4", 2, noon.Add(time.Minute))
	fire(5, noon.Add(90*time.Minute), false)
	fire(6, noon.Add(2*time.Hour), true) // takes over what is held
	sent(noon.Add(2*time.Hour), "message-6", 1, noon.Add(90*time.Minute))
	one.takes(noon.Add(4 * time.Hour))
	one.waiting()
}

func TestValuesScheduleAndAudit(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	values := db.Values()
	var text string
	if found, err := values.Get(ctx, "said", &text); found || err != nil {
		t.Errorf("%v, %v", found, err)
	}
	must(t, errors.Join(values.Set(ctx, "said", "hello"), values.Set(ctx, "said", "bye")))
	if found, err := values.Get(ctx, "said", &text); !found || text != "bye" || err != nil {
		t.Errorf("%q, %v, %v", text, found, err)
	}
	must(t, values.Set(ctx, "said", nil))
	if found, err := values.Get(ctx, "said", &text); found || err != nil {
		t.Errorf("%v, %v", found, err)
	}

	keep := func(s ValidSchedule) {
		t.Helper()
		if known, err := values.KnowsValid(ctx, s); err != nil || known {
			t.Errorf("%v is known: %t, %v", s, known, err)
		}
		must(t, values.KeepValid(ctx, s))
		if known, err := values.KnowsValid(ctx, s); err != nil || !known {
			t.Errorf("%v is known: %t, %v", s, known, err)
		}
	}
	is := func(file string, want ValidSchedule) {
		t.Helper()
		if s, err := values.LastValid(ctx, file); !reflect.DeepEqual(s, want) || err != nil {
			t.Errorf("%v, %v", s, err)
		}
	}
	is("/a", ValidSchedule{})
	one := ValidSchedule{"/a", "d1", "", []byte("tasks: []"), noon, map[string]string{}}
	keep(one)
	is("/a", one)
	two := ValidSchedule{"/a", "d2", "", []byte("tasks: [{}]"), noon.Add(time.Hour), map[string]string{"a": "* * * * *"}}
	keep(two)
	keep(ValidSchedule{"/b", "d3", "", []byte("tasks: [{}]"), noon, map[string]string{}})
	is("/a", two)
	two.Machine = "web-1"
	keep(two)
	is("/a", two)
	must(t, db.write(ctx, func(q querier) error { // as an older sched left it
		_, err := q.ExecContext(ctx, "UPDATE schedule SET times = NULL WHERE file = '/a'")
		return err
	}))
	older := two
	older.Times = nil
	is("/a", older)
	keep(two)

	audit := db.Audit()
	for i := range 3 {
		if id, err := audit.Add(ctx, Change{At: noon, Who: "ann", From: "10.0.0.1", Action: "stop",
			Target: fmt.Sprint(i), Reason: "hangs"}); id != int64(i+1) || err != nil {
			t.Errorf("%d, %v", id, err)
		}
	}
	must(t, audit.Failed(ctx, 2, "it has ended"))
	changes, err := audit.Newest(ctx, 3, 1)
	if want := (Change{2, noon, "ann", "10.0.0.1", "stop", "1", "hangs", "it has ended"}); err != nil ||
		len(changes) != 1 || changes[0] != want {
		t.Errorf("%+v, %v", changes, err)
	}
	last, err := audit.Add(ctx, Change{At: noon})
	must(t, err)
	must(t, db.write(ctx, func(q querier) error {
		_, err := q.ExecContext(ctx, "UPDATE audit SET id = ? WHERE id = ?", auditRows+1, last)
		return err
	}))
	_, err = audit.Add(ctx, Change{At: noon}) // two rows too many
	must(t, err)
	if all, err := audit.Newest(ctx, 0, 10); err != nil || len(all) != 3 || all[2].ID != 3 {
		t.Errorf("the log grows for ever: %+v, %v", all, err)
	}
}
