package dialect

import (
	"sched/schedule/cron"
	"slices"
	"strings"
	"sync"
)

var (
	// Macros of several programs.
	vixieMacros = map[string]string{
		"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
		"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *", "@reboot": "",
	}
	fewMacros = map[string]string{
		"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
		"@daily": "0 0 * * *", "@hourly": "0 * * * *",
	}
	plainMacros = map[string]string{
		"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
		"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
	}
)

var vixie = rules{
	layouts: []string{"mhdMw"}, macros: vixieMacros, exact: true, weekdays: [2]int{0, 7}, steps: anyStep,
	backward: emptyBackward, loose: true, either: true, free: freeBegin, fixed: schedFixed, stars: schedStars,
}

// programs are all dialects.
var programs = sync.OnceValue(func() []*Dialect {
	return []*Dialect{
		{Name: "vixie", Program: "Debian's cron 3.0pl1", Users: "Ubuntu, Raspberry Pi OS", rules: vixie},
		{Name: "robfig", Program: "robfig/cron 3.0.1", Users: "Kubernetes", rules: rules{
			layouts: []string{"mhdMw"}, macros: plainMacros, exact: true, every: true,
			zones:    []string{"CRON_TZ=", "TZ="},
			weekdays: [2]int{0, 6}, question: "mhdMw", lone: toEnd, steps: anyStep, empty: true, either: true,
			free: freeByOne, years: 5, signs: true, bySteps: true, starRange: true,
		}},
		{Name: "supercronic", Program: "supercronic 0.2.48", rules: rules{
			layouts: []string{"mhdMw", "mhdMwy", "smhdMwy"}, macros: fewMacros, exact: true, steps: upToLast, digits: 2,
			weekdays:   [2]int{0, 7},
			zeroAtOnce: true, naming: alsoWhole, question: "smhdMwy", forms: "L LW 15W 5L 5#2", lone: toEnd, empty: true,
			either: true, free: freePart, fixed: byGo, stars: byGo,
		}},
		{Name: "quartz", Program: "Quartz 2.3.2", rules: rules{
			layouts: []string{"smhdMw", "smhdMwy"}, weekdays: [2]int{1, 7}, sunday: 1, question: "dw",
			needs: oneQuestion,
			forms: "L L-3 LW L-3W 15W 5L 5#2", sundays: []string{"L"}, backward: wrapBackward, lone: toEnd,
			fixed: clockRule{overlap: secondPass}, stars: clockRule{overlap: secondPass},
		}},
		{Name: "sched", Program: "sched", rules: ourRules()},
	}
})

// byGo is the rule of programs that make an instant of a wall time with time.Date.
var byGo = clockRule{gap: goGap, overlap: goPass, byWall: true}

// otherNames are other names of dialects.
var otherNames = map[string]string{
	"debian": "vixie", "cron": "vixie", "kubernetes": "robfig", "k8s": "robfig", "crontab": "vixie",
}

// All returns the dialects.
func All() []*Dialect { return slices.Clone(programs()) }

// Find returns the dialect with a name, in any case. Some have several names.
func Find(name string) (*Dialect, bool) {
	name = strings.ToLower(name)
	if other, ok := otherNames[name]; ok {
		name = other
	}
	i := slices.IndexFunc(programs(), func(d *Dialect) bool { return d.Name == name })
	if i < 0 {
		return nil, false
	}
	return programs()[i], true
}

// ourRules are the rules of sched, with its refusals and their hints.
func ourRules() rules {
	r := schedRules
	r.read = func(text string) (string, error) {
		c, err := cron.Parse(text, "")
		return c.String(), err
	}
	return r
}
