package work

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

var midnight = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

func TestWhichMinutesAreTicked(t *testing.T) {
	for _, test := range []struct {
		about, looks string // the times of the clock; the first one is the start
		want         string
	}{
		{"the minute of the start is over for us", "10:00:30 10:00:59", ""},
		{"one tick a minute, however often we look", "10:00:30 10:01:00 10:01:01 10:01:59 10:02:00", "10:01 10:02"},
		{"a start at the full minute", "10:00:00 10:00:01 10:01:00", "10:01"},
		{"what passed while we were stopped comes late, in order", "10:00:30 10:03:10", "10:01 10:02 10:03"},
		{"ten minutes are made up for", "10:00:30 10:10:00",
			"10:01 10:02 10:03 10:04 10:05 10:06 10:07 10:08 10:09 10:10"},
		{"of a longer sleep only the present minute", "10:00:30 10:01:00 10:12:00 10:13:00", "10:01 10:12 10:13"},
		{"the clock set back by a moment", "10:00:30 10:01:00 10:00:59 10:01:00 10:02:00", "10:01 10:02"},
		{"the clock set back by minutes: none is ticked twice", "10:00:30 10:03:00 10:01:20 10:02:00 10:03:00 10:04:00",
			"10:01 10:02 10:03 10:04"},
		{"set back to before the start: minutes that had no tick get one",
			"10:00:30 10:01:00 09:58:10 09:59:00 10:00:00 10:01:00 10:02:00", "10:01 09:58 09:59 10:02"},
		{"an hour ahead by mistake for a while", "10:00:30 11:01:00 10:02:00 10:03:00 11:00:00 11:01:00 11:02:00",
			"11:01 10:02 10:03 11:00 11:02"},
		{"a clock that was wrong by a day was corrected, and counts no more",
			"34:00:30 34:01:00 10:01:00 10:02:00 34:00:00 34:01:00", "34:01 10:01 10:02 34:00 34:01"},
	} {
		var m *minutes
		var got []string
		for _, look := range strings.Fields(test.looks) {
			var hour, minute, second int
			if _, err := fmt.Sscanf(look, "%d:%d:%d", &hour, &minute, &second); err != nil {
				t.Fatal(err)
			}
			now := midnight.Add(time.Duration(hour*3600+minute*60+second) * time.Second)
			if m == nil {
				m = newMinutes(now)
			}
			for _, minute := range m.due(now) {
				at := minute.Sub(midnight)
				got = append(got, fmt.Sprintf("%02d:%02d", at/time.Hour, at%time.Hour/time.Minute))
			}
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %s\n got %s\nwant %s", test.about, test.looks, strings.Join(got, " "), test.want)
		}
	}
}
