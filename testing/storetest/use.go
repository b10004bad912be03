package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"sched/mutex"
)

// UseAll does everything that a store does, and fails when anything goes wrong.
func UseAll(t *testing.T, s mutex.Store) {
	t.Helper()
	check := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	lock, err := s.Acquire(ctx, "backup", Holder("run-1"))
	check("Acquire", err)
	check("Claim", s.Claim(ctx, "backup@1", time.Now(), Holder("run-1")))
	check("Claim again", s.Claim(ctx, "backup@1", time.Now(), Holder("run-1")))
	HeldBy(t, s.Claim(ctx, "backup@1", time.Now(), Holder("run-2")), "run-1")
	check("Renew", lock.Renew(ctx))
	adopted := s.Adopt("backup", Holder("run-1"), nil)
	check("Renew an adopted lock", adopted.Renew(ctx))
	held, err := s.Held(ctx, "backup")
	check("Held", err)
	claims, err := s.Claims(ctx, "backup@1")
	check("Claims", err)
	if held["backup"].Run != "run-1" || claims["backup@1"].Run != "run-1" {
		t.Fatalf("%v, %v", held, claims)
	}
	_, err = s.Now(ctx)
	check("Now", err)
	check("Put", s.Put(ctx, "servers", "web-1", []byte("here"), time.Hour))
	all, err := s.All(ctx, "servers")
	check("All", err)
	check("Delete", s.Delete(ctx, "servers", "web-1"))
	check("Append", s.Append(ctx, "runs", 9, []byte("run-1")))
	tail, err := s.Tail(ctx, "runs", 0, 9)
	check("Tail", err)
	if string(all["web-1"]) != "here" || len(tail) == 0 {
		t.Fatalf("%v, %s", all, tail)
	}
	check("Release", lock.Release(ctx))
	second, err := s.Acquire(ctx, "backup", Holder("run-2"))
	check("Acquire what is free again", err)
	_, err = s.Break(ctx, "backup")
	check("Break", err)
	if lost := (*mutex.LostError)(nil); !errors.As(second.Renew(ctx), &lost) || !lost.Broken {
		t.Fatal("a broken lock is renewed")
	}
	check("Release", second.Release(ctx))
	_, err = s.Risks(ctx)
	check("Risks", err)
}

// BreakLate lets a run take a mutex between the two requests of Break, and checks that it keeps the
// mutex. The answers to the store slow must take a moment; requests counts what slow has sent.
func BreakLate(t *testing.T, slow, fast mutex.Store, requests func() int) {
	t.Helper()
	first := Acquire(t, fast, "backup", "run-1")
	slow.Held(ctx, "backup") // so the driver does not check its connection first
	before, done := requests(), make(chan error)
	go func() {
		had, err := slow.Break(ctx, "backup")
		if err == nil && had.Run != "run-1" {
			err = fmt.Errorf("it was held by %q", had.Run)
		}
		done <- err
	}()
	Until(t, "Break has asked who has it", func() bool { return requests() > before })
	time.Sleep(100 * time.Millisecond) // the request arrives
	release(t, first)
	second := Acquire(t, fast, "backup", "run-2")
	if err := <-done; err != nil {
		t.Error(err)
	}
	held(t, fast, "backup", "run-2")
	if err := second.Renew(ctx); err != nil {
		t.Errorf("the run that came later: %v", err)
	}
}

// HeldBy checks that an error says that a run has it.
func HeldBy(t *testing.T, err error, run string) {
	t.Helper()
	var held *mutex.HeldError
	if !errors.As(err, &held) || held.Holder.Run != run {
		t.Fatalf("it is not held by %q: %v", run, err)
	}
}

// Until waits until something is so.
func Until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still not so: %s", what)
		}
	}
}
