package load

import (
	"slices"
	"strconv"
	"strings"

	"sched/schedule"
)

// A hookDraft is a hook in a mapping, while it is read.
type hookDraft struct {
	run    schedule.Command
	notify schedule.Notification
	target *node    // of trigger
	kinds  []string // the keys that say what kind of hook this is; a valid one has exactly one

	key   string // on_failure and the like
	shell []string
}

// setHooks returns the setter of a key of hooks, which come after the inherited hooks. An empty
// list, or false alone or first, takes the inherited hooks away. Hooks without a target are left
// out.
func setHooks(field func(*schedule.Hooks) *[]schedule.Hook) setter[taskDraft] {
	return func(l *loader, t *taskDraft, n *node) {
		inherited := *field(&t.Hooks)
		items := []*node{n}
		if n.IsList() {
			items = n.Items()
		}
		if len(items) == 0 || items[0].IsFalse() {
			l.Forget()
			inherited, items = nil, items[min(1, len(items)):]
		}
		hooks := slices.Clip(inherited)
		for _, item := range items {
			hook, ok := readHook(l, item, t.shell)
			if !ok || hook.Notify == nil || !hook.Notify.Empty() {
				l.traceItem(len(hooks))
				hooks = append(hooks, hook)
			}
		}
		*field(&t.Hooks) = hooks
	}
}

// traceItem records that item i of the current key was set at the key's current place. Several
// levels can add items to such a list.
func (l *loader) traceItem(i int) {
	if l.Origins != nil {
		l.Origins[l.Key+"."+strconv.Itoa(i)] = l.Origins[l.Key]
	}
}

// readHook reads a text for the shell, {run: …}, or a notification.
func readHook(l *loader, n *node, shell []string) (schedule.Hook, bool) {
	switch {
	case n.IsList():
		l.Problemf(n, "a list to be run without a shell is written {run: […]}", "a hook of %s must be text or a mapping, not a list", l.Key)
		return schedule.Hook{}, false
	case n.IsMapping():
		h := hookDraft{shell: shell, key: l.Key}
		before := l.ProblemCount()
		hookKeys.Decode(l, &h, n, 0)
		if l.ProblemCount() > before {
			return schedule.Hook{}, false
		}
		return finishHook(l, n, &h)
	}
	if !l.RefuseBool(n, "leave the key out for no hook, or write false against one that is inherited; the command is written \""+n.Value+"\"") {
		return schedule.Hook{}, false
	}
	command, ok := readCommand(l.Reader, n, shell)
	return schedule.Hook{Run: command}, ok
}

// finishHook checks the keys of a mapping against each other.
func finishHook(l *loader, n *node, h *hookDraft) (schedule.Hook, bool) {
	switch {
	case n.IsEmpty():
		l.Problemf(n, "write {run: COMMAND}", "a hook of %s is empty", l.Key)
	case len(h.kinds) == 0:
		l.Problemf(n, "say what it is: run, trigger, ping, webhook or mail", "a hook of %s does nothing", l.Key)
	case len(h.kinds) > 1:
		l.Problemf(n, "make a list of them, each on its own", "a hook of %s is %s at once", l.Key, strings.Join(h.kinds, " and "))
	case h.kinds[0] == "run":
		return schedule.Hook{Run: h.run}, true
	case h.kinds[0] == "trigger":
		return schedule.Hook{Trigger: h.target.Value, Place: l.PlaceOf(h.target)}, true
	default:
		return schedule.Hook{Notify: &h.notify}, true
	}
	return schedule.Hook{}, false
}

func setHookCommand(l *loader, h *hookDraft, n *node) {
	h.kinds = append(h.kinds, "run")
	h.run, _ = readCommand(l.Reader, n, h.shell)
}
