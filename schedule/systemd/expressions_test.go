package systemd

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"sched/schedule/crontab"
	"sched/schedule/machine/oncalendar"
)

// leaps are expressions with a step that does not divide its minute, hour or day. At the end of one
// systemd 252 goes on with what is left of the step, which the proof reports.
var leaps = map[string]bool{"*:*:0/7": true, "1/5:00": true,
	"Mon..Fri 4..10-* 8,0/15:42..52/2:0 Europe/Berlin": true}

// Each expression that was recorded from systemd either becomes a cron expression that is due at
// the same times, but where clocks change, or is refused with a reason.
func TestExpressionsOfSystemdBecomeTheSameTimes(t *testing.T) {
	t.Parallel()
	recorded, err := os.ReadFile("../machine/oncalendar/testdata/systemd252.txt")
	if err != nil {
		t.Fatal(err)
	}
	var tasks []*Task
	var texts []string
	refused := 0
	for line := range strings.Lines(string(recorded)) {
		text, _, _ := strings.Cut(line, "\t")
		spec, err := oncalendar.Parse(text, berlin(t))
		if strings.HasPrefix(line, "#") || err != nil {
			continue
		}
		var set times
		if err := set.readCalendar([]string{text}, berlin(t)); err != nil {
			refused++
			continue
		}
		task := &Task{Name: fmt.Sprintf("t%d", len(tasks)), Calendar: []oncalendar.Spec{spec}, Command: "x"}
		task.Keys = append([]crontab.Key{plain("name", task.Name)}, set.keys()...)
		task.Keys = append(task.Keys, crontab.CommandKey("x"))
		tasks, texts = append(tasks, task), append(texts, text)
	}
	s := loaded(t, tasks)
	from := time.Date(2026, 3, 28, 0, 0, 0, 0, time.UTC) // before the clocks of Berlin change
	for i, task := range tasks {
		to, n := from.AddDate(3, 0, 0), 0
		for at := range oncalendar.Starts(task.Calendar, from, to) {
			if n++; n == 3000 {
				to = at
				break
			}
		}
		var c comparison
		c.compare(task.Calendar, s.Task(task.Name), from, to)
		if d := c.difference; d.Times > 0 && !d.AtChanges && !leaps[texts[i]] {
			t.Errorf("%s: %s: %+v", texts[i], s.Task(task.Name).When, d)
		}
	}
	t.Logf("%d expressions became tasks, %d are refused", len(tasks), refused)
	if len(tasks) < 200 {
		t.Errorf("only %d expressions became tasks", len(tasks))
	}
}
