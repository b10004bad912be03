package load

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"sched/schedule"
	"sched/schedule/cron"
	"sched/schedule/every"
	"sched/schedule/humanize"
	"sched/schedule/yamldoc"
)

// This file reads when a task is due: cron and every, from and until, spread and the zone.

// setCron reads one expression or a list. Its times replace inherited times, also times of every:
// (settleTimes).
func setCron(l *loader, t *taskDraft, n *node) {
	t.ownTiming.broken = !l.RefuseEmptyList(n, "")
	n.Each(func(item *node) bool {
		if _, ok := l.NonEmptyText(item); !ok {
			t.ownTiming.broken = true
			return false
		}
		t.ownTiming.crons = append(t.ownTiming.crons, item)
		return true
	})
}

// setEvery reads a frequency. Its times replace inherited times, also times of cron: (settleTimes).
func setEvery(l *loader, t *taskDraft, n *node) {
	if t.ownTiming.isSet() {
		l.Problemf(n, "keep one of the two", "cron and every cannot both be given")
		t.ownTiming.broken = true
		return
	}
	if _, ok := l.NonEmptyText(n); !ok {
		t.ownTiming.broken = true
		return
	}
	t.ownTiming.every = n
}

// setEveryTimes reads the words of every.
func setEveryTimes(l *loader, t *taskDraft, n *node) {
	t.When.Every = n.Value
	switch {
	case isBoot(n.Value, "boot"):
		t.When.Boot = true
		return
	case strings.EqualFold(strings.TrimSpace(n.Value), cron.ByHand):
		t.When.Every = cron.ByHand
		return
	}
	var err error
	if t.When.Crons, err = every.Parse(n.Value); err != nil {
		refuseTiming(l, &t.timing, n, "every", err)
	}
}

// setCronTimes reads the expressions of cron. If the level itself has them (isOwn), it warns of two
// fields that restrict the days.
func setCronTimes(l *loader, t *taskDraft, seed string, isOwn bool) {
	t.When.Crons, t.When.Boot = make([]cron.Expression, 0, len(t.timing.crons)), false
	for _, n := range t.timing.crons {
		if isBoot(n.Value, cron.AtBoot) {
			t.When.Boot = true
			continue
		}
		expression, err := cron.Parse(n.Value, seed)
		if err != nil {
			refuseTiming(l, &t.timing, n, "cron", err)
			continue
		}
		t.When.Crons = append(t.When.Crons, expression)
		if isOwn {
			warnOfExpression(l, n, expression)
		}
	}
}

// warnOfExpression warns of an expression that can hardly mean what it says.
func warnOfExpression(l *loader, n *node, expression cron.Expression) {
	warnOfDayFields(l, n, expression)
	if text, hint := pitfall(expression); text != "" {
		l.Warnf(n, hint, "cron %s: %s", yamldoc.Quote(n.Value), text)
	}
}

// warnOfDayFields warns of an expression that restricts the days by two fields.
func warnOfDayFields(l *loader, n *node, expression cron.Expression) {
	switch {
	case expression.StepBothDays():
		l.Warnf(n, "make one of them *, and say it with `days:` or with a list of days",
			"cron %s: a step beside another day field means that both must match, as in cron, "+
				"and not either, as in Laravel", yamldoc.Quote(n.Value))
	case expression.BothDays():
		l.Warnf(n, "for days that are both, make one field * and say it with `days:`",
			"cron %s: the day of the month and the day of the week are both restricted, and either is enough",
			yamldoc.Quote(n.Value))
	}
}

// momentWithZone matches a date and a time with more after them.
var momentWithZone = humanize.Pattern(`^\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)? *[A-Z+-]`)

