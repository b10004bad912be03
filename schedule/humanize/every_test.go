package humanize

import (
	"testing"
	"time"
)

func TestASpanHasTheWordsOfEvery(t *testing.T) {
	for _, row := range []struct {
		span time.Duration
		want string
	}{
		{time.Second, "1 second"}, {20 * time.Second, "20 seconds"}, {7 * time.Second, ""}, {90 * time.Second, ""},
		{500 * time.Millisecond, ""}, {0, ""}, {-time.Minute, ""}, {time.Minute, "1 minute"},
		{5 * time.Minute, "5 minutes"}, {7 * time.Minute, "7 minutes from 2026-01-01 00:00"},
		{time.Hour, "1 hour"}, {90 * time.Minute, "90 minutes from 2026-01-01 00:00"}, {8 * time.Hour, "8 hours"},
		{24 * time.Hour, "24 hours"}, {36 * time.Hour, "2160 minutes from 2026-01-01 00:00"},
	} {
		if got, ok := Every(row.span); got != row.want || ok != (row.want != "") {
			t.Errorf("%s is %q, %t", row.span, got, ok)
		}
	}
	for text, want := range map[string]string{" 1h30m ": "90 minutes from 2026-01-01 00:00", "5m": "5 minutes", "x": "y", "7s": "y"} {
		if got := EveryOf(text, "y"); got != want {
			t.Errorf("%s is %q", text, got)
		}
	}
}
