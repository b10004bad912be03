package humanize

import (
	"fmt"
	"strings"
	"time"
)

// Duration writes how long something takes, in the two largest units that matter: "310 ms", "9.5
// s", "42 s", "1 m 15 s", "2 h 0 m", "3 d 4 h". What is smaller is cut off. For a duration that is
// not negative.
func Duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d m %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h %d m", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d d %d h", int(d.Hours())/24, int(d.Hours())%24)
}

// DurationPrecise writes a duration to the tenth of a second below a minute, and to the second
// above, for notifications, which are kept: "310 ms", "11.5 s", "1m15s", "20m", "1h0m". For a
// duration that is not negative.
func DurationPrecise(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	text := d.Round(time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	return text
}
