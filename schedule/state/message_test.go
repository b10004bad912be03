package state

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"sched/schedule/outcome"
)

// fires puts messages into the outbox, as the ends of hooks do.
func fires(t *testing.T, db *DB, messages ...Message) {
	t.Helper()
	ours := owned(t, db)
	row := due("task", noon, ours.ID())
	row.Scheduled = false
	add(t, db, row)
	must(t, ours.End(ctx, row.ID, Result{Outcome: outcome.Failed, Ended: noon}, Also{Messages: messages}))
}

func message(n int, at time.Time) Message {
	return Message{ID: fmt.Sprint("message-", n), Sender: "task on_failure 1", Task: "task", Hook: "on_failure 1", Target: []byte(`{"mail":"ops"}`),
		Body: []byte(`{"text":"failed"}`), Created: at}
}

func ids(messages []Message) (all []string) {
	for _, m := range messages {
		all = append(all, m.ID)
	}
	return all
}

func TestAMessageIsDeliveredOnce(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	fires(t, db, message(1, noon), message(1, noon))
	one, two := owned(t, db), owned(t, db)
	box := db.Messages()
	taken, err := box.Take(ctx, one, noon, 10)
	if err != nil || !reflect.DeepEqual(ids(taken), []string{"message-1"}) || string(taken[0].Target) != `{"mail":"ops"}` {
		t.Fatalf("%v, %v", taken, err)
	}
	if taken, err := box.Take(ctx, two, noon, 10); len(taken) > 0 || err != nil {
		t.Errorf("two processes send it: %v, %v", taken, err)
	}
	if err := box.Delivered(ctx, two, "message-1", noon); !errors.Is(err, ErrGone) {
		t.Errorf("it was not the one who has it: %v", err)
	}
	failing := Attempts{Tries: 1, Tried: noon, Failing: noon, Error: "no route", Addresses: []int{1}}
	must(t, box.Failed(ctx, one, "message-1", failing, noon.Add(time.Minute)))
	if taken, err := box.Take(ctx, two, noon.Add(59*time.Second), 10); len(taken) > 0 || err != nil {
		t.Errorf("too early: %v, %v", taken, err)
	}
	taken, err = box.Take(ctx, two, noon.Add(time.Minute), 10)
	if err != nil || len(taken) != 1 || !reflect.DeepEqual(taken[0].Attempts, failing) {
		t.Fatalf("%+v, %v", taken, err)
	}
	must(t, box.Delivered(ctx, two, "message-1", noon.Add(time.Minute)))
	if waiting, err := box.Waiting(ctx); len(waiting) > 0 || err != nil {
		t.Errorf("%v, %v", waiting, err)
	}
}

func TestMessagesOfOneSenderComeInTheirOrder(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	other := message(3, noon)
	other.Sender = "other after 1"
	fires(t, db, message(1, noon), message(2, noon.Add(time.Second)), other)
	ours, box := owned(t, db), db.Messages()
	taken, err := box.Take(ctx, ours, noon.Add(time.Minute), 10)
	if err != nil || !reflect.DeepEqual(ids(taken), []string{"message-1", "message-3"}) {
		t.Errorf("%v, %v", ids(taken), err)
	}
	must(t, box.Drop(ctx, ours, "message-1"))
	if taken, err := box.Take(ctx, ours, noon.Add(time.Minute), 10); err != nil || !reflect.DeepEqual(ids(taken), []string{"message-2"}) {
		t.Errorf("%v, %v", ids(taken), err)
	}
}

func TestAMessageWhoseProcessWasKilledIsSentAgain(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	fires(t, db, message(1, noon))
	dead, err := db.NewOwner(Finish)
	must(t, err)
	theirs, err := db.Enroll(ctx, dead)
	must(t, err)
	if taken, err := db.Messages().Take(ctx, theirs, noon, 1); len(taken) != 1 || err != nil {
		t.Fatalf("%v, %v", taken, err)
	}
	must(t, dead.Close())
	orphans(t, db)
	if taken, err := db.Messages().Take(ctx, owned(t, db), noon, 1); len(taken) != 1 || err != nil {
		t.Errorf("%v, %v", taken, err)
	}
}

