package schedule

import (
	"slices"
	"time"

	"gopkg.in/yaml.v3"

	"sched/schedule/cron"
)

// taskWord reports whether the word is a key of tasks. (A variable, since taskKeys itself asks.)
var taskWord func(string) bool

func init() {
	taskWord = func(word string) bool {
		for _, key := range taskKeys.list {
			if key.name == word && key.in&inTask != 0 {
				return true
			}
		}
		return false
	}
}

// defaults returns what a task is that says nothing, with the defaults of the file. n may be nil.
func (l *loader) defaults(n *yaml.Node) *entry {
	base := &entry{
		Task: Task{
			When:         cron.When{Location: l.schedule.Location},
			Enabled:      true,
			Folder:       l.dir,
			Dir:          l.dir,
			Env:          l.env,
			KillAfter:    10 * time.Second,
			MissedWithin: 12 * time.Hour,
			Retry:        Retry{Attempts: 1, Backoff: 1},
			SuccessCodes: []int{0},
		},
		shell: []string{"/bin/sh", "-c"},
	}
	if n != nil && l.isMapping(n, "defaults") {
		l.part = "defaults: "
		taskKeys.decode(l, base, n, inDefaults)
		l.part = ""
	}
	return base
}

// entries reads a list of tasks and groups, each with what base says as its defaults. n may be nil.
func (l *loader) entries(n *yaml.Node, base *entry) {
	if n == nil {
		return
	}
	l.key = "tasks"
	fine := l.isList(n, "begin each task with `- name: NAME`")
	l.key = ""
	if !fine {
		return
	}
	for _, item := range n.Content {
		switch {
		case isNull(item):
			l.bad(item, "remove the `-`", "an empty entry")
		case item.Kind != yaml.MappingNode:
			l.bad(item, "a task has at least a name, a command, and cron or every", "a task must be a mapping of keys and values, not %s", found(item))
		case has(item, "tasks") || has(item, "group") && !has(item, "name") && !has(item, "command"):
			l.oneGroup(item, base)
		default:
			l.oneTask(item, base)
		}
	}
}

// oneTask adds the task to the schedule.
func (l *loader) oneTask(n *yaml.Node, base *entry) {
	e := new(entry)
	*e = *base
	e.isGroup = false
	e.Place = l.place(n)
	part := l.part
	l.part = ""
	if name := value(n, "name"); name != nil && name.Kind == yaml.ScalarNode && !isNull(name) {
		l.task = shorten(name.Value)
	}
	l.meant = l.meant[:0]
	taskKeys.decode(l, e, n, inTask)
	if !l.hasOrMeant(n, "name") {
		l.bad(n, "add `name:`; it is how commands and messages call the task", "a task without a name")
	}
	if !e.hasCommand && !l.hasOrMeant(n, "command") {
		l.bad(n, "add `command:`", "the task has no command")
	}
	l.when(e, e.Name)
	if !e.timing.given() && !l.hasOrMeant(n, "cron") && !l.hasOrMeant(n, "every") {
		l.bad(n, "add `cron:` or `every:`", "the task has no time: neither cron nor every is given")
	}
	if within := value(n, "missed_within"); within != nil && !e.RunMissed {
		l.bad(within, "add `missed: once`, or remove it", "missed_within is for tasks with missed: once")
	}
	if e.Command.Line != "" {
		e.Command.Shell = e.shell
	}
	if e.Mutex == "" {
		e.Mutex = e.Name
	}
	if e.Hooks.notifies() {
		e.Sender = Sender{l.schedule.Name, l.file, e.When.Location.String()}
	}
	l.warnOfLongRetry(n, e)
	l.task, l.part = "", part
	l.schedule.Tasks = append(l.schedule.Tasks, &e.Task)
}

// warnOfLongRetry warns of a tick that would wait with its task.
func (l *loader) warnOfLongRetry(n *yaml.Node, e *entry) {
	if longest := e.Retry.Longest(); longest > time.Minute && !e.Background {
		if own := value(n, "retry"); own != nil {
			n = own
		}
		l.warn(n, "with `background: true` a later tick goes on with it", "a foreground task waits up to %s for its next attempt, and its tick with it", longest)
	}
}

// oneGroup adds the tasks of the group to the schedule.
func (l *loader) oneGroup(n *yaml.Node, base *entry) {
	e := *base
	e.isGroup, e.group, e.tasks = true, "", nil
	part := l.part
	l.part = "group: "
	if name := value(n, "group"); name != nil && name.Kind == yaml.ScalarNode && name.Value != "" {
		l.part = "group " + quote(name.Value) + ": "
	}
	taskKeys.decode(l, &e, n, inGroup)
	l.when(&e, e.group)
	if !has(n, "group") {
		l.bad(n, "add `group: NAME`, or remove `tasks:` if this is a task", "a group without a name")
	}
	if e.tasks == nil {
		l.bad(n, "add `tasks:`, or call it `name:` if this is a task", "the group has no tasks")
	}
	l.entries(e.tasks, &e)
	l.part = part
}

// unique notes the name of a task, and a problem when another one has it.
func (l *loader) unique(n *yaml.Node, name string) {
	if first, ok := l.names[name]; ok {
		l.bad(n, "names are unique in the whole schedule, groups and includes too", "the name is already taken at %s", first)
		return
	}
	l.names[name] = l.place(n)
}

// hasOrMeant reports whether the task has the key, or has it misspelt: that was told already.
func (l *loader) hasOrMeant(n *yaml.Node, key string) bool {
	return has(n, key) || slices.Contains(l.meant, key)
}

func has(n *yaml.Node, key string) bool { return value(n, key) != nil }

// value returns the value of the key in the mapping, or nil.
func value(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k := n.Content[i]; k.Kind == yaml.ScalarNode && k.Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}
