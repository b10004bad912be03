package forecast

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sched/schedule"
)

func all(*schedule.Task) bool { return true }

// minutes writes where tasks are moved to.
func minutes(moves []Move) string {
	var words []string
	for _, m := range moves {
		words = append(words, fmt.Sprintf("%s %d to %d", m.Task.Name, m.From, m.To))
	}
	return strings.Join(words, ", ")
}

func TestTwoHundredTasksAtMidnightAreSpread(t *testing.T) {
	var text strings.Builder
	text.WriteString("defaults: {background: true}\ntasks:\n")
	for i := range 200 {
		fmt.Fprintf(&text, "- {name: task-%03d, cron: \"0 0 * * *\", command: \"true\"}\n", i)
	}
	in := input(t, "Europe/Berlin", "2026-03-23 00:00", 7*24*time.Hour, nil, text.String())
	moves := Spread(in, all)
	if len(moves) != 196 {
		t.Errorf("%d moves, not 196: four stay", len(moves))
	}
	last := 0
	for _, m := range moves {
		if m.To < last || m.To > 59 {
			t.Errorf("%s to minute %d, after %d", m.Task.Name, m.To, last)
		}
		last = m.To
	}
}

func TestSpreadKeepsOrderAndWindows(t *testing.T) {
	for _, row := range []struct {
		name, tasks, want string
		took              map[string]string
	}{
		{"two of one minute keep the order of the file", `
- {name: a, cron: "0 3 * * *"}
- {name: b, cron: "0 3 * * *"}`, "b 0 to 1", nil},
		{"a long run is gone around", `
- {name: a, cron: "0 3 * * *"}
- {name: b, cron: "0 3 * * *"}`, "b 0 to 10", map[string]string{"a": "10m"}},
		{"another weekday counts as the same hour: they would change places on days on which both are due", `
- {name: b, cron: "0 3 * * *"}
- {name: c, cron: "0 3 * * *"}
- {name: monthly, cron: "1 3 1 * *"}
- {name: late, cron: "2 3 * * 1", background: false}`, "", map[string]string{"b": "5m"}},
		{"what has a fixed time stays behind", `
- {name: a, cron: "0 3 * * *"}
- {name: b, cron: "0 3 * * *"}
- {name: next, cron: "5 3 * * *", background: false}`, "", map[string]string{"a": "10m"}},
		{"one that comes first in the hour and last in the file does not come level", `
- {name: b, cron: "1 3 * * *"}
- {name: c, cron: "1 3 * * *"}
- {name: a, cron: "0 3 * * *"}`, "c 1 to 2", nil},
		{"a window", `
- {name: a, cron: "0 3 * * *"}
- {name: b, cron: "0 3 * * *", between: ["2:00", "3:05"]}`, "", map[string]string{"a": "10m"}},
		{"foreground tasks stay", `
- {name: a, cron: "0 3 * * *", background: false}
- {name: b, cron: "0 3 * * *", background: false}`, "", nil},
		{"those of every few minutes stay, and stand in no way", `
- {name: a, cron: "*/5 * * * *"}
- {name: b, cron: "*/5 * * * *"}
- {name: c, cron: "0 3 * * *"}`, "c 0 to 1", nil},
		{"another hour is another matter", `
- {name: a, cron: "0 3 * * *"}
- {name: b, cron: "0 3 * * *"}
- {name: z, cron: "0 4 * * *"}`, "b 0 to 1", nil},
		{"another zone is only load", `
- {name: a, cron: "0 3 * * *", timezone: Europe/Berlin}
- {name: b, cron: "0 2 * * *"}`, "b 0 to 1", nil},
	} {
		text := "defaults: {background: true}\ntasks:" + strings.ReplaceAll(row.tasks+"\n", "}\n", ", command: \"true\"}\n")
		in := input(t, "UTC", "2026-03-02 00:00", 7*24*time.Hour, row.took, text)
		if got := minutes(Spread(in, all)); got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
}
