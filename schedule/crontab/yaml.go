package crontab

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sched/schedule"
	"sched/schedule/humanize"
)

// YAML writes the schedule, with a comment line at its top for each line of header.
func (s *Schedule) YAML(header []string) []byte {
	w := &writer{}
	for _, line := range header {
		w.writeLine("%s", strings.TrimRight("# "+line, " "))
	}
	w.writeBlank()
	common := s.common()
	top, env, defaults := s.splitFileKeys(common)
	if len(top) > 0 {
		w.writeKeys("", top)
		w.writeBlank()
	}
	w.writeEnv("", common.Env, env, &Task{})
	if len(common.Env)+len(env) > 0 {
		w.writeBlank()
	}
	w.writeLine("defaults:")
	w.writeLine("  background: true")
	w.writeKeys("  ", common.keys())
	w.writeKeys("  ", defaults)
	w.writeBlank()
	if len(s.Tasks) == 0 {
		w.writeLine("tasks: []")
		return []byte(w.String())
	}
	w.writeLine("tasks:")
	for i, t := range s.Tasks {
		if i > 0 {
			w.writeBlank()
		}
		if (i == 0 || s.Tasks[i-1].Source != t.Source) && s.Tasks[0].Source != s.Tasks[len(s.Tasks)-1].Source {
			w.writeLine("  # %s", printable(t.Source))
			w.writeBlank()
		}
		w.writeTask(t, common)
	}
	return []byte(w.String())
}

// splitFileKeys returns the keys of the whole file: the keys at the top, the variables, and the
// defaults. It leaves out variables and defaults that common has, too: what the lines of the
// crontab say wins over a comment.
func (s *Schedule) splitFileKeys(common surroundings) (top, env, defaults []Key) {
	shared := common.keys()
	isCommon := func(k Key) bool {
		above, _, _ := strings.Cut(k.Name, ".")
		return above == "background" || slices.ContainsFunc(shared, func(c Key) bool { return c.Name == above })
	}
	top = slices.DeleteFunc(slices.Clone(s.Keys), func(k Key) bool {
		return strings.HasPrefix(k.Name, "env.") || strings.HasPrefix(k.Name, "defaults.")
	})
	env = slices.DeleteFunc(keysBelow("env", s.Keys), func(k Key) bool { _, ok := common.Env[k.Name]; return ok })
	return top, env, slices.DeleteFunc(keysBelow("defaults", s.Keys), isCommon)
}

// Document writes the schedule that YAML writes, for the loader: each task says all that it has.
// places has for each line of the text, the first at 0, its place in the crontab.
func (s *Schedule) Document() (yaml []byte, places []schedule.Place) {
	w := &writer{forLoader: true, place: schedule.Place{Line: 1, Column: 1}}
	w.writeKeys("", s.Keys)
	w.writeLine("tasks:")
	for _, t := range s.Tasks {
		w.writeTask(t, surroundings{Shell: defaultShell})
	}
	if len(s.Tasks) == 0 {
		w.writeLine("  []")
	}
	return []byte(w.String()), w.places
}

// common returns the surroundings that become defaults of the schedule. A value that a task can
// override is the value of most tasks; any other value is one that all tasks have.
func (s *Schedule) common() surroundings {
	all := surroundings{Env: Variables{}, Shell: defaultShell}
	if len(s.Tasks) == 0 {
		all.Dir = "${HOME}"
		return all
	}
	for name := range s.Tasks[0].Env { // a task can give a variable another value, and cannot be without it
		if !slices.ContainsFunc(s.Tasks, func(t *Task) bool { _, has := t.Env[name]; return !has }) {
			all.Env[name] = mostCommon(s.Tasks, func(t *Task) string { return t.Env[name] })
		}
	}
	all.Dir = mostCommon(s.Tasks, func(t *Task) string { return t.Dir })
	all.User = mostCommon(s.Tasks, func(t *Task) string { return t.User })
	all.Shell = mostCommon(s.Tasks, func(t *Task) string { return t.Shell })
	zone := mostCommon(s.Tasks, func(t *Task) string { return t.Timezone })
	if !slices.ContainsFunc(s.Tasks, func(t *Task) bool { return t.Timezone != zone }) {
		all.Timezone = zone
	}
	ownHooks := func(k Key) bool { return strings.HasPrefix(k.Name, "defaults.after") }
	setsAfter := func(t *Task) bool { return t.sets("after") }
	if slices.ContainsFunc(s.Tasks, setsAfter) || slices.ContainsFunc(s.Keys, ownHooks) {
		return all // hooks of a task add to the hooks of the defaults, and these replace MAILTO
	}
	mail := mostCommon(s.Tasks, func(t *Task) string { return strings.Join(t.Mail, ",") })
	if mail != "" && len(s.Tasks) > 1 {
		all.Mail = strings.Split(mail, ",")
	}
	return all
}

