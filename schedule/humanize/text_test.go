package humanize

import (
	"fmt"
	"math"
	"testing"
	"time"
)

func ExampleCount() {
	fmt.Println(Count(1, "slot"), "of", Count(2, "task"))
	// Output: 1 slot of 2 tasks
}

func ExampleDuration() {
	fmt.Println(Duration(402*time.Millisecond), "or", Duration(75*time.Second))
	// Output: 402 ms or 1 m 15 s
}

func TestDuration(t *testing.T) {
	const (
		ms = time.Millisecond
		s  = time.Second
		m  = time.Minute
		h  = time.Hour
	)
	for _, row := range []struct {
		d             time.Duration
		want, precise string
	}{
		{0, "0 ms", "0 ms"},
		{999*ms + 999*time.Microsecond, "999 ms", "999 ms"},
		// a tenth of a second matters if it takes seconds
		{s, "1.0 s", "1.0 s"},
		{9500 * ms, "9.5 s", "9.5 s"},
		{9970 * ms, "10 s", "10.0 s"},
		{11500 * ms, "12 s", "11.5 s"},
		{m - ms, "1 m 0 s", "1m"},
		// a second, if it takes minutes
		{m, "1 m 0 s", "1m"},
		{75 * s, "1 m 15 s", "1m15s"},
		{80 * s, "1 m 20 s", "1m20s"},
		{h - ms, "59 m 59 s", "1h0m"},
		// a minute, if it takes hours
		{h, "1 h 0 m", "1h0m"},
		{2*h + 59*s, "2 h 0 m", "2h0m59s"},
		// an hour, if it takes days
		{24 * h, "1 d 0 h", "24h0m"},
		{76*h + 59*m, "3 d 4 h", "76h59m"},
		// as far as a duration goes
		{math.MaxInt64, "over 292 years", "2562047h47m16.854775807s"},
	} {
		if got := Duration(row.d); got != row.want {
			t.Errorf("%v is %q, not %q", row.d, got, row.want)
		}
		if got := DurationPrecise(row.d); got != row.precise {
			t.Errorf("%v is precisely %q, not %q", row.d, got, row.precise)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range []string{"0 slots", "1 slot", "2 slots"} {
		if got := Count(n, "slot"); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

func TestBytes(t *testing.T) {
	for _, row := range []struct {
		n    int64
		want string
	}{
		{0, "0 KiB"},
		{700 << 10, "700 KiB"},
		{41 << 20, "41 MiB"},
		{3 << 29, "1.5 GiB"},
	} {
		if got := Bytes(row.n); got != row.want {
			t.Errorf("%d is %q, not %q", row.n, got, row.want)
		}
	}
}

func TestARunIsNamedByTheEndOfItsID(t *testing.T) {
	for id, want := range map[string]string{
		"01938b7c-25c5-7f9a-8b1c-5c2f9a1b3d4e": "5c2f9a1b3d4e",
		"short":                                "short",
		"":                                     "",
	} {
		if got := ShortRun(id); got != want {
			t.Errorf("%q is shown as %q, not %q", id, got, want)
		}
	}
}

func TestASettingIsWrittenAsAScheduleHasIt(t *testing.T) {
	for d, want := range map[time.Duration]string{
		50 * time.Millisecond: "50ms", 2 * time.Second: "2s", 90 * time.Second: "1m30s",
		20 * time.Minute: "20m", time.Hour: "1h",
		90 * time.Minute: "1h30m", 30 * 24 * time.Hour: "30d", 25 * time.Hour: "1d1h",
	} {
		if got := Setting(d); got != want {
			t.Errorf("%v is %q, not %q", d, got, want)
		}
	}
}
