package dialect

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"sched/schedule/cron"
	"sched/schedule/humanize"
)

// macros of most programs; the second text of a pair is what the first stands for.
func macros(more ...string) map[string]string {
	all := map[string]string{
		"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
		"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
	}
	for i := 0; i < len(more); i += 2 {
		all[more[i]] = more[i+1]
	}
	return all
}

var (
	fiveFields  = []string{"mhdMw"}
	withSeconds = []string{"mhdMw", "smhdMw"}
	toSeven     = [2]int{0, 7}
	toSix       = [2]int{0, 6}
	once        = clockRule{overlap: firstPass}
	later       = clockRule{gap: afterGap, overlap: firstPass}
	inSecond    = clockRule{overlap: secondPass, byWall: true}
	byGo        = clockRule{gap: goGap, overlap: goPass, byWall: true} // a wall time by time.Date
)

// programs are all dialects, those with many readers first.
var programs = sync.OnceValue(func() []*Dialect {
	return []*Dialect{
		{"vixie", "Debian's cron 3.0pl1", "Ubuntu, Raspberry Pi OS", "debian cron crontab", rules{
			layouts: fiveFields, macros: macros("@reboot", atStart), exact: true, weekdays: toSeven, steps: anyStep,
			backward: emptyBackward, loose: true, either: true, free: freeBegin, fixed: schedFixed, stars: schedStars,
		}},
		{"cronie", "cronie 1.6.1", "Fedora, RHEL, Arch", "", rules{
			layouts: fiveFields, macros: macros("@reboot", atStart), exact: true, weekdays: toSeven, steps: anyStep,
			looseStar: true, either: true, free: freeBegin, fixed: schedFixed, stars: schedStars,
		}},
		{"busybox", "busybox 1.35.0", "Alpine, OpenWrt", "alpine", rules{
			layouts: fiveFields, macros: macros("@reboot", atStart), exact: true, weekdays: toSix, dayZero: true,
			steps: anyStep, lone: onlyValue, backward: wrapBackward, either: true, free: freeFull,
		}},
		{"supercronic", "supercronic 0.2.48", "containers", "", rules{
			layouts: []string{"mhdMw", "mhdMwy", "smhdMwy"}, macros: macros("@midnight", "no"), exact: true,
			steps: upToLast, digits: 2, weekdays: toSeven, zeroAtOnce: true, naming: alsoWhole,
			question: "smhdMwy", forms: "L LW 15W 5L 5#2", lone: toEnd, empty: true, either: true, free: freePart,
			fixed: byGo, stars: byGo,
		}},
		{"robfig", "robfig/cron 3.0.1", "Kubernetes", "kubernetes k8s", rules{
			layouts: fiveFields, macros: macros(), exact: true, every: true, zones: []string{"CRON_TZ=", "TZ="},
			weekdays: toSix, question: "mhdMw", lone: toEnd, steps: anyStep, empty: true, either: true,
			free: freeByOne, years: 5, signs: true, bySteps: true, starRange: true,
		}},
		{"github-actions", "GitHub Actions", "", "github", rules{
			layouts: fiveFields, weekdays: toSix, inUTC: true, lone: toEnd, either: true, free: freeBegin,
			fixed: schedFixed, stars: once,
		}},
		{"quartz", "Quartz 2.3.2", "", "", rules{
			layouts: []string{"smhdMw", "smhdMwy"}, weekdays: [2]int{1, 7}, sunday: 1, question: "dw",
			oneQuestion: true, forms: "L L-3 LW L-3W 15W 5L 5#2", saturday: true,
			backward: wrapBackward, lone: toEnd, empty: true,
			fixed: inSecond, stars: inSecond,
		}},
		{"spring", "Spring 7.0.9", "@Scheduled", "", rules{
			layouts: []string{"smhdMw"}, macros: macros(), weekdays: toSeven, sundayEnds: true, question: "dw",
			forms: "L L-3 LW 15W 5L 5#2", lone: toEnd, steps: anyStep, starMonday: true,
		}},
		{"spring4", "Spring 4.3.30", "@Scheduled until 5.2", "", rules{
			layouts: []string{"smhdMw"}, weekdays: toSeven, question: "dw", lone: toEnd, steps: anyStep, dayZero: true,
			fixed: inSecond, stars: inSecond,
		}},
		{"eventbridge", "AWS EventBridge Scheduler", "", "aws", rules{
			layouts: []string{"mhdMwy"}, read: readEventBridge, every: true, weekdays: [2]int{1, 7}, sunday: 1,
			inUTC: true, question: "dw", oneQuestion: true, forms: "L LW 15W 5L 5#2", saturday: true, lone: toEnd,
			fixed: once, stars: once,
		}},
		{"systemd", "systemd 252", "OnCalendar=", "oncalendar", rules{calendar: true}},
		{"systemd-cron", "systemd-cron 1.15.19", "", "", rules{calendar: true, read: readSystemdCron}},
		{"mcron", "mcron 1.0.8", "", "", rules{
			layouts: fiveFields, read: readMcron, weekdays: toSeven, naming: noNames, steps: anyStep,
			backward: emptyBackward, empty: true, either: true,
		}},
		{"jenkins", "Jenkins 2", "", "", rules{
			layouts: fiveFields, macros: jenkinsMacros(), exact: true, hash: true, weekdays: toSeven, naming: noNames,
			steps: anyStep, fixed: later, stars: later,
		}},
		{"laravel", "PHP cron-expression 3.3.1", "Laravel", "php", rules{
			layouts: fiveFields, macros: macros(), weekdays: toSeven, question: "dw", forms: "L 15W 5L 5#2",
			sunSeven: true, formsAlone: true, signs: true, steps: wrapStep, backward: emptyBackward, either: true,
			fixed: clockRule{gap: afterGap},
		}},
		{"croner", "croner 11.0.1", "", "", rules{
			layouts: []string{"mhdMw", "smhdMw", "smhdMwy"}, macros: macros("@reboot", ""), weekdays: toSeven,
			question: "smhdMwy", forms: "L LW 15W 5L 5#2 5#L", plus: true, steps: upToSize, either: true,
			sundayEnds: true, sundayName: true, singles: true, fixed: schedFixed,
		}},
		{"node-cron", "node-cron 4.6.0", "", "node", rules{
			layouts: withSeconds, macros: macros(), weekdays: toSeven, naming: alsoWhole, question: "dw",
			forms: "L L-3 LW 15W 5L 5#2", steps: anyStep, backward: wrapBackward, realDates: true,
			fixed: clockRule{overlap: goPass, byWall: true}, stars: clockRule{overlap: goPass, byWall: true},
		}},
		{"apscheduler", "APScheduler 3.9.1", "", "", rules{
			layouts: fiveFields, weekdays: toSix, sunday: -1, lone: toEnd, steps: inRange, looseNames: true,
			aliases: []string{"last", "L"}, forms: "L", byFields: true,
		}},
		{"pg_cron", "pg_cron 1.4.2", "", "", rules{
			layouts: fiveFields, macros: macros("@reboot", atStart, "@restart", atStart), exact: true,
			onlyUTC: true, extra: true,
			weekdays: toSeven, steps: anyStep, backward: emptyBackward, loose: true, either: true, free: freeBegin,
		}},
		{"fugit", "fugit 1.5.2", "sidekiq-cron, GoodJob, GitLab", "gitlab sidekiq-cron goodjob", rules{
			layouts: withSeconds, macros: macros("@noon", "0 12 * * *", "@reboot", ""), exact: true,
			zoneLast: true, digits: 2, weekdays: toSeven, lone: toEndOfMore, steps: anyStep, backward: wrapBackward,
			bySteps: true, aligned: true, years: 5, bareStep: true, hour24: true, wholeWeekday: true, realDates: true,
			forms: "L 5#2 5#L", aliases: []string{"last", "L", "l", "L", "-1", "L"}, either: true, free: freeByOne,
		}},
		{"sched", "sched", "", "", ourRules()},
	}
})