// readMoment reads a date, a date and a time, or an instant.
func readMoment(r *reader, n *node) (moment, bool) {
	text, ok := r.NonEmptyText(n)
	if !ok {
		return moment{}, false
	}
	layouts := []string{
		time.DateOnly,
		"2006-01-02 15:04", time.DateTime,
		"2006-01-02T15:04", "2006-01-02T15:04:05",
	}
	for _, layout := range layouts {
		if at, err := time.Parse(layout, text); err == nil {
			return moment{at, true}, true
		}
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		hint := "write a date, or a date and a time, as in 2026-12-24 or 2026-12-24 18:00"
		if momentWithZone().MatchString(text) {
			hint = "a time with its zone is written as 2026-12-24T18:00:00+01:00"
		}
		r.Problemf(n, hint, "%s %s is not a date, or a date with a time", r.Key, yamldoc.Quote(text))
	}
	return moment{at: at}, err == nil
}

// setBounds sets the times before and after which the task has no slots, in its zone.
func setBounds(l *loader, n *node, t *taskDraft) {
	if t.from != (moment{}) {
		t.When.From = t.from.in(t.When.Location)
	}
	if t.until != (moment{}) {
		t.When.Until = t.until.in(t.When.Location)
	}
	if !t.When.From.IsZero() && !t.When.Until.IsZero() && !t.When.From.Before(t.When.Until) {
		l.Problemf(firstOf(n, "until", "from"), "make until later than from",
			"until contradicts from, which is not before it: it would never be due")
	}
}

// isBoot reports whether a time is the boot of the machine. The word for it depends on the key.
func isBoot(text, word string) bool { return strings.EqualFold(strings.TrimSpace(text), word) }

// checkBoot refuses keys that contradict a boot. A boot concerns one machine, and nobody knows when
// the next boot is.
func checkBoot(l *loader, n *node, t *taskDraft) {
	if !t.When.Boot {
		return
	}
	at := placeText(l, firstOf(n, "every", "cron"))
	if t.OneServer {
		l.Problemf(firstOf(n, "one_server", "every", "cron"),
			"remove one_server, or write `one_server: false` against one that is inherited",
			"one_server contradicts a boot%s, which only one machine has", at)
	}
	if spread := n.Lookup("spread"); spread != nil && t.Spread > 0 {
		l.Problemf(spread, "keep one of the two", "spread contradicts a boot%s, which has no time", at)
	}
	if t.Expect.Every > 0 {
		l.Problemf(firstOf(n, "expect", "every", "cron"),
			"keep expect.within, and write `every: false` against one that is inherited",
			"expect.every contradicts a boot%s: nobody knows when the next one is", at)
	}
}

// refuseTiming records the error of package cron about a time.
func refuseTiming(l *loader, t *timing, n *node, key string, err error) {
	t.broken = true
	if cronError, ok := errors.AsType[*cron.Error](err); ok {
		hint := cronError.Hint
		if meant := every.Meant(n.Value); key == "cron" && meant != "" {
			hint = "write `every: " + meant + "` in place of cron"
		}
		l.Problemf(n, hint, "%s %s: %v", key, yamldoc.Quote(n.Value), err)
	}
}

// shift returns how much later than its own times a task is due on this server. All servers of a
// one_server task shift it alike.
func shift(l *loader, t *schedule.Task) time.Duration {
	switch {
	case t.Spread == 0:
		return 0
	case t.OneServer || l.options.Server == nil:
		return t.Shift("")
	}
	return t.Shift(l.options.Server(l.schedule.Server))
}

// readZone reads the name of a time zone, each name once.
func readZone(l *loader, n *node) (*time.Location, bool) {
	name, ok := l.NonEmptyExpanded(n)
	if !ok {
		return nil, false
	}
	if zone := l.zones[name]; zone != nil {
		return zone, true
	}
	zone, err := time.LoadLocation(name)
	if err != nil || strings.EqualFold(name, "local") {
		l.Problemf(n, zoneHint(name), "%s %s is not a known time zone", l.Key, yamldoc.Quote(name))
		return nil, false
	}
	if city := map[string]string{"EST": "America/New_York", "MST": "America/Denver"}[name]; city != "" {
		l.Warnf(n, "write "+city+" for a place that has it", "%s %s has no daylight saving time", l.Key, name)
	}
	if found := signedZone().FindStringSubmatch(name); found != nil {
		side, turned, other := "behind", "-", "ahead of"
		if found[1] == "-" {
			side, turned, other = other, "+", side
		}
		hours, _ := strconv.Atoi(found[2])
		apart := humanize.Count(hours, "hour")
		l.Warnf(n, fmt.Sprintf("such a sign is turned: Etc/GMT%s%s is %s %s UTC", turned, found[2], apart, other),
			"%s %s is %s %s UTC", l.Key, name, apart, side)
	}
	l.zones[name] = zone
	return zone, true
}

