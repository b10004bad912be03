package view

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/notify"
)

// A Definition is a task and how it is defined. It has no values of the environment. Of a
// notification's target it has only the kind and the address, without secrets.
type Definition struct {
	Task
	Tags              []string `json:"tags"`
	File              string   `json:"file"` // the file that defines it, relative to the schedule
	Line              int      `json:"line"`
	Mutex             string   `json:"mutex"`
	Conditions        string   `json:"conditions"` // the conditions of time, in words
	Asks              []string `json:"asks"`       // the commands that are asked whether it may run
	Dir               string   `json:"dir"`
	User              string   `json:"user"`
	Environment       []string `json:"environment"` // the names of the variables, without their values
	EnvFiles          []string `json:"env_files"`
	Timeout           *float64 `json:"timeout"`    // seconds; null for none
	KillAfter         float64  `json:"kill_after"` // seconds
	Attempts          int      `json:"attempts"`
	SuccessCodes      []int    `json:"success_codes"`
	WarnCodes         []int    `json:"warn_codes"`
	Limits            Limits   `json:"limits"`
	StartDeadline     *float64 `json:"start_deadline"` // seconds; null for none
	RunMissed         bool     `json:"run_missed"`
	MissedAtMost      *int     `json:"missed_at_most"` // null unless all missed slots run
	EvenInMaintenance bool     `json:"even_in_maintenance"`
	EvenWhenPaused    bool     `json:"even_when_paused"`
	Hooks             []Hook   `json:"hooks"`
	Usual             *float64 `json:"usual"` // seconds that a run usually takes; null while that is not known
}

// Limits are how much the command of a run may use. A field that is 0 sets no limit.
type Limits struct {
	Memory int64 `json:"memory"` // bytes
	CPU    int   `json:"cpu"`    // percent of one processor
	Files  int   `json:"files"`
}

// A Hook is what a task does around its command.
type Hook struct {
	Key  string `json:"key"`  // before, after, on_failure, …
	Does string `json:"does"` // the command, or who is told
}

// DefinitionOf returns how a task is defined.
func DefinitionOf(t *schedule.Task, shown Task, usual time.Duration) Definition {
	out := Definition{
		Task:              shown,
		Tags:              listOf(t.Tags),
		File:              t.Place.File,
		Line:              t.Place.Line,
		Mutex:             t.Mutex,
		Conditions:        conditionsText(t),
		Asks:              conditionTexts(t),
		Dir:               t.Dir,
		User:              t.As.User,
		Environment:       listOf(slices.Sorted(maps.Keys(t.Env))),
		EnvFiles:          []string{},
		Timeout:           orNil(t.Timeout.Seconds()),
		KillAfter:         t.KillAfter.Seconds(),
		Attempts:          t.Retry.Attempts,
		SuccessCodes:      listOf(t.SuccessCodes),
		WarnCodes:         listOf(t.WarnCodes),
		Limits:            Limits(t.Limits),
		StartDeadline:     orNil(t.StartDeadline.Seconds()),
		RunMissed:         t.RunMissed,
		EvenInMaintenance: t.EvenInMaintenance,
		EvenWhenPaused:    t.EvenWhenPaused,
		Hooks:             []Hook{},
		Usual:             orNil(usual.Seconds()),
	}
	if t.RunAllMissed {
		out.MissedAtMost = &t.MaxMissed
	}
	for _, file := range t.EnvFiles {
		out.EnvFiles = append(out.EnvFiles, filepath.Base(file))
	}
	for key, hook := range t.Hooks.All() {
		does := hookText(hook)
		if hook.After > 1 {
			does += fmt.Sprintf(", after %d in a row", hook.After)
		}
		if hook.Notify != nil {
			does += boundText(*hook.Notify)
		}
		out.Hooks = append(out.Hooks, Hook{key, does})
	}
	return out
}

// boundText says what keeps a notification from being sent with each run: ", when changed, at most
// 1 per 1h"; "" if nothing does.
func boundText(n schedule.Notification) (text string) {
	if n.When != "" {
		text = ", when " + string(n.When)
	}
	if n.AtMost.N > 0 {
		text += fmt.Sprintf(", at most %d per %s", n.AtMost.N, humanize.Setting(n.AtMost.Per))
	}
	return text
}

// hookText is a hook without secrets.
func hookText(h schedule.Hook) string {
	switch {
	case h.Trigger != "":
		return "trigger " + h.Trigger
	case h.Notify == nil:
		return CommandText(h.Run)
	}
	return notify.Target(*h.Notify).String()
}

// Place is the file and the line that define a task: schedule.yaml:14.
func Place(t *schedule.Task) string { return t.Place.File + ":" + strconv.Itoa(t.Place.Line) }

// ConditionCommands says which conditions of a task are commands; "" if no condition is. Only the
// task's tick will have their answers.
func ConditionCommands(t *schedule.Task) string {
	if len(t.ConditionCommands) == 0 {
		return ""
	}
	var keys []string
	for _, c := range t.ConditionCommands {
		keys = append(keys, c.Key)
	}
	return strings.Join(keys, " and ") + " will be asked first"
}

func conditionTexts(t *schedule.Task) []string {
	texts := []string{}
	for _, c := range t.ConditionCommands {
		texts = append(texts, c.Key+": "+CommandText(c.Command))
	}
	return texts
}

// TriggeredBy says after which tasks another one is started: "after extract", "after extract, load
// or clean".
func TriggeredBy(by []Chained) string {
	var names []string
	for _, c := range by {
		if !slices.Contains(names, c.Task) {
			names = append(names, c.Task)
		}
	}
	return "after " + humanize.Or(names)
}
