package schedule_test

import (
	"fmt"
	"testing"
	"time"

	"sched/schedule/load"
)

// spreadOn are the shifts of a hundred tasks on a server.
func spreadOn(t *testing.T, server, more string) (shifts []time.Duration) {
	t.Helper()
	text := "defaults: {spread: 10m" + more + "}\ntasks:\n"
	for i := range 100 {
		text += fmt.Sprintf("- {name: task-%d, every: hour, command: x}\n", i)
	}
	s, err := load.Text([]byte(text), "/srv/schedule.yaml", load.Options{Server: func(string) string { return server }})
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range s.Tasks {
		shifts = append(shifts, task.When.Shift)
	}
	return shifts
}

func TestDueTimesAreSpread(t *testing.T) {
	count := map[time.Duration]int{}
	for _, shift := range spreadOn(t, "web-1", "") {
		count[shift]++
		if shift < 0 || shift >= 10*time.Minute || shift%time.Minute != 0 {
			t.Errorf("a task is due %s later", shift)
		}
	}
	for minute := range 10 {
		if n := count[time.Duration(minute)*time.Minute]; n < 3 || n > 25 {
			t.Errorf("%d of 100 tasks are due in minute %d", n, minute)
		}
	}
	same := 0
	other := spreadOn(t, "web-2", "")
	for i, shift := range spreadOn(t, "web-1", "") {
		if shift == other[i] {
			same++
		}
	}
	if same > 30 {
		t.Errorf("%d of 100 tasks are due in the same minute on two servers", same)
	}
}

// A slot of one_server is taken once for all servers, so it must be the same instant on each.
func TestOneServerIsSpreadByNameAlone(t *testing.T) {
	other := spreadOn(t, "web-2", ", one_server: true")
	for i, shift := range spreadOn(t, "web-1", ", one_server: true") {
		if shift != other[i] {
			t.Errorf("task %d is due %s later on one server and %s on the other", i, shift, other[i])
		}
	}
}

// The numbers are part of the contract: with other numbers a task would run twice, or not, on the
// day of an update.
func TestASpreadStaysWhatItIs(t *testing.T) {
	shifts := spreadOn(t, "web-1", "")
	got := fmt.Sprint(shifts[:5])
	if want := "[1m0s 2m0s 5m0s 3m0s 5m0s]"; got != want {
		t.Errorf("the first are %s, not %s", got, want)
	}
}
