package schedule

import (
	"errors"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"sched/schedule/cron"
)

// timing is cron: or every: as one level of the file has it.
type timing struct {
	crons  []*yaml.Node
	every  *yaml.Node
	broken bool // a problem has been noted
}

func (t timing) given() bool { return t.crons != nil || t.every != nil || t.broken }

func readCron(l *loader, e *entry, n *yaml.Node) {
	e.own.broken = !l.notEmpty(n, "")
	l.each(n, func(item *yaml.Node) bool {
		if _, ok := l.filled(item); !ok {
			e.own.broken = true
			return false
		}
		e.own.crons = append(e.own.crons, item)
		return true
	})
}

func readEvery(l *loader, e *entry, n *yaml.Node) {
	if e.own.given() {
		l.bad(n, "keep one of the two", "cron and every cannot both be given")
		e.own.broken = true
		return
	}
	if _, ok := l.filled(n); !ok {
		e.own.broken = true
		return
	}
	e.own.every = n
}

// when sets e.When from the level's own timing, or else from what the levels above have given.
// The seed is for the H of cron expressions.
func (l *loader) when(e *entry, seed string) {
	told := true // problems and warnings of inherited expressions have been told where they stand
	if e.own.given() {
		e.timing, e.own, told = e.own, timing{}, false
		e.When.Crons, e.When.Every = nil, ""
	}
	t := &e.timing
	if told && (t.crons == nil || t.broken) {
		return
	}
	if t.every != nil {
		e.When.Every = t.every.Value
		e.When.Crons = l.frequency(t)
		return
	}
	crons := make([]cron.Expression, 0, len(t.crons))
	for _, n := range t.crons {
		cron, err := cron.Parse(n.Value, seed)
		if err != nil {
			l.badTime(t, n, "cron", err)
		} else {
			crons = append(crons, cron)
			if !told && cron.BothDays() {
				l.warn(n, "for days that are both, make one field * and say it with `days:`",
					"cron %s: the day of the month and the day of the week are both restricted, and either is enough", quote(n.Value))
			}
		}
	}
	e.When.Crons = crons
}

func (l *loader) frequency(t *timing) []cron.Expression {
	crons, err := cron.ParseEvery(t.every.Value)
	if err != nil {
		l.badTime(t, t.every, "every", err)
	}
	return crons
}

func (l *loader) badTime(t *timing, n *yaml.Node, key string, err error) {
	t.broken = true
	hint := ""
	if wrong, ok := errors.AsType[*cron.Error](err); ok {
		hint = wrong.Hint
	}
	l.bad(n, hint, "%s %s: %v", key, quote(n.Value), err)
}

// zone reads the name of a time zone.
func (l *loader) zone(n *yaml.Node) (*time.Location, bool) {
	name, ok := l.filledExpanded(n)
	if !ok {
		return nil, false
	}
	if zone := l.zones[name]; zone != nil {
		return zone, true
	}
	zone, err := time.LoadLocation(name)
	if err != nil || strings.EqualFold(name, "local") {
		l.bad(n, zoneHint(name), "%s %s is not a known time zone", l.key, quote(name))
		return nil, false
	}
	l.zones[name] = zone
	return zone, true
}

func zoneHint(name string) string {
	if strings.EqualFold(name, "local") {
		return "leave the key out for the zone of the machine"
	}
	parts := strings.Split(strings.ReplaceAll(strings.ToLower(name), " ", "_"), "/")
	for i, part := range parts {
		words := strings.Split(part, "_")
		for j, w := range words {
			if w != "" {
				words[j] = strings.ToUpper(w[:1]) + w[1:]
			}
		}
		parts[i] = strings.Join(words, "_")
	}
	for _, try := range []string{strings.Join(parts, "/"), strings.ToUpper(name)} {
		if _, err := time.LoadLocation(try); err == nil && try != "" && try != name {
			return didYouMean(try)
		}
	}
	return `time zones are called as in "Europe/Berlin", "America/New_York" or "UTC"`
}
