package remote_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"sched/mutex"
	"sched/mutex/redistest"
	"sched/schedule/outcome"
	"sched/schedule/remote"
)

var ctx = context.Background()

func request() remote.Request {
	return remote.Request{ID: outcome.NewID(), Kind: remote.Stop, Run: outcome.NewID(), Task: "long", By: "ann", From: "web-1"}
}

func mustAsk(t *testing.T, r *mutex.Redis, q remote.Request) {
	t.Helper()
	if err := remote.Ask(ctx, r, "web-2", q); err != nil {
		t.Fatal(err)
	}
}

func standing(t *testing.T, r *mutex.Redis, server string) []remote.Request {
	t.Helper()
	all, err := remote.Requests(ctx, r, server)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func mustTake(t *testing.T, r *mutex.Redis, id string, want bool) {
	t.Helper()
	if taken, err := remote.Take(ctx, r, "web-2", id); err != nil || taken != want {
		t.Fatalf("taken: %t, %v", taken, err)
	}
}

func mustWithdraw(t *testing.T, r *mutex.Redis, id string, want remote.Withdrawal) {
	t.Helper()
	if got, err := remote.Withdraw(ctx, r, "web-2", id); err != nil || got != want {
		t.Fatalf("withdrawn: %d, want %d, %v", got, want, err)
	}
}

func TestARequestGoesToItsServerAndTheAnswerBack(t *testing.T) {
	redistest.OnEachStore(t, func(t *testing.T, r *mutex.Redis) {
		q := request()
		mustAsk(t, r, q)
		if all := standing(t, r, "web-3"); len(all) != 0 {
			t.Fatalf("another server is asked: %v", all)
		}
		all := standing(t, r, "web-2")
		if len(all) != 1 || all[0] != q {
			t.Fatalf("%+v, want %+v", all, q)
		}
		if s, err := remote.Look(ctx, r, "web-2", q.ID); err != nil || s.Answer != nil || !s.Standing || s.Taken {
			t.Fatalf("%+v, %v", s, err)
		}
		mustTake(t, r, q.ID, true)
		if s, err := remote.Look(ctx, r, "web-2", q.ID); err != nil || !s.Standing || !s.Taken {
			t.Fatalf("%+v, %v", s, err)
		}
		mustTake(t, r, q.ID, true) // after a kill
		if err := remote.Reply(ctx, r, "web-2", remote.Answer{ID: q.ID, Done: true, Text: "stopped"}); err != nil {
			t.Fatal(err)
		}
		s, err := remote.Look(ctx, r, "web-2", q.ID)
		if err != nil || s.Standing || s.Answer == nil || s.Answer.Text != "stopped" {
			t.Fatalf("%+v, %v", s, err)
		}
		mustTake(t, r, q.ID, false)
		if err := remote.Forget(ctx, r, q.ID); err != nil {
			t.Fatal(err)
		}
		if s, _ := remote.Look(ctx, r, "web-2", q.ID); s.Answer != nil {
			t.Errorf("%+v", s)
		}
	})
}

// Either a request is taken back, or its server carries it out.
func TestWhatIsTakenBackIsNotCarriedOut(t *testing.T) {
	redistest.OnEachStore(t, func(t *testing.T, r *mutex.Redis) {
		early, late := request(), request()
		mustAsk(t, r, early)
		mustAsk(t, r, late)
		mustWithdraw(t, r, early.ID, remote.Withdrawn)
		mustTake(t, r, early.ID, false)
		mustWithdraw(t, r, early.ID, remote.Over)
		mustTake(t, r, late.ID, true)
		mustWithdraw(t, r, late.ID, remote.TooLate)
	})
}

func TestRequestsAndAnswersHaveAnEnd(t *testing.T) {
	m := miniredis.RunT(t)
	r := redistest.Dial(t, "redis://"+m.Addr())
	now := time.Now()
	pass := func(d time.Duration) { now = now.Add(d); m.SetTime(now); m.FastForward(d) }
	pass(0)
	q, later := request(), request()
	mustAsk(t, r, q)
	pass(remote.Stands - time.Second)
	mustAsk(t, r, later) // which keeps the hash
	if all := standing(t, r, "web-2"); len(all) != 2 {
		t.Fatalf("%v", all)
	}
	pass(2 * time.Second)
	if all := standing(t, r, "web-2"); len(all) != 1 || all[0].ID != later.ID {
		t.Fatalf("%v", all)
	}
	mustTake(t, r, q.ID, false)
	mustTake(t, r, later.ID, true)
	pass(remote.Stands + time.Minute) // a stop may take long
	mustTake(t, r, later.ID, true)
	if err := remote.Reply(ctx, r, "web-2", remote.Answer{ID: later.ID}); err != nil {
		t.Fatal(err)
	}
	pass(remote.TakenFor + time.Minute)
	if keys := m.Keys(); len(keys) != 0 {
		t.Errorf("Redis keeps %v", keys)
	}
}

func TestAServerIsAskedForSoMuchAtATime(t *testing.T) {
	redistest.OnEachStore(t, func(t *testing.T, r *mutex.Redis) {
		var first remote.Request
		for n := range remote.Most {
			q := request()
			if n == 0 {
				first = q
			}
			mustAsk(t, r, q)
		}
		if err := remote.Ask(ctx, r, "web-2", request()); !errors.Is(err, remote.ErrFull) {
			t.Fatalf("one more: %v", err)
		}
		mustAsk(t, r, first) // it is there already
		mustWithdraw(t, r, first.ID, remote.Withdrawn)
		mustAsk(t, r, request())
	})
	r := redistest.Dial(t, "redis://"+miniredis.RunT(t).Addr())
	q := request()
	q.Reason = strings.Repeat("x", 5000)
	if err := remote.Ask(ctx, r, "web-2", q); err == nil {
		t.Error("a request of 5 KB was left")
	}
}

// Whoever can write to the Redis can write anything.
func TestNothingThatIsReadIsTrusted(t *testing.T) {
	m := miniredis.RunT(t)
	r := redistest.Dial(t, "redis://"+m.Addr())
	key, end := r.Key("asked", "web-2"), "9999999999999 waiting "
	id, run := outcome.NewID(), outcome.NewID()
	for field, value := range map[string]string{
		"1":             "",
		"2":             end,
		"3":             end + "null",
		"4":             "x waiting {}",
		"../../etc":     end + `{"id":"../../etc","run":"` + run + `"}`,
		outcome.NewID(): end + `{"id":"` + id + `","run":"` + run + `"}`,
		id:              end + `{"id":"` + id + `","run":"../` + run + `"}`,
	} {
		m.HSet(key, field, value)
	}
	if all := standing(t, r, "web-2"); len(all) != 0 {
		t.Errorf("%+v", all)
	}
	m.HSet(key, id, end+`{"id":"`+id+`","kind":"stop","run":"`+run+`","by":"\u001b[31mann\u202e","reason":"a\nb\u009b2J"}`)
	all := standing(t, r, "web-2")
	if len(all) != 1 || strings.ContainsAny(all[0].By+all[0].Reason, "\x1b\n\u009b\u202e") {
		t.Errorf("%d: %q", len(all), fmt.Sprint(all))
	}
	for answer, ok := range map[string]bool{
		"{torn": false, `{"id":"another"}`: false, `{"id":"` + id + `","text":"\u001b]0;x\u0007"}`: true,
		`{"id":"` + id + `","text":"` + strings.Repeat("x", 1<<20) + `"}`: false,
	} {
		m.Set(r.Key("answer", id), answer)
		s, err := remote.Look(ctx, r, "web-2", id)
		if err != nil || (s.Answer != nil) != ok || ok && strings.ContainsAny(s.Answer.Text, "\x1b\a") {
			t.Errorf("%.40q: %+v, %v", answer, s, err)
		}
	}
}

// One of three Redis servers was down while a request was taken back, and still has it.
func TestAMinorityDoesNotDecide(t *testing.T) {
	var m []*miniredis.Miniredis
	var urls []string
	for range 3 {
		one := miniredis.RunT(t)
		m, urls = append(m, one), append(urls, "redis://"+one.Addr())
	}
	q := request()
	mustAsk(t, redistest.Dial(t, urls...), q)
	m[0].SetError("LOADING")
	mustWithdraw(t, redistest.Dial(t, urls...), q.ID, remote.Withdrawn)
	m[0].SetError("")
	r := redistest.Dial(t, urls...)
	mustTake(t, r, q.ID, false)
	m[1].SetError("LOADING")
	m[2].SetError("LOADING")
	if err := remote.Ask(ctx, redistest.Dial(t, urls...), "web-2", request()); err == nil || errors.Is(err, remote.ErrFull) {
		t.Errorf("one of three was asked, and that was enough: %v", err)
	}
}

// An inbox is a command in a pipeline of others.
func TestAnInboxTakesNoRoundTrip(t *testing.T) {
	m := miniredis.RunT(t)
	r := redistest.Dial(t, "redis://"+m.Addr())
	q := request()
	mustAsk(t, r, q)
	inbox := remote.NewInbox(r, "web-2")
	err := r.Do(ctx, func(ctx context.Context, _ int, c *redis.Client) error {
		var read func(time.Time)
		_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error { read = inbox.Read(ctx, p); return nil })
		read(time.Now())
		return err
	})
	if all := inbox.Requests(); err != nil || len(all) != 1 || all[0].ID != q.ID {
		t.Errorf("%v, %v", all, err)
	}
	if all := inbox.Requests(); len(all) != 0 {
		t.Errorf("again: %v", all)
	}
}
