package load

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/cron"
	"sched/schedule/placement"
	"sched/schedule/yamldoc"
)

// defaultLimit is how many bytes of an output are kept if the file does not say it.
const defaultLimit = 64 << 20

// readDefaults returns the draft of a task that sets nothing: it has only the defaults of the file.
// n may be nil.
func readDefaults(l *loader, n *node, env map[string]string) *taskDraft {
	base := &taskDraft{
		Task: schedule.Task{
			When:         cron.When{Location: l.schedule.Location},
			Enabled:      true,
			Folder:       l.folder,
			Dir:          l.folder,
			Env:          env,
			KillAfter:    10 * time.Second,
			MissedWithin: 12 * time.Hour,
			MaxMissed:    100,
			Retry:        schedule.Retry{Attempts: 1, Backoff: 1},
			SuccessCodes: []int{0},
			Output:       schedule.Output{Limit: defaultLimit},
			Origins:      l.Origins,
		},
		shell: []string{"/bin/sh", "-c"},
	}
	bare := *base
	l.bare = &bare
	if n != nil && l.RequireMapping(n, "defaults", "write keys of tasks, as in {timeout: 1h}") {
		l.Section = "defaults: "
		recordOrigins(l, base)
		taskKeys.Decode(l, base, n, defaultsScope)
		l.Section, l.chains.hasDefaultTime = "", n.Has("cron") || n.Has("every") || n.Has("schedule")
	}
	return base
}

// readEntries reads a list of tasks and groups, which all inherit from base. n may be nil.
func readEntries(l *loader, n *node, base *taskDraft) {
	if n == nil {
		return
	}
	l.Key = "tasks"
	isList := l.RequireList(n, "begin each task with `- name: NAME`")
	l.Key = ""
	if !isList {
		return
	}
	items := n.Items()
	l.schedule.Tasks = slices.Grow(l.schedule.Tasks, len(items))
	if len(l.names) == 0 {
		l.names = make(map[string]yamldoc.Place, len(items))
	}
	for _, item := range items {
		before := l.ProblemCount()
		switch {
		case item.IsNull():
			l.Problemf(item, "remove the `-`", "an empty entry")
			l.addWrong(before, nil)
		case !item.IsMapping():
			l.Problemf(item, "a task has at least a name, a command, and cron or every",
				"a task must be a mapping of keys and values, not %s", item.Describe())
			l.addWrong(before, nil)
		case item.Has("tasks") || item.Has("group") && !item.Has("name") && !item.Has("command"):
			readGroup(l, item, base)
		default:
			readTask(l, item, base)
		}
	}
}

// readTask reads the keys of a task, and then looks at several keys together.
func readTask(l *loader, n *node, base *taskDraft) {
	t := new(taskDraft)
	*t = *base
	t.isGroup, t.ownEnv = false, nil
	t.Place = l.PlaceOf(n)
	defer enterTask(l, n, t)()
	before := l.ProblemCount()
	taskKeys.Decode(l, t, n, taskScope)
	settleTimes(l, t, t.Name)
	requireKeys(l, n, t)
	settleTask(l, n, t)
	checkTask(l, n, t)
	if own := l.lackOf(before, n); own != "" {
		t.Lacks = cmp.Or(t.Lacks, own)
		l.addWrong(before, nil)
	} else {
		l.addWrong(before, &t.Task)
	}
	if t.hasWrongGroup {
		l.wrong.tasks[&t.Task] = true
	}
	l.schedule.Tasks = append(l.schedule.Tasks, &t.Task)
}

// enterTask lets problems name the task, until the function is called that it returns. It begins to
// record the origins of the task's values.
func enterTask(l *loader, n *node, t *taskDraft) (leave func()) {
	section := l.Section
	l.chains.reading, l.Section = &t.Task, ""
	if name := n.Lookup("name"); name != nil && name.IsScalar() && !name.IsNull() {
		l.Task = yamldoc.Shorten(name.Value)
	}
	l.Misspelt = l.Misspelt[:0]
	recordOrigins(l, t)
	return func() { l.chains.reading, l.Task, l.Section = nil, "", section }
}

// readGroup reads the keys of a group, and then its entries, which inherit them.
func readGroup(l *loader, n *node, base *taskDraft) {
	t := *base
	before := l.ProblemCount()
	t.isGroup, t.group, t.ownEnv = true, "", nil
	section := l.Section
	l.Section = "group: "
	if name := n.Lookup("group"); name != nil && name.IsScalar() && name.Value != "" {
		l.Section = "group " + yamldoc.Quote(name.Value) + ": "
	}
	recordOrigins(l, &t)
	taskKeys.Decode(l, &t, n, groupScope)
	settleTimes(l, &t, t.group)
	if !n.Has("group") {
		l.Problemf(n, "add `group: NAME`, or remove `tasks:` if this is a task", "a group without a name")
	}
	if !n.Has("tasks") {
		l.Problemf(n, "add `tasks:`, or call it `name:` if this is a task", "the group has no tasks")
	}
	l.addWrong(before, nil)
	if own := l.lackOf(before, n); own != "" {
		t.Lacks = cmp.Or(t.Lacks, own)
	} else {
		t.hasWrongGroup = t.hasWrongGroup || l.ProblemCount() > before
	}
	readEntries(l, n.Lookup("tasks"), &t)
	l.Section = section
}

