package storetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"sched/mutex"
	"sched/schedule/clock"
)

// Contract tests what every store promises: Locks, leases, and the board. Each part has a new,
// empty store, which open opens as one more process would.
func Contract(t *testing.T, newOpener func(t *testing.T) func() mutex.Store) {
	Locks(t, func(t *testing.T) func() mutex.Locks {
		open := newOpener(t)
		return func() mutex.Locks { return open() }
	})
	for name, test := range map[string]func(*testing.T, func() mutex.Store){
		"a run that asks again has its lock":           testAgain,
		"what is held and claimed is read at once":     testReading,
		"a lease says when it began":                   testLeased,
		"a table has the newest values until they end": testTable,
		"a log has its newest values":                  testLog,
		"a value may be any bytes":                     testBytes,
		"the clock is one for all":                     testClock,
	} {
		t.Run(name, func(t *testing.T) { test(t, newOpener(t)) })
	}
}

// A store cannot tell a second request from one whose answer was lost.
func testAgain(t *testing.T, open func() mutex.Store) {
	first := Acquire(t, open(), "backup", "run-1")
	second := Acquire(t, open(), "backup", "run-1")
	for _, l := range []mutex.Lock{first, second} {
		if err := l.Renew(ctx); err != nil {
			t.Error(err)
		}
	}
	release(t, first)
	free(t, open(), "backup")
}

func testReading(t *testing.T, open func() mutex.Store) {
	s := open()
	if found, err := s.Held(ctx); len(found) != 0 || err != nil {
		t.Errorf("nothing was asked: %v, %v", found, err)
	}
	Acquire(t, s, "backup", "run-1")
	Acquire(t, s, "report", "run-2")
	found, err := open().Held(ctx, "backup", "other", "report")
	if err != nil || len(found) != 2 || found["backup"].Run != "run-1" || found["report"].Run != "run-2" ||
		found["report"].Host != "web-2" {
		t.Errorf("%v, %v", found, err)
	}
	if err := s.Claim(ctx, "backup@1", time.Now(), Holder("run-3")); err != nil {
		t.Fatal(err)
	}
	found, err = open().Claims(ctx, "backup@1", "backup@2", "backup")
	if err != nil || len(found) != 1 || found["backup@1"].Run != "run-3" {
		t.Errorf("%v, %v", found, err)
	}
}

func testLeased(t *testing.T, open func() mutex.Store) {
	before := clock.Steady()
	began := func(lock mutex.Lock) time.Time { // just now, by the clock of leases
		t.Helper()
		at := lock.LeaseBegan()
		if at.Before(before) || at.After(clock.Steady()) {
			t.Errorf("it began at %s, and it is %s", at, clock.Steady())
		}
		before = at
		return at
	}
	lock := Acquire(t, open(), "backup", "run-1")
	if began(lock); lock.Lease() < time.Second || lock.Inherit() != nil {
		t.Errorf("a lease of %s", lock.Lease())
	}
	adopted := open().Adopt("backup", Holder("run-1"), nil)
	first := began(adopted)
	if err := adopted.Renew(ctx); err != nil || !began(adopted).After(first) {
		t.Errorf("after a renewal: %s, %v", adopted.LeaseBegan(), err)
	}
}

func table(t *testing.T, s mutex.Store, name string) string {
	t.Helper()
	all, err := s.All(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		texts = append(texts, key+"="+string(all[key]))
	}
	return strings.Join(texts, " ")
}

func put(t *testing.T, s mutex.Store, name, key, value string, keep time.Duration) {
	t.Helper()
	if err := s.Put(ctx, name, key, []byte(value), keep); err != nil {
		t.Fatal(err)
	}
}

func testTable(t *testing.T, open func() mutex.Store) {
	if got := table(t, open(), "servers"); got != "" {
		t.Errorf("an empty table has %s", got)
	}
	put(t, open(), "servers", "web-1", "one", time.Hour)
	put(t, open(), "servers", "web-2", "two", time.Hour)
	put(t, open(), "servers", "web-3", "three", 30*time.Millisecond)
	put(t, open(), "servers", "web-1", "one more", time.Hour)
	put(t, open(), "pauses", "web-1", "other table", time.Hour)
	// each process knows the clock anew
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		got := table(t, open(), "servers")
		if got == "web-1=one more web-2=two" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("a value does not end: the table has %s", got)
		}
	}
	for _, key := range []string{"web-1", "web-1", "web-3"} {
		if err := open().Delete(ctx, "servers", key); err != nil {
			t.Errorf("Delete: %v", err)
		}
	}
	if got := table(t, open(), "servers"); got != "web-2=two" {
		t.Errorf("the table has %s", got)
	}
	put(t, open(), "servers", "web-1", "back", time.Hour)
	if got := table(t, open(), "servers"); got != "web-1=back web-2=two" {
		t.Errorf("the table has %s", got)
	}
}

func testLog(t *testing.T, open func() mutex.Store) {
	tail := func(skip, count int) string {
		t.Helper()
		values, err := open().Tail(ctx, "runs", skip, count)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%s", values)
	}
	if got := tail(0, 10); got != "[]" {
		t.Errorf("an empty log has %s", got)
	}
	for i := range 10 {
		if err := open().Append(ctx, "runs", 8, fmt.Appendf(nil, "%d", 2*i),
			fmt.Appendf(nil, "%d", 2*i+1)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		skip, count int
		want        string
	}{{0, 3, "[19 18 17]"}, {0, 100, "[19 18 17 16 15 14 13 12]"}, {3, 2, "[16 15]"}, {7, 5, "[12]"},
		{8, 5, "[]"}, {0, 0, "[]"}} {
		if got := tail(tt.skip, tt.count); got != tt.want {
			t.Errorf("%d after %d: %s, not %s", tt.count, tt.skip, got, tt.want)
		}
	}
}

func testBytes(t *testing.T, open func() mutex.Store) {
	s := open()
	for _, value := range []string{"", " ", "a b  c", "1 2 3", "\x00\xff\n\x1b[31m", strings.Repeat("x", 100_000)} {
		put(t, s, "servers", "key \xff", value, time.Hour)
		if all, err := s.All(ctx, "servers"); err != nil || string(all["key \xff"]) != value || all["key \xff"] == nil {
			t.Errorf("%.20q became %.20q, %v", value, all["key \xff"], err)
		}
		if err := s.Append(ctx, "runs", 1, []byte(value)); err != nil {
			t.Error(err)
		}
		if values, err := s.Tail(ctx, "runs", 0, 1); err != nil || len(values) != 1 || string(values[0]) != value {
			t.Errorf("%.20q became %.20q, %v", value, values, err)
		}
	}
}

func testClock(t *testing.T, open func() mutex.Store) {
	now, err := open().Now(ctx)
	if off := time.Since(now).Abs(); err != nil || off > 5*time.Second {
		t.Errorf("the clock is off by %s, %v", off, err)
	}
}
