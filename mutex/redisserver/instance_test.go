package redisserver

import (
	"testing"
	"time"
)

// What this machine remembers has times by its own clock, which may have been wrong: what is yet to come counts for nothing, and so
// neither a lease nor a failover of then keeps a Redis from granting for a year.
func TestWhatWasNotedByAWrongClockDoesNotCount(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		name   string
		noted  time.Time
		counts bool
	}{
		{"today", now, true},
		{"a month ago", now.AddDate(0, 0, -30), true},
		{"two months ago", now.AddDate(0, -2, 0), false},
		{"next year", now.AddDate(1, 0, 0), false},
	} {
		var i Instances
		i.useLease(time.Hour, row.noted)
		if lease := i.formerLease(now); (lease == time.Hour) != row.counts {
			t.Errorf("%s: the longest lease is %s", row.name, lease)
		}
	}

	i := Instances{ids: map[string]string{}}
	i.metFor("redis:6379", "b", now.AddDate(1, 0, 0))
	if age := i.metFor("redis:6379", "b", now); age != 0 {
		t.Errorf("met %s ago", age)
	}
	if age := i.metFor("redis:6379", "b", now.Add(time.Minute)); age != time.Minute {
		t.Errorf("met %s ago, a minute later", age)
	}
}
