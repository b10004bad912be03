package mutex_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"sched/mutex"
	"sched/mutex/redistest"
)

// A machine is one of those that share a store: what it remembers of Redis, and which slots it knows to be claimed.
type machine struct {
	t    *testing.T
	urls []string
	path string
	told []mutex.ClaimedSlot
}

func newMachine(t *testing.T, urls ...string) *machine {
	return &machine{t: t, urls: urls, path: filepath.Join(t.TempDir(), "store.json")}
}

// claim claims a slot of the task report in a process of its own, as a tick does, and remembers it where that succeeds.
func (m *machine) claim(at time.Time) error {
	m.t.Helper()
	r := dialWith(m.t, mutex.Config{Servers: m.urls, Lease: time.Second})
	defer r.Close()
	r.RememberInstances(m.path)
	r.RememberClaims(func() []mutex.ClaimedSlot { return m.told })
	until := at.Add(time.Hour)
	err := r.Claim(ctx, mutex.SlotKey("report", at), until, holder("run-of-"+filepath.Dir(m.path)))
	if err == nil {
		m.told = append(m.told, mutex.ClaimedSlot{Task: "report", At: at, Until: until})
	}
	return err
}

// Claims were gone for good when Redis had lost them: 15 of 36 slots ran twice on servers that came back later. Now the machines that
// know them tell it, and until they can have done so the others get no slot that may have been claimed.
func TestARedisThatHasLostClaimsIsToldOfThem(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*testing.T, *redistest.Server){
		"restarted without its data": func(_ *testing.T, s *redistest.Server) { s.Restart() },
		"FLUSHALL":                   func(t *testing.T, s *redistest.Server) { do(t, s.URL, "FLUSHALL") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			one, two := newMachine(t, s.URL), newMachine(t, s.URL)
			now := time.Now().UTC().Truncate(time.Minute)
			first, second, odd := now.Add(-10*time.Minute), now.Add(-9*time.Minute), now.Add(-8*time.Minute+5*time.Second)
			for _, at := range []time.Time{first, second, odd} {
				if err := one.claim(at); err != nil {
					t.Fatal(err)
				}
			}
			heldBy(t, two.claim(first), mutex.SlotKey("report", first), "run-of-"+filepath.Dir(one.path))
			heldBy(t, two.claim(first), mutex.SlotKey("report", first), "run-of-"+filepath.Dir(one.path)) // it was never granted anything
			lose(t, s)
			unknown(t, two.claim(second))
			until(t, "the lease is over, and new slots are granted", func() bool { return two.claim(time.Now().Add(time.Minute)) == nil })
			unknown(t, two.claim(second)) // the other machine may not have come yet

			until(t, "the lease is over for the machine that knows", func() bool { return one.claim(time.Now().Add(time.Hour)) == nil })
			stranger := newMachine(t, s.URL) // it knows of no loss, and waits for nothing
			for _, at := range []time.Time{first, second, odd} {
				heldBy(t, stranger.claim(at), mutex.SlotKey("report", at), "")
			}
			if err := stranger.claim(now.Add(-6 * time.Minute)); err != nil {
				t.Errorf("a slot that nobody had: %v", err)
			}
		})
	}
}

// Telling takes no bit away, and shortens no life of one.
func TestWhatIsToldIsAdded(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	day := time.Now().UTC().Truncate(24 * time.Hour)
	claimed := func(minutes ...int) (slots []mutex.ClaimedSlot) {
		for _, m := range minutes {
			slots = append(slots, mutex.ClaimedSlot{Task: "report", At: day.Add(time.Duration(m) * time.Minute), Until: day.Add(48 * time.Hour)})
		}
		return slots
	}
	machines := []*machine{newMachine(t, s.URL), newMachine(t, s.URL)}
	for i, m := range machines {
		if err := m.claim(day.Add(time.Duration(1000+i) * time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	machines[0].told, machines[1].told = claimed(0, 7, 8, 700), claimed(0, 6, 8, 9, 1439)
	s.Restart()
	for _, m := range machines {
		until(t, "the lease is over", func() bool { return m.claim(time.Now().Add(48*time.Hour)) == nil })
	}
	key := fmt.Sprintf("sched:{shop}:claimed:report:%s", day.Format("20060102"))
	for _, m := range []int{0, 6, 7, 8, 9, 700, 1439} {
		if do(t, s.URL, "GETBIT", key, m) != int64(1) {
			t.Errorf("minute %d is not claimed", m)
		}
	}
	if n := do(t, s.URL, "BITCOUNT", key); n != int64(7) {
		t.Errorf("%v bits are set", n)
	}
	if left := do(t, s.URL, "PTTL", key).(int64); left < (23 * time.Hour).Milliseconds() {
		t.Errorf("kept for %d ms", left)
	}
}