// utcOffset matches a zone that is written as whole hours from UTC.
var utcOffset = humanize.Pattern(`(?i)^(?:utc|gmt)?([+-])0?(\d{1,2})(?::?00)?$`)

// signedZone matches the zones whose sign people take for the one of ISO 8601.
var signedZone = humanize.Pattern(`^Etc/GMT([+-])([1-9]\d?)$`)

// zoneHint proposes the place that has a zone, the zone of a city, or a zone that differs from the
// name in its case, in spaces or in one letter.
func zoneHint(name string) string {
	if strings.EqualFold(name, "local") {
		return "leave the key out for the zone of the machine"
	}
	if found := utcOffset().FindStringSubmatch(name); found != nil {
		sign := map[string]string{"+": "-", "-": "+"}[found[1]] // as POSIX has it
		return fmt.Sprintf(`write the zone of a place, as "Europe/Berlin"; the same offset all year is "Etc/GMT%s%s"`,
			sign, found[2])
	}
	if place := placeOfZone(name); place != "" {
		return "write " + place
	}
	capitalized := capitalizedZone(name)
	candidates := []string{capitalized, strings.ToUpper(name)}
	if !strings.Contains(name, "/") {
		regions := []string{"Europe", "America", "Asia", "Africa", "Australia", "Pacific", "Atlantic", "Indian"}
		for _, region := range regions {
			candidates = append(candidates, region+"/"+capitalized)
		}
	}
	for _, zone := range candidates {
		if _, err := time.LoadLocation(zone); err == nil && zone != "" && zone != name {
			return yamldoc.DidYouMean(zone)
		}
	}
	if near := nearestZone(name); near != "" {
		return yamldoc.DidYouMean(near)
	}
	return `time zones are called as in "Europe/Berlin", "America/New_York" or "UTC"`
}

// nearestZone returns the zone of this machine that differs from the name in one letter; "" if
// there is no such zone, or no list of zones (tzdata.zi, zic(8)). With four letters or fewer, one
// letter makes another zone.
func nearestZone(name string) string {
	text, _ := os.ReadFile("/usr/share/zoneinfo/tzdata.zi")
	byName := map[string]string{} // in lower case, as Nearest compares
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		switch {
		case len(words) > 1 && words[0] == "Z":
			byName[strings.ToLower(words[1])] = words[1]
		case len(words) > 2 && words[0] == "L":
			byName[strings.ToLower(words[2])] = words[2]
		}
	}
	near := humanize.Nearest(strings.ReplaceAll(name, "-", "_"), slices.Sorted(maps.Keys(byName)))
	if len(name) <= 4 || humanize.Distance(strings.ToLower(name), near, 2) > 1 {
		return ""
	}
	return byName[near]
}

// capitalizedZone writes "america/new york" as America/New_York.
func capitalizedZone(name string) string {
	zone := []byte(strings.ReplaceAll(strings.ToLower(name), " ", "_"))
	for i := range zone {
		if i == 0 || zone[i-1] == '/' || zone[i-1] == '_' {
			zone[i] = byte(unicode.ToUpper(rune(zone[i])))
		}
	}
	return string(zone)
}

// The bounds of spread. A spread of less than two minutes would leave one minute to choose from.
const (
	minSpread = 2 * time.Minute
	maxSpread = 24 * time.Hour
)

// showMoment shows a time on the wall clock of the zone, as a date if it is a midnight.
func showMoment(at time.Time, zone *time.Location) any {
	if at.IsZero() {
		return nil
	}
	return schedule.MomentText(at, zone)
}