// mostCommon returns the value that most tasks have, the first of several. There is a task.
func mostCommon(tasks []*Task, valueOf func(*Task) string) string {
	counts := map[string]int{}
	for _, t := range tasks {
		counts[valueOf(t)]++
	}
	value := valueOf(tasks[0])
	for _, t := range tasks {
		if counts[valueOf(t)] > counts[value] {
			value = valueOf(t)
		}
	}
	return value
}

// A writer writes YAML. Each line has its place in the crontab.
type writer struct {
	strings.Builder
	forLoader bool             // tasks have no defaults
	place     schedule.Place   // of the task that is written; of the crontab before the first one
	places    []schedule.Place // of the lines
}

// writeLine writes a line that comes from the task.
func (w *writer) writeLine(format string, args ...any) { w.writeLineAt(w.place, format, args...) }

func (w *writer) writeLineAt(place schedule.Place, format string, args ...any) {
	fmt.Fprintf(w, format+"\n", args...)
	w.places = append(w.places, place)
}

func (w *writer) writeBlank() { w.writeLine("") }

// writeKeys writes keys, the keys inside of another one below it.
func (w *writer) writeKeys(indent string, keys []Key) {
	done := map[string]bool{}
	for i, k := range keys {
		place := schedule.Place{Line: k.Line, Column: k.Column}
		above, _, inside := strings.Cut(k.Name, ".")
		if !inside {
			w.writeLineAt(place, "%s%s: %s", indent, scalar(k.Name), k.Value)
		} else if !done[above] {
			done[above] = true
			w.writeLineAt(place, "%s%s:", indent, scalar(above))
			w.writeKeys(indent+"  ", keysBelow(above, keys[i:]))
		}
	}
}

// keysBelow returns the keys inside of the key above, named without it.
func keysBelow(above string, keys []Key) (all []Key) {
	for _, k := range keys {
		if rest, ok := strings.CutPrefix(k.Name, above+"."); ok {
			k.Name = rest
			all = append(all, k)
		}
	}
	return all
}

// writeTask writes what the line says, and then the keys of its comments, which replace the others.
func (w *writer) writeTask(t *Task, common surroundings) {
	const indent = "    "
	for _, line := range t.Comment {
		w.writeLine("  # %s", printable(line))
	}
	w.place = schedule.Place{Line: t.Entry.Line, Column: 1}
	w.writeTaskHead(indent, t)
	w.writeKeys(indent, t.keysBeside(common))
	own := maps.Clone(t.Env)
	maps.DeleteFunc(own, func(name, value string) bool {
		shared, ok := common.Env[name]
		return ok && shared == value
	})
	w.writeEnv(indent, own, keysBelow("env", t.Entry.Keys), t)
	for _, line := range t.ownKeyLines() {
		if key, _, _ := strings.Cut(line, ":"); !t.sets(key) {
			w.writeLine(indent+"%s", line)
		}
	}
	w.writeKeys(indent, slices.DeleteFunc(slices.Clone(t.Entry.Keys), func(k Key) bool {
		return strings.HasPrefix(k.Name, "env.") || k.Name == "name" && !w.forLoader
	}))
	w.writeCommand(indent, t.Command)
}