func TestANewerPingReplacesOlderOnes(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	var pings []Message
	for i := range 3 {
		ping := message(i, noon.Add(time.Duration(i)*time.Second))
		ping.Replaces = true
		pings = append(pings, ping)
	}
	fires(t, db, pings...)
	if waiting, err := db.Messages().Waiting(ctx); err != nil || !reflect.DeepEqual(ids(waiting), []string{"message-2"}) {
		t.Errorf("%v, %v", ids(waiting), err)
	}
}

// at_most: 1 per hour. What it holds back is counted, and the newest is sent when the hour is over.
func TestALimitHoldsMessagesBack(t *testing.T) {
	t.Parallel()
	db := open(t, folder(t))
	ours, box := owned(t, db), db.Messages()
	fire := func(n int, at time.Time) {
		m := message(n, at)
		m.Limit = Limit{1, time.Hour}
		fires(t, db, m)
	}
	send := func(at time.Time, want ...string) (sent []Message) {
		t.Helper()
		sent, err := box.Take(ctx, ours, at, 10)
		if err != nil || !reflect.DeepEqual(ids(sent), want) {
			t.Errorf("at %v: %v, %v", at.Sub(noon), ids(sent), err)
		}
		for _, m := range sent {
			must(t, box.Delivered(ctx, ours, m.ID, at))
		}
		return sent
	}
	fire(1, noon)
	send(noon, "message-1")
	fire(2, noon.Add(time.Minute))
	fire(3, noon.Add(2*time.Minute))
	fire(4, noon.Add(3*time.Minute))
	send(noon.Add(4 * time.Minute))
	if waiting, err := box.Waiting(ctx); err != nil || len(waiting) != 1 || !waiting[0].Held {
		t.Errorf("%v, %v", waiting, err)
	}
	sent := send(noon.Add(time.Hour), "message-4")
	if len(sent) != 1 || sent[0].HeldBack != 2 || !sent[0].HeldSince.Equal(noon.Add(time.Minute)) {
		t.Errorf("%+v", sent)
	}
	fire(5, noon.Add(90*time.Minute))
	fire(6, noon.Add(2*time.Hour)) // takes over what is held
	sent = send(noon.Add(2*time.Hour), "message-6")
	if len(sent) != 1 || sent[0].HeldBack != 1 {
		t.Errorf("%+v", sent)
	}
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
		must(t, values.KeepValid(ctx, s, func() ([]byte, error) { return s.Text, nil }))
	}
	is := func(file string, want ValidSchedule) {
		t.Helper()
		if s, err := values.LastValid(ctx, file); !reflect.DeepEqual(s, want) || err != nil {
			t.Errorf("%v, %v", s, err)
		}
	}
	is("/a", ValidSchedule{})
	one := ValidSchedule{"/a", "d1", "", []byte("tasks: []"), noon}
	keep(one)
	keep(ValidSchedule{"/a", "d1", "", []byte("tasks: []"), noon.Add(time.Hour)}) // the same
	is("/a", one)
	two := ValidSchedule{"/a", "d2", "", []byte("tasks: [{}]"), noon.Add(time.Hour)}
	keep(two)
	keep(ValidSchedule{"/b", "d3", "", []byte("tasks: [{}]"), noon})
	is("/a", two)
	two.Machine = "web-1"
	keep(two)
	is("/a", two)

	audit := db.Audit()
	for i := range 3 {
		if id, err := audit.Add(ctx, Change{At: noon, Who: "ann", From: "10.0.0.1", Action: "stop", Target: fmt.Sprint(i), Reason: "hangs"}); id != int64(i+1) || err != nil {
			t.Errorf("%d, %v", id, err)
		}
	}
	must(t, audit.Failed(ctx, 2, "it has ended"))
	changes, err := audit.Newest(ctx, 3, 1)
	if want := (Change{2, noon, "ann", "10.0.0.1", "stop", "1", "hangs", "it has ended"}); err != nil || len(changes) != 1 || changes[0] != want {
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
