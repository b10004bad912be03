package mutex

import (
	"strings"
	"testing"
	"time"
)

func TestAHolderIsNamedAsFarAsItWroteThatDown(t *testing.T) {
	const run = "01a20075-5e5c-70e2-a9e2-b5f9682f3151"
	since := time.Date(2026, 3, 6, 12, 0, 0, 0, time.UTC)
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name   string
		holder Holder
		want   string
	}{
		{"all of it", Holder{Run: run, PID: 7, Host: "web-1", Since: since}, "since 2026-03-06 13:00:00 CET" +
			" (run b5f9682f3151, pid 7 on web-1)"},
		{"no process", Holder{Run: run, Host: "web-1", Since: since}, "since 2026-03-06 13:00:00 CET" +
			" (run b5f9682f3151 on web-1)"},
		{"a value that no sched wrote", Holder{Run: "somebody-else"}, "by run somebody-else"},
		{"nothing", Holder{}, "by a run that left no name"},
	} {
		if got := row.holder.Text(berlin); got != row.want || strings.Contains(got, "0001-01-01") {
			t.Errorf("%s: %q, not %q", row.name, got, row.want)
		}
	}
}
