package systemd

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sched/schedule/cron"
	"sched/schedule/crontab"
	"sched/schedule/humanize"
	"sched/schedule/machine/oncalendar"
	"sched/schedule/yamldoc"
)

// text returns a key whose value is a text.
func text(name, value string) crontab.Key {
	return crontab.Key{Name: name, Value: yamldoc.NewText(value)}
}

// plain returns a key with a value as YAML has it.
func plain(name, yaml string) crontab.Key {
	return crontab.Key{Name: name, Text: yaml}
}

// times are when a timer starts its service.
type times struct {
	calendar []oncalendar.Spec
	crons    []string
	every    string // in place of crons
	zone     string // "" for the machine's
	days     []string
	first    int // the first year; 0: any
	last     int
	boot     bool
	counts   bool // it also counts from its last start
	remarks  []string
}

// timesOf reads the times of a timer. The error says what no task can have.
func timesOf(s *settings, zone *time.Location) (t times, err error) {
	if err := t.readCalendar(s.take("Timer.OnCalendar"), zone); err != nil {
		return t, err
	}
	for _, key := range []string{"OnUnitActiveSec", "OnUnitInactiveSec"} {
		if err := t.readPeriod(s, key); err != nil {
			return t, err
		}
	}
	for _, key := range []string{"OnActiveSec", "OnBootSec", "OnStartupSec"} {
		for _, text := range s.take("Timer." + key) {
			switch _, ok := oncalendar.ParseSpan(text); {
			case !ok:
				return t, fmt.Errorf("%s=%s is no span of time", key, text)
			case t.every != "":
				s.left["Timer."+key] = append(s.left["Timer."+key], text) // the task is due by the clock all the same
			default:
				t.remarks = append(t.remarks,
					fmt.Sprintf("%s=%s: the task starts with the first tick after a boot", key, text))
				t.boot = true
			}
		}
	}
	switch {
	case t.boot:
		t.crons = append([]string{"@reboot"}, t.crons...)
	case t.every == "" && t.crons == nil:
		return t, errors.New("no time in it is a time of the clock, a boot or a span")
	}
	return t, nil
}

// keys returns the times as keys of a task.
func (t *times) keys() (keys []crontab.Key) {
	if t.every != "" {
		keys = append(keys, text("every", t.every))
	} else {
		crons := `"` + strings.Join(t.crons, `", "`) + `"`
		if len(t.crons) > 1 {
			crons = "[" + crons + "]"
		}
		keys = append(keys, plain("cron", crons))
	}
	if t.zone != "" {
		keys = append(keys, text("timezone", t.zone))
	}
	if t.first > 0 {
		from, until := fmt.Sprintf("%d-01-01", t.first), fmt.Sprintf("%d-01-01", t.last+1)
		keys = append(keys, plain("from", from), plain("until", until))
	}
	if t.days != nil {
		keys = append(keys, plain("days", "["+strings.Join(t.days, ", ")+"]"))
	}
	return keys
}

// readCalendar reads OnCalendar=.
func (t *times) readCalendar(texts []string, zone *time.Location) error {
	for i, text := range texts {
		spec, err := oncalendar.Parse(text, zone)
		if err != nil {
			return err
		}
		one, err := oncalendar.CronOf(spec)
		if err != nil {
			return fmt.Errorf("OnCalendar=%s: %w", text, err)
		}
		if _, err := cron.Parse(one.Expression, ""); err != nil {
			return fmt.Errorf("OnCalendar=%s: %w", text, err)
		}
		switch {
		case i > 0 && t.zone != spec.Zone():
			return errors.New("its times have several zones, and a task has one")
		case i > 0 && (!slices.Equal(t.days, one.Days) || t.first != one.First || t.last != one.Last):
			return fmt.Errorf("OnCalendar=%s: its days or years would bound the other times, too", text)
		}
		t.zone, t.days, t.first, t.last = spec.Zone(), one.Days, one.First, one.Last
		t.calendar = append(t.calendar, spec)
		if !slices.Contains(t.crons, one.Expression) {
			t.crons = append(t.crons, one.Expression)
		}
	}
	return nil
}

// readPeriod reads times that count from the last start or end of the service. The shortest counts.
func (t *times) readPeriod(s *settings, key string) error {
	var shortest time.Duration
	texts := s.take("Timer." + key)
	for _, text := range texts {
		span, ok := oncalendar.ParseSpan(text)
		if !ok || span <= 0 {
			return fmt.Errorf("%s=%s is no span of time", key, text)
		}
		if shortest == 0 || span < shortest {
			shortest = span
		}
	}
	if shortest == 0 {
		return nil
	}
	expression, words := periodic(shortest)
	written := fmt.Sprintf("%s=%s", key, humanize.Setting(shortest))
	switch {
	case t.counts || words != "" && t.crons != nil:
		return fmt.Errorf("%s: a task has no such second time", written)
	case expression != "":
		t.crons = append(t.crons, expression)
	case words != "":
		t.every = words
	default:
		return fmt.Errorf("%s: a task has no such times", written)
	}
	t.counts = true
	from := map[bool]string{true: "start", false: "end"}[key == "OnUnitActiveSec"]
	t.remarks = append(t.remarks, fmt.Sprintf("%s: systemd counts from the last %s, the task is due by the clock: %s",
		written, from, expression+words))
	return nil
}

// periodic returns a cron expression that is due each time a span is over, or else the words of
// every:. Both are "" for spans below a minute that do not divide it, and their like.
func periodic(span time.Duration) (expression, words string) {
	const day = 24 * time.Hour
	fits := func(unit, whole time.Duration) (int, bool) {
		return int(span / unit), span%unit == 0 && span < whole && whole%span == 0
	}
	if n, ok := fits(time.Second, time.Minute); ok {
		return steps(n) + " * * * * *", ""
	}
	if n, ok := fits(time.Minute, time.Hour); ok {
		return steps(n) + " * * * *", ""
	}
	if n, ok := fits(time.Hour, day); ok {
		return "0 " + steps(n) + " * * *", ""
	}
	switch {
	case span == day:
		return "0 0 * * *", ""
	case span == 7*day:
		return "0 0 * * MON", ""
	case span%day == 0:
		return "", fmt.Sprintf("%d days from 2026-01-05", span/day)
	case span%time.Minute == 0 && span >= time.Minute:
		return "", fmt.Sprintf("%d minutes from 2026-01-05", span/time.Minute)
	}
	return "", ""
}

func steps(n int) string {
	if n == 1 {
		return "*"
	}
	return fmt.Sprintf("*/%d", n)
}
