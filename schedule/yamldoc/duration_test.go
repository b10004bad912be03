package yamldoc

import (
	"testing"
	"time"
)

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30d": 720 * time.Hour, "1d12h": 36 * time.Hour, "90s": 90 * time.Second, "1h30m": 90 * time.Minute,
		"0s": 0, "0d": 0, "1.5d": 36 * time.Hour, "-5m": -5 * time.Minute, "-1d": -24 * time.Hour, "500ms": time.Second / 2,
		"": -1, "d": -1, "5": -1, "0": -1, "1d5": -1, "1d-2h": -1, "1h2d": -1, "1w": -1, "1e3d": -1, "99999d": -1, "5 m": -1, "nand": -1,
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