// settleTask sets what follows from several keys of a task together.
func settleTask(l *loader, n *node, t *taskDraft) {
	t.When.Shift = shift(l, &t.Task)
	settleCalendars(l, n, t)
	setBounds(l, n, t)
	settleWait(l, n, t)
	if t.Command.Line != "" {
		t.Command.Shell = t.shell
	}
	if t.Mutex == "" {
		t.Mutex = t.Name
	}
	if t.Hooks.NeedSchedule() || t.NeedsLocks() || t.MaxWait > 0 || t.RunAllMissed ||
		t.OTLP != "" {
		zone := t.When.Location.String()
		t.Sender = schedule.ScheduleRef{Schedule: l.schedule.Name, File: l.schedule.File, Zone: zone}
	}
	checkTimeValues(l, t)
	settleParams(l, n, t)
	setMonitors(t)
	if len(t.EnvFiles) == 0 {
		t.EnvOverrides = nil
	}
}

// checkTask refuses keys that contradict each other, and warns of keys that hardly go together.
func checkTask(l *loader, n *node, t *taskDraft) {
	checkMissed(l, n, t)
	checkStoreDown(l, n, t)
	warnOfOneServerAlone(l, n)
	checkPrefer(l, n, t)
	checkExpect(l, n, t)
	checkCodes(l, n, t)
	checkBoot(l, n, t)
	warnOfLongRetry(l, n, t)
	warnOfEarlyPause(l, n, t)
}

// recordOrigins begins to record where the draft's values come from. The records of inherited
// values stay.
func recordOrigins(l *loader, t *taskDraft) {
	if l.Origins != nil {
		t.Origins = maps.Clone(t.Origins)
		l.Origins = t.Origins
	}
}

// requireKeys refuses a task without a name, a command or a time, unless a key was misspelt.
func requireKeys(l *loader, n *node, t *taskDraft) {
	tries := func(key string) bool { return n.Has(key) || slices.Contains(l.Misspelt, key) }
	if !tries("name") {
		l.Problemf(n, "add `name:`; it is how commands and messages call the task", "a task without a name")
	}
	if !t.hasCommand && !tries("command") {
		l.Problemf(n, "add `command:`", "the task has no command")
	}
	hasTime := t.timing.isSet() || l.chains.hasDefaultTime
	if !hasTime && !tries("cron") && !tries("every") && !tries("schedule") {
		l.chains.timeless = append(l.chains.timeless, l.mentionOf(t.Name, n))
	}
}

// checkCodes refuses an exit code that is a success with and without a warning.
func checkCodes(l *loader, n *node, t *taskDraft) {
	for _, code := range t.WarnCodes {
		if slices.Contains(t.SuccessCodes, code) {
			l.Problemf(firstOf(n, "warn_codes", "success_codes"), "take it out of one of the two",
				"warn_codes contradicts success_codes: both have %d", code)
		}
	}
}

// warnOfLongRetry warns of a foreground task whose tick waits long for its next attempt.
func warnOfLongRetry(l *loader, n *node, t *taskDraft) {
	if longest := t.Retry.Longest(); longest > time.Minute && !t.Background {
		l.Warnf(firstOf(n, "retry"), "with `background: true` a later tick goes on with it",
			"a foreground task waits up to %s for its next attempt, and its tick with it", longest)
	}
}

// warnOfEarlyPause warns of a hook that counts further than the task runs.
func warnOfEarlyPause(l *loader, n *node, t *taskDraft) {
	for _, hook := range t.Hooks.OnFailure {
		if t.PauseAfter > 0 && hook.After > t.PauseAfter {
			l.Warnf(firstOf(n, "pause_after", "on_failure"), "make pause_after larger, or after smaller",
				"on_failure fires from %d failures in a row on, and pause_after pauses the task after %d: "+
					"it never fires", hook.After, t.PauseAfter)
		}
	}
}

// checkPrefer refuses prefer in a task without one_server, and preferred servers that are not among
// the task's servers.
func checkPrefer(l *loader, n *node, t *taskDraft) {
	own := n.Lookup("prefer")
	if own != nil && !own.IsFalse() && !t.OneServer {
		l.Problemf(own, "add `one_server: true`, or remove it", "prefer is for tasks with one_server")
		return
	}
	// Which servers have a label is unknown here.
	if !t.OneServer || len(t.Servers) == 0 || slices.ContainsFunc(t.Servers, placement.IsLabel) {
		return
	}
	for _, name := range t.Prefer {
		if (placement.Machine{Name: name}).IsAny(t.Servers) {
			continue
		}
		at := placeText(l, n.Lookup("servers"))
		if from, ok := t.Origins["servers"]; ok && at == "" {
			at = fmt.Sprintf(" (at %s)", from.Place)
		}
		l.Problemf(firstOf(n, "prefer", "servers"), "add it there, or prefer one of those",
			"prefer contradicts servers%s: %s is not among %s", at, yamldoc.Quote(name), strings.Join(t.Servers, ", "))
		return
	}
}
