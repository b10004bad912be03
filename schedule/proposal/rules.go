package proposal

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/view"
	"sched/schedule/yamldoc"
)

// Rules are what a schedule says of proposals, in its key x-proposals. Ticks know nothing of it.
type Rules struct {
	Folder string   // absolute: where the files of approved tasks are written; "" if it says nothing
	Keys   []string // of tasks that may be proposed, too
}

// allowed are the keys of a task that may be proposed unless a schedule allows more: what a person
// who approves sees at a glance. Not among them: what makes a task run elsewhere or as somebody
// else (user, group, servers, shell, env_file), what runs besides its command (hooks, when), and
// what tells others of it.
var allowed = []string{"name", "description", "tags", "every", "cron", "schedule", "timezone", "from", "until",
	"spread", "command", "secrets", "params", "limits", "nice", "background", "without_overlapping", "wait_at_most",
	"mutex", "pool", "timeout", "kill_after", "retry", "expect", "success_codes", "warn_codes", "report", "fail_if",
	"warn_if", "require", "enabled", "days", "except", "calendar", "on_holiday", "between", "unless_between",
	"start_deadline", "missed", "missed_within", "missed_at_most"}

// never are the keys that no schedule can allow.
var never = []string{"user", "group"}

const rulesHint = "write `x-proposals: {folder: schedule.d, keys: [env]}`"

// RulesOf reads x-proposals at the top of a schedule.
func RulesOf(s *schedule.Schedule) (rules Rules, err error) {
	if len(s.Sources) == 0 {
		return rules, nil
	}
	reader := yamldoc.NewReader(yamldoc.Options{Folder: filepath.Dir(s.File)})
	root := reader.Parse(s.Sources[0].Data)
	if root == nil || !root.IsMapping() || !root.Has("x-proposals") {
		return rules, nil
	}
	wrong := func(format string, args ...any) error { return view.Fail(view.Invalid, rulesHint, format, args...) }
	if !root.Lookup("x-proposals").IsMapping() {
		return rules, wrong("x-proposals is no mapping")
	}
	for key, value := range root.Lookup("x-proposals").Pairs() {
		switch key.Value {
		case "folder":
			if !value.IsScalar() || value.Value == "" {
				return rules, wrong("folder of x-proposals is no path")
			}
			rules.Folder = value.Value
			if !filepath.IsAbs(rules.Folder) {
				rules.Folder = filepath.Join(filepath.Dir(s.File), rules.Folder)
			}
		case "keys":
			var ok bool
			text := func(n *yamldoc.Node) (string, bool) { return n.Value, n.IsScalar() }
			rules.Keys, ok = yamldoc.Collect(value, text)
			if !ok {
				return rules, wrong("keys of x-proposals is no list of keys")
			}
		default:
			return rules, wrong("x-proposals has no key %s", yamldoc.Quote(key.Value))
		}
	}
	for _, key := range rules.Keys {
		if slices.Contains(never, key) {
			return rules, wrong("x-proposals cannot allow %s: a proposal must not choose as whom a task runs", key)
		}
	}
	return rules, nil
}

// CheckText refuses keys with characters by which a text looks like another one, or that are too
// many.
func CheckText(keys string) error {
	if len(keys) > MostKeys {
		return view.Fail(view.Invalid, "", "the keys have more than %d KiB", MostKeys>>10)
	}
	isBad := func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' || r == unicode.ReplacementChar || r == '\u2028' || r == '\u2029' ||
			unicode.Is(unicode.Cf, r)
	}
	if i := strings.IndexFunc(keys, isBad); i >= 0 {
		r := []rune(keys[i:])[0]
		return view.Fail(view.Invalid, "write it in plain text, with blanks for tabs",
			"line %d has the character %U, which nobody sees", 1+strings.Count(keys[:i], "\n"), r)
	}
	return nil
}

// Check refuses a file of a task, as it would be written, if it sets anything but allowed keys of
// this one task.
func (r Rules) Check(file []byte, task string) error {
	reader := yamldoc.NewReader(yamldoc.Options{Folder: "/"})
	root := reader.Parse(file)
	var items []*yamldoc.Node
	if root != nil && root.IsMapping() && len(root.Content) == 2 && root.Has("tasks") {
		items = root.Lookup("tasks").Items()
	}
	if len(items) != 1 || !root.Lookup("tasks").IsList() || !items[0].IsMapping() {
		if problems, _ := reader.Problems(); len(problems) > 0 {
			return view.Fail(view.Invalid, problems[0].Hint, "the keys cannot be read: %s", problems[0].Text)
		}
		return view.Fail(view.Invalid, "write `every: day` and `command: …`, each on a line",
			"this is not the keys of one task")
	}
	for key, value := range items[0].Pairs() {
		switch {
		case key.Value == "name" && value.Value != task:
			return view.Fail(view.Invalid, "leave name out", "the keys name another task")
		case slices.Contains(never, key.Value):
			return view.Fail(view.Invalid, "a person can write it into the schedule",
				"%s cannot be proposed", key.Value)
		case !slices.Contains(allowed, key.Value) && !slices.Contains(r.Keys, key.Value):
			return view.Fail(view.Invalid, r.hint(key.Value), "the key %s cannot be proposed", yamldoc.Quote(key.Value))
		case key.Value != "command" && expands(value):
			return view.Fail(view.Invalid, "write the value itself",
				"%s of a proposal cannot have ${…}: it could show a secret", key.Value)
		}
	}
	return nil
}

// hint says what to do about a key that cannot be proposed.
func (r Rules) hint(key string) string {
	if near := humanize.Nearest(key, slices.Concat(allowed, r.Keys)); near != "" {
		return "did you mean " + near + "?"
	}
	return "leave it out, or let the schedule say `x-proposals: {keys: [" + yamldoc.Shorten(key) + "]}`"
}

// expands reports whether a text of the node has ${…}, which the loader would expand.
func expands(n *yamldoc.Node) bool {
	for key, value := range n.Pairs() {
		if strings.Contains(key.Value, "${") || expands(value) {
			return true
		}
	}
	return strings.Contains(n.Value, "${") || slices.ContainsFunc(n.Items(), expands)
}
