package status

import (
	"testing"
	"time"
)

func TestTicksMissing(t *testing.T) {
	now := time.Date(2026, 3, 6, 12, 0, 30, 0, time.UTC)
	for _, row := range []struct {
		name string
		ago  time.Duration
		want string
	}{
		{"this minute", 30 * time.Second, ""},
		{"a late one", 3 * time.Minute, ""},
		{"two did not come", 3*time.Minute + time.Second, "no tick came for 3 m 1 s"},
		{"a clock that is a little behind", -time.Minute, ""},
		{"a clock that was set back", -time.Hour, "the last tick is 1 h 0 m ahead of the clock, which was set back"},
	} {
		if got := TicksMissing(now.Add(-row.ago), now); got != row.want {
			t.Errorf("%s: %q", row.name, got)
		}
	}
	if got := TicksMissing(time.Time{}, now); got != "no tick ever came" {
		t.Errorf("never: %q", got)
	}
}