// writeTaskHead writes name, description and cron, and whether the task is enabled and in the
// background. For the loader cron comes first: the loader takes the place of the first key for the
// task's, and a name may stand in a comment.
func (w *writer) writeTaskHead(indent string, t *Task) {
	first, later := "name: "+scalar(t.Name), "cron: "+quote(t.Cron)
	if w.forLoader {
		first, later = later, first
	}
	w.writeLine("  - %s", first)
	if t.Description != "" && !t.sets("description") {
		w.writeLine(indent+"description: %s", scalar(t.Description))
	}
	if !t.Enabled {
		w.writeLine(indent + "enabled: false")
	}
	if !w.forLoader || !t.sets("name") {
		w.writeLine(indent+"%s", later)
	}
	if w.forLoader && !t.sets("background") {
		w.writeLine(indent + "background: true")
	}
}

// keysBeside returns the keys by which the surroundings of the task differ from common.
func (t *Task) keysBeside(common surroundings) (keys []Key) {
	add := func(setting, name, value string) {
		keys = append(keys, Key{Name: name, Value: value, Line: t.lineOf(setting), Column: 1})
	}
	if t.Timezone != common.Timezone && !t.sets("timezone") {
		add("CRON_TZ", "timezone", scalar(t.Timezone))
	}
	if t.User != common.User {
		add("", "user", scalar(t.User)) // the line itself names its user
	}
	if t.Dir != common.Dir && !t.sets("dir") {
		add("HOME", "dir", scalar(t.Dir))
	}
	if t.Shell != cmp.Or(common.Shell, defaultShell) && !t.sets("shell") {
		add("SHELL", "shell", "["+flowScalar(t.Shell)+", -c]")
	}
	for _, k := range t.mailKeys(common) {
		add("MAILTO", k.Name, k.Value)
	}
	return keys
}

// keys returns the keys of the surroundings, for the defaults of a schedule.
func (s surroundings) keys() []Key {
	return (&Task{surroundings: s}).keysBeside(surroundings{})
}

// mailKeys returns the hooks that mail what the task prints, as far as they differ from common:
//
//   - It mails only failures: on_failure, and no hook after a run.
//   - It mails as common does, or a comment sets after: nothing.
//   - It mails to others: after, with their addresses.
//   - It mails nobody: an empty after.
func (t *Task) mailKeys(common surroundings) (keys []Key) {
	nothing := Key{Name: "after", Value: "[]"}
	mail := "{mail: " + mailTo(t.Mail) + ", when: output}"
	switch {
	case len(t.Mail) > 0 && t.MailFailures:
		if len(common.Mail) > 0 {
			keys = append(keys, nothing)
		}
		if !t.sets("on_failure") {
			keys = append(keys, Key{Name: "on_failure", Value: mail})
		}
		return keys
	case slices.Equal(t.Mail, common.Mail) || t.sets("after"):
		return nil
	case len(t.Mail) > 0:
		return []Key{{Name: "after", Value: mail}}
	}
	return []Key{nothing}
}

// lineOf returns the line of a setting above the entry, or the line of the entry if the setting has
// no line.
func (t *Task) lineOf(setting string) int { return cmp.Or(t.Entry.SetAt[setting], t.Entry.Line) }

// ownKeyLines returns what the line says beside the command, as lines of YAML: the keys from Tidy,
// and the keys from flags.
func (t *Task) ownKeyLines() (lines []string) {
	add := func(key, value string) {
		if value != "" {
			lines = append(lines, key+": "+value)
		}
	}
	if t.Mutex != "" {
		add("mutex", scalar(t.Mutex))
	}
	switch {
	case t.Waits:
		add("without_overlapping", "wait")
	case t.WithoutOverlapping && t.Mutex == "": // mutex implies it
		add("without_overlapping", "true")
	}
	add("wait_at_most", t.MaxWait)
	add("timeout", t.Timeout)
	add("kill_after", t.KillAfter)
	if t.Output != "" {
		add("output", fmt.Sprintf("{file: %s, append: %t}", flowScalar(t.Output), t.Append))
	}
	return lines
}