// jenkinsMacros have H, which stands for a number of the job.
func jenkinsMacros() map[string]string {
	return map[string]string{
		"@yearly": "H H H H *", "@annually": "H H H H *", "@monthly": "H H H * *", "@weekly": "H H * * H",
		"@daily": "H H * * *", "@midnight": "H H(0-2) * * *", "@hourly": "H * * * *",
	}
}

// readEventBridge takes cron(…) and rate(…) off.
func readEventBridge(text string) (string, error) {
	if inner, found := strings.CutPrefix(text, "cron("); found && strings.HasSuffix(inner, ")") {
		inner = strings.TrimSpace(strings.TrimSuffix(inner, ")"))
		if strings.HasPrefix(inner, "@") {
			return "", fmt.Errorf("it knows no macros such as %s", inner)
		}
		return inner, nil
	}
	inner, found := strings.CutPrefix(text, "rate(")
	switch {
	case strings.HasPrefix(text, "at("):
		return "", errors.New("at(…) is one time, and no schedule")
	case !found || !strings.HasSuffix(inner, ")"):
		return "", errors.New("it must be cron(…), rate(…) or at(…)")
	}
	inner = strings.TrimSuffix(inner, ")")
	words := strings.Fields(inner)
	if len(words) != 2 {
		return "", fmt.Errorf("%q is no rate", inner)
	}
	n, isNumber := humanize.Digits(words[0])
	if !isNumber || n < 1 || n > 1e6 {
		return "", fmt.Errorf("%q is no rate", inner)
	}
	minutes, ok := map[string]int{"minute": 1, "hour": 60, "day": 24 * 60}[strings.TrimSuffix(words[1], "s")]
	if !ok {
		return "", fmt.Errorf("%q is no unit of a rate", words[1])
	}
	return fmt.Sprintf("@every %dm", n*minutes), nil
}

// ourRules are the rules of sched, with its refusals and their hints.
func ourRules() rules {
	r := schedRules
	r.read = func(text string) (string, error) {
		if text == cron.AtBoot {
			return "", errAtStart
		}
		c, err := cron.Parse(text, "")
		return c.String(), err
	}
	return r
}

// All returns the dialects.
func All() []*Dialect { return slices.Clone(programs()) }

// Find returns the dialect with a name, in any case. Some have several names.
func Find(name string) (*Dialect, bool) {
	name = strings.ToLower(name)
	i := slices.IndexFunc(programs(), func(d *Dialect) bool {
		return d.Name == name || slices.Contains(strings.Fields(d.otherNames), name)
	})
	if i < 0 {
		return nil, false
	}
	return programs()[i], true
}

// ReadLine returns what a line means to sched, without its dates, in a zone. It returns an error if
// the line has no cron expression.
func ReadLine(l Line, zone *time.Location) (*Reading, error) {
	ours, _ := Find("sched")
	expression := l.Cron
	if before, plain := strings.CutSuffix(expression, " *"); l.Days != nil && plain {
		expression = before + " +" + strings.ToUpper(strings.Join(l.Days, ",")) // both days must match
	} else if l.Days != nil {
		return nil, fmt.Errorf("%q has weekdays of its own", expression)
	}
	return ours.Parse(expression, zone)
}
