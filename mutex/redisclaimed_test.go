package mutex_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sched/mutex"
	"sched/mutex/redistest"
)

// Claims of missed_within: 31d on 200 tasks every minute once took 2.4 GB.
func TestClaimsThatAreKeptForLongTakeLittle(t *testing.T) {
	s := redistest.Start(t)
	r := dial(t, s.URL)
	month := 31 * 24 * time.Hour
	day := time.Now().UTC().Truncate(24 * time.Hour).Add(-24 * time.Hour) // whatever the hour is, all of it has passed
	claim := func(at time.Time, run string) error {
		return r.Claim(ctx, mutex.SlotKey("a:b/report", at), at.Add(month), holder(run))
	}
	for i := range 300 {
		if err := claim(day.Add(time.Duration(i)*time.Minute), "run-1"); err != nil {
			t.Fatal(err)
		}
	}
	odd := day.Add(90 * time.Second)
	if err := claim(odd, "run-1"); err != nil {
		t.Fatal(err)
	}
	left := func(key string) time.Duration {
		return time.Duration(do(t, s.URL, "PTTL", key).(int64)) * time.Millisecond
	}
	var bits []string
	until(t, "the claims are bits", func() bool {
		bits = nil
		for _, key := range do(t, s.URL, "KEYS", r.Key("claimed")+"*").([]any) {
			bits = append(bits, fmt.Sprint(key))
		}
		return len(bits) == 2 && do(t, s.URL, "BITCOUNT", r.Key("claimed", "a:b/report", day.Format("20060102"))) == int64(300)
	})
	for _, key := range bits {
		if left := left(key); left < month-49*time.Hour || left > month {
			t.Errorf("%s is kept for %s", key, left)
		}
	}
	if used := do(t, s.URL, "MEMORY", "USAGE", bits[0]).(int64) + do(t, s.URL, "MEMORY", "USAGE", bits[1]).(int64); used > 12_000 {
		t.Errorf("the bits take %d bytes", used)
	}
	for _, at := range []time.Time{day, day.Add(299 * time.Minute), odd} {
		key := mutex.SlotKey("a:b/report", at)
		if left := left(r.Key("claim", key)); left > time.Hour {
			t.Errorf("%s is kept for %s", key, left)
		}
		heldBy(t, claim(at, "run-2"), key, "run-1")
		do(t, s.URL, "DEL", r.Key("claim", key)) // as its end would
		heldBy(t, claim(at, "run-2"), key, "")
		if _, claimed, err := r.Claimed(ctx, key, at.Add(month)); !claimed || err != nil {
			t.Errorf("%s: %t, %v", key, claimed, err)
		}
	}
	free := mutex.SlotKey("a:b/report", day.Add(301*time.Minute))
	if _, claimed, err := r.Claimed(ctx, free, day.Add(month)); claimed || err != nil {
		t.Errorf("%t, %v", claimed, err)
	}
	if err := claim(day.Add(301*time.Minute), "run-2"); err != nil {
		t.Error(err)
	}
}

// Of several servers a majority decides, also about bits. A claim that only a minority has sets none.
func TestBitsOfClaimsAreOfAMajority(t *testing.T) {
	servers, urls := three(t)
	r := dial(t, urls...)
	at := time.Now().UTC().Truncate(time.Minute)
	key, end := mutex.SlotKey("report", at), at.Add(24*time.Hour)
	do(t, urls[0], "SET", r.Key("claim", key), "run-0 {}", "PX", "60000") // of one that came no further
	if err := r.Claim(ctx, key, end, holder("run-1")); err != nil {
		t.Fatal(err)
	}
	bit := r.Key("claimed", "report", at.Format("20060102"))
	until(t, "two have the bit", func() bool {
		return do(t, urls[1], "BITCOUNT", bit) == int64(1) && do(t, urls[2], "BITCOUNT", bit) == int64(1)
	})
	if n := do(t, urls[0], "BITCOUNT", bit); n != int64(0) {
		t.Errorf("%v", n)
	}
	for _, url := range urls {
		do(t, url, "DEL", r.Key("claim", key))
	}
	heldBy(t, r.Claim(ctx, key, end, holder("run-2")), key, "")
	servers[0].Kill()
	heldBy(t, r.Claim(ctx, key, end, holder("run-2")), key, "")
	if err := r.Claim(ctx, strings.Replace(key, "report", "other", 1), end, holder("run-2")); err != nil {
		t.Error(err)
	}
}