// Diff shows what Tidy made of the command: the old lines with -, the new ones with +.
func (t *Task) Diff() (lines []string) {
	lines = append(lines, "- command: "+t.Entry.Command)
	if strings.HasPrefix(strings.TrimLeft(t.Entry.Command, " "), "cd ") && !strings.HasPrefix(t.Command, "cd ") {
		lines = append(lines, "+ dir: "+t.Dir)
	}
	for _, key := range t.ownKeyLines() {
		lines = append(lines, "+ "+key)
	}
	return append(lines, "+ command: "+t.Command)
}

// writeEnv writes the variables of the settings above the task, and the variables that comments
// set.
func (w *writer) writeEnv(indent string, set Variables, keys []Key, t *Task) {
	if len(set)+len(keys) == 0 {
		return
	}
	w.writeLine(indent + "env:")
	for _, name := range set.names() {
		if !slices.ContainsFunc(keys, func(k Key) bool { return k.Name == name }) {
			place := schedule.Place{Line: t.lineOf(name), Column: 1}
			w.writeLineAt(place, indent+"  %s: %s", scalar(name), scalar(escape(set[name])))
		}
	}
	w.writeKeys(indent+"  ", keys)
}

// writeCommand writes one line, or a block if that line would need escapes.
func (w *writer) writeCommand(indent, command string) {
	if text := scalar(command); !strings.HasPrefix(text, `"`) && !strings.Contains(text, "''") {
		w.writeLine(indent+"command: %s", text)
		return
	}
	isHidden := func(r rune) bool { return !showable(r) && r != '\n' }
	if strings.ContainsFunc(command, isHidden) || strings.HasPrefix(command, " ") || strings.HasSuffix(command, "\n") {
		w.writeLine(indent+"command: %s", quote(command))
		return
	}
	w.writeLine(indent + "command: |-")
	for line := range strings.SplitSeq(command, "\n") {
		if line == "" {
			w.writeBlank()
			continue
		}
		w.writeLine(indent+"  %s", line)
	}
}

// Texts that YAML takes for text, for a number or the like, for a part of a list or a mapping, and
// for a mark or a comment.
var (
	plainText = humanize.Pattern(`^[A-Za-z0-9/._$(+][^\x00-\x1f\x7f]*$`)
	otherType = humanize.Pattern(`(?i)^([-+.]?[0-9][-+0-9_.,:exabcdfo]*|[-+]?\.(inf|nan)|true|false|yes|no|on|off|y|n|null|~|=|<<)$|^\d{4}-\d`)
	flowMark  = humanize.Pattern(`[\[\]{},]`)
	yamlMark  = humanize.Pattern(`: |:$| #|\s$`)
)

// scalar writes a text plain if YAML takes it for text, else in quotes.
func scalar(text string) string {
	isShowable := !strings.ContainsFunc(text, func(r rune) bool { return !showable(r) })
	if isShowable && plainText().MatchString(text) && !otherType().MatchString(text) && !yamlMark().MatchString(text) {
		return text
	}
	return quote(text)
}

// flowScalar is scalar for an element of a list or a mapping in one line.
func flowScalar(text string) string {
	if flowMark().MatchString(text) {
		return quote(text)
	}
	return scalar(text)
}

// showable reports whether a character may stand in YAML as it is.
func showable(r rune) bool {
	return r == '\t' || r >= ' ' && r != 0x7f && !(r >= 0x80 && r < 0xa0) && r != 0x2028 && r != 0x2029 &&
		r != 0xfeff && (r < 0xfff0 || r >= 0x10000)
}

// quote writes a text in the quotes that need fewer escapes.
func quote(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !showable(r) || r == '\t' }) {
		return strconv.Quote(text)
	}
	if strings.ContainsAny(text, `"\`) || strings.HasPrefix(text, "'") {
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	return `"` + text + `"`
}

// mailTo writes one address or a list of them.
func mailTo(to []string) string {
	if len(to) == 1 {
		return flowScalar(to[0])
	}
	return "[" + strings.Join(to, ", ") + "]"
}
