package load_test

import (
	"fmt"
	"math/rand/v2"

	"sched/schedule/load"
	"sched/schedule/yamldoc"
)

// A generator makes up schedules: of the examples of the keys, and with some mistakes.
type generator struct {
	*rand.Rand
	mistakes int // how many are still to be made
}

// anything holds values for places in which they may be wrong.
var anything = []any{
	nil, true, false, 0, 1, 7, 255, 256, -1, 1.5, "", " ", "x", "none", "true", "0", "12", "90s", "1d12h", "5", "-5s",
	"1h 30m", "1.5h", "+3m", ".5d", "0s",
	"08:00", "24:00", "8:0", "2026-12-25 x", "12-25", "9x", "~/x", "~", "a:b", "a/b", "-a", "a b", "a=b", "027", "0o27",
	"0o", "888", "Mon", "SUNDAYS", "8",
	"* * * * *", "@daily", "* * *", "2 per 1h", "0 per 1h", "101 per 1h", "007 per 1d", "1 per", "start", "changed",
	"slack", "skip", "run", "once", "stop", "wait",
	"holidays", "${HOME}", "${EMPTY}", "${file:x}", "$x",
	[]any{}, []any{nil}, []any{true}, []any{"a"}, []any{"a", ""}, []any{""}, []any{1, "x"}, []any{[]any{}},
	[]any{"8:00", "24:00"}, []any{"24:00", "8:00"},
	[]any{[]any{"8:00", "9:00"}}, []any{[]any{"8:00"}}, []any{"8:00", "9:00", "10:00"},
	[]any{[]any{"8:00", "9:00"}, "x"}, []any{map[string]any{}},
	map[string]any{}, map[string]any{"a": nil}, map[string]any{"a": 1}, map[string]any{"": "x"},
	map[string]any{"a=b": "x"}, map[string]any{"run": "x"},
	map[string]any{"run": []any{"x"}, "on": "start"}, map[string]any{"ping": "x", "mail": "y"},
	map[string]any{"ping": "x", "on": []any{"start"}},
	map[string]any{"ping": "x", "on": "start", "when": "changed"}, map[string]any{"ping": "x", "at_most": "1 per 1h"},
	map[string]any{"file": "x"},
	map[string]any{"webhook": "x", "format": "slack", "when": "output"}, map[string]any{"mail": []any{}},
	map[string]any{"append": true},
	map[string]any{"run": "x", "when": "changed"}, map[string]any{"mail": "x", "format": "slack"},
	map[string]any{"attempts": 2},
}

// schedule is the top of a file.
func (g *generator) schedule() map[string]any {
	top := g.mapping(load.Top, 0.15)
	top["tasks"] = g.entries(0)
	if g.Float64() < 0.8 {
		top["pools"] = map[string]any{"database": 2}
	}
	if g.Float64() < 0.8 {
		top["calendars"] = map[string]any{"de": "12-25", "bank": map[string]any{"holidays": []any{}}}
	}
	if g.wrong(0.05) {
		top["tasks"] = g.any()
	}
	if g.Float64() < 0.1 {
		top["x-"+g.word()] = g.any()
	}
	return top
}

// entries is a list of tasks and groups.
func (g *generator) entries(depth int) []any {
	list := []any{}
	for range 1 + g.IntN(3) {
		switch {
		case g.wrong(0.02):
			list = append(list, g.any())
		case depth < 2 && g.Float64() < 0.2:
			group := g.mapping(load.InGroup, 0.08)
			group["group"], group["tasks"] = g.word(), g.entries(depth+1)
			list = append(list, g.without(group))
		default:
			list = append(list, g.without(g.task()))
		}
	}
	return list
}

// task has what a task needs.
func (g *generator) task() map[string]any {
	task := g.mapping(load.InTask, 0.12)
	task["name"], task["command"] = g.word(), "x"
	delete(task, "group")
	delete(task, "tasks")
	delete(task, "cron")
	task["every"] = []any{"minute", "day at 3:00", "5 minutes"}[g.IntN(3)]
	if _, several := task["schedule"]; several {
		delete(task, "every")
	} else if g.Float64() < 0.3 {
		delete(task, "every")
		task["cron"] = []any{"*/5 * * * *", "@daily", []any{"0 3 * * *", "0 0 4 * * 1"}}[g.IntN(3)]
	}
	if _, within := task["missed_within"]; within {
		task["missed"] = "once"
	}
	if g.Float64() < 0.8 {
		delete(task, "prefer") // which asks for a store, too
	}
	if _, most := task["missed_at_most"]; most {
		task["missed"] = "all"
	}
	if _, waits := task["wait_at_most"]; waits {
		task["without_overlapping"], task["background"] = "wait", true
	}
	if _, overdue := task["on_overdue"]; overdue {
		task["expect"] = map[string]any{"every": "26h"}
	}
	return task
}

// mapping takes some of the keys that the mapping may have, each with its example, or with a
// mistake.
func (g *generator) mapping(of load.Mapping, some float64) map[string]any {
	m := map[string]any{}
	for _, key := range load.Keys(of) {
		if g.Float64() >= some {
			continue
		}
		m[key.Name] = g.value(of, key)
	}
	_, lease := m["lease"]
	_, store := m["store"]
	if lease || store {
		m["name"], m["store"] = "shop", "redis://localhost"
	}
	delete(m, "include")
	if _, ok := m["defaults"]; ok {
		m["defaults"] = g.mapping(load.Defaults, 0.1)
	}
	if _, ok := m["except"]; ok && of != load.Top {
		m["except"] = []any{}
	}
	if g.wrong(0.05) {
		m[g.word()] = g.any()
	}
	return m
}

func (g *generator) value(of load.Mapping, key yamldoc.Entry) any {
	if g.wrong(0.15) {
		return g.any()
	}
	nested := map[string]load.Mapping{"history": load.InHistory, "retry": load.InRetry, "expect": load.InExpect,
		"limits": load.InLimits, "output": load.InOutput, "mail": load.InMail}
	if inner, ok := nested[key.Name]; ok && key.Type.Of == string(inner) && g.Float64() < 0.5 {
		return g.without(g.mapping(inner, 0.8))
	}
	if words := key.Type.Words; len(words) > 0 && key.Type.Of == "" {
		return words[g.IntN(len(words))]
	}
	value, err := yamldoc.DecodePlain(key.Type.Example)
	if err != nil {
		panic(err)
	}
	return value
}

// wrong says whether to make one of the mistakes here.
func (g *generator) wrong(chance float64) bool {
	if g.mistakes == 0 || g.Float64() >= chance {
		return false
	}
	g.mistakes--
	return true
}

// without leaves a key out, as a mistake.
func (g *generator) without(m map[string]any) map[string]any {
	if g.wrong(0.1) {
		for key := range m {
			delete(m, key)
			break
		}
	}
	return m
}

func (g *generator) any() any { return anything[g.IntN(len(anything))] }

func (g *generator) word() string { return fmt.Sprintf("t%d", g.IntN(1<<30)) }
