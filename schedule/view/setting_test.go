package view

import (
	"testing"

	"sched/schedule"
)

func TestAPartOfANotificationIsShownWhateverItsType(t *testing.T) {
	for _, row := range []struct {
		value any
		want  string
	}{
		{"http://[::1]/[ping]", "http://[::1]/[ping]"},
		{[]string{"ops@example.com", "dev@example.com"}, "ops@example.com dev@example.com"},
		{[]schedule.Moment{schedule.OnStart, schedule.OnFailure}, "start failure"},
		{[]string{}, ""},
		{5, "5"},
		{true, "true"},
	} {
		if got := (NotifyPart{"key", row.value}).Text(); got != row.want {
			t.Errorf("%#v is shown as %q, want %q", row.value, got, row.want)
		}
	}
}
