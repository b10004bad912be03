package yamldoc

import (
	"testing"
	"time"
)

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30d": 720 * time.Hour, "1d12h": 36 * time.Hour, "90s": 90 * time.Second, "1h30m": 90 * time.Minute,
		"0s": 0, "0d": 0, "1.5d": 36 * time.Hour, "-5m": -5 * time.Minute, "-1d": -24 * time.Hour,
		"-1d12h": -36 * time.Hour, "500ms": time.Second / 2,
		"": -1, "d": -1, "5": -1, "0": -1, "1d5": -1, "1d-2h": -1, "1h2d": -1, "1w": -1, "1e3d": -1,
		"99999d": -1, "36500d876000h": -1, "-36500d876000h": -1, "5 m": -1, "nand": -1,
	} {
		got, err := ParseDuration(text)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("%q is %v, want %v (-1ns: an error)", text, got, want)
		}
	}
}

func TestTheHintForADurationInWordsHasTheDuration(t *testing.T) {
	words := map[string][]string{
		"s": {"s", "sec", "secs", "second", "seconds"},
		"m": {"m", "min", "mins", "minute", "minutes"},
		"h": {"h", "hr", "hrs", "hour", "hours"},
		"d": {"d", "day", "days"},
	}
	for unit, names := range words {
		for _, name := range names {
			for _, text := range []string{"5 " + name, "5" + name} {
				if got, want := durationHint(text), "write 5"+unit; got != want {
					t.Errorf("the hint for %q is %q, want %q", text, got, want)
				}
			}
		}
	}
	if got := durationHint("5 dins"); got != "a duration is written as 90s, 20m, 1h30m or 30d" {
		t.Errorf("dins is no unit, and the hint is %q", got)
	}
}
