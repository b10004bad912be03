package outbox

import (
	"testing"
	"time"
)

func TestTheWaitsBetweenAttempts(t *testing.T) {
	at := time.Date(2026, 1, 1, 10, 0, 20, 0, time.UTC)
	for _, row := range []struct {
		tries int
		now   string
		waits bool
	}{
		{0, "10:00:20", false},
		{1, "10:00:59", true},
		{1, "10:01:00", false},
		{2, "10:01:59", true},
		{2, "10:02:00", false},
		{6, "10:31:59", true},
		{6, "10:32:00", false},
		{7, "10:59:59", true},
		{7, "11:00:00", false},
		{100, "10:59:59", true},
		{100, "11:00:00", false},
		{7, "09:59:59", false}, // a clock that was wrong keeps nothing back
		{1, "08:00:00", false},
	} {
		now, _ := time.Parse(time.DateTime, "2026-01-01 "+row.now)
		if got := (failure{Tries: row.tries, At: at}).waits(now); got != row.waits {
			t.Errorf("after attempt %d it waits at %s: %v", row.tries, row.now, got)
		}
	}
}

// Of the addresses of a mail those are tried again that are left, also when some are left of those.
func TestTheAddressesThatAreLeft(t *testing.T) {
	all := []string{"a", "b", "c", "d"}
	first := left(nil, all, []string{"b", "d"})
	second := left(first, []string{"b", "d"}, []string{"d"})
	if len(second) != 1 || all[second[0]] != "d" {
		t.Errorf("%v, then %v", first, second)
	}
}
