package machine

import "testing"

// As systemd.timer(5) and systemd.unit(5) say, an empty value takes back all times, and all
// conditions; any other key stands alone.
func TestAnEmptyValueTakesBackWhatStoodBefore(t *testing.T) {
	t.Parallel()
	values := map[string][]string{}
	readUnit("[Unit]\nConditionACPower=true\nConditionPathExists=/a\nAssertPathExists=/b\nAfter=x\n"+
		"[Timer]\nOnCalendar=daily\nOnBootSec=5\nOnClockChange=yes\nUnit=a.service\n", values)
	readUnit("[Unit]\nConditionPathExists=\n[Timer]\nOnBootSec=\nOnCalendar=weekly\nUnit=\n", values)
	u := unit{values: values}
	for key, want := range map[string]string{"Unit.ConditionACPower": "", "Unit.ConditionPathExists": "",
		"Unit.AssertPathExists": "/b", "Unit.After": "x", "Timer.OnCalendar": "weekly", "Timer.OnBootSec": "",
		"Timer.OnClockChange": "yes", "Timer.Unit": ""} {
		if got := u.last(key); got != want {
			t.Errorf("%s is %q, not %q", key, got, want)
		}
	}
	if len(values["Timer.OnCalendar"]) != 1 {
		t.Errorf("OnCalendar= is %q", values["Timer.OnCalendar"])
	}
}
