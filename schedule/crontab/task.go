// Package crontab brings crontabs to sched. It reads one as cron does (Parse), and writes its lines
// as the tasks of a schedule.yaml (Convert, Schedule.YAML). Package proof proves that both are due
// at the same minutes, and package export writes a schedule as a crontab.
//
// # Promises
//
//   - What a command is to its shell is kept byte for byte, unless Tidy was asked for. A
//     proof compares that, too.
//   - A line either becomes a task or is omitted with a Finding that says why. None is dropped in
//     silence.
//   - Names depend on a line and the lines before it alone, so lines that are added below change
//     none.
//   - It is pure: it opens no file, runs nothing and reads no clock.
//
// It installs nothing: see package install. anacrontab(5) and run-parts(8) are not crontabs.
package crontab

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"sched/schedule/crontab/vixie"
	"sched/schedule/humanize"
	"sched/schedule/yamldoc"
)

// A Task is a line of a crontab as a task.
type Task struct {
	Entry  Entry
	Source string // the name of the crontab

	Name, Description string
	Comment           []string // lines above the task
	Cron              string
	Command           string
	MailFailures      bool // Mail gets only what a failure printed
	LosesMail         bool // cron mails what it prints to its user, and the schedule to nobody
	Enabled           bool
	surroundings

	WithoutOverlapping bool
	Mutex              string // with WithoutOverlapping; "" for its own
	Waits              bool   // with WithoutOverlapping: it waits in place of being skipped
	MaxWait            string // with Waits; "" for the default
	Timeout, KillAfter string
	Output             string // a file; "" for none
	Append             bool
	Tidied             bool // keys were made of parts of the command

	Boot bool // cron starts the line at a boot

	fileKeys []Key // of the comments for the whole file

	// Times are what cron makes of the line; nil with Boot, or if cron has no such times.
	Times *vixie.Times
}

// surroundings are what the settings above a line, and its user, say about the command. In a Task
// they are its own. In the defaults of a file they are what all tasks share: a zero value is not
// shared.
type surroundings struct {
	Env       Variables
	Timezone  string // "" for the machine's zone
	Shell     string
	Dir, User string
	Mail      []string // the addresses that get what the command prints; empty for nobody
}

// DefaultShell is the shell of cron, and of a schedule.
const DefaultShell = "/bin/sh"

// EndsOnSunday matches ranges that end on Sunday. sched reads them as people mean them; to cron
// they are empty.
var EndsOnSunday = humanize.Pattern(`(?i)-(0|sun)([,/]\S*)?$`)

// sets reports whether a comment above the line sets the key, or keys inside of it.
func (t *Task) sets(name string) bool {
	return slices.ContainsFunc(t.Entry.Keys,
		func(k Key) bool { return k.Name == name || strings.HasPrefix(k.Name, name+".") })
}

// Sets reports whether a comment sets the key of the task, above its line or for the whole file.
func (t *Task) Sets(name string) bool {
	isOfFile := func(k Key) bool {
		above, _, _ := strings.Cut(strings.TrimPrefix(k.Name, "defaults."), ".")
		return above == name || above == "defaults"
	}
	return t.sets(name) || slices.ContainsFunc(t.fileKeys, isOfFile)
}

// ownName returns the name that a comment gives the task, or "".
func (t *Task) ownName() string {
	for _, k := range t.Entry.Keys {
		if k.Name == "name" {
			return strings.Trim(k.Text, `"'`) // no name has quotes or escapes
		}
	}
	return ""
}

// absolutePath returns the absolute path that a word is to the shell, or one below ${HOME}. ok is
// false if the shell expands something else in the word.
func (t *Task) absolutePath(w word, command string) (absolute string, ok bool) {
	raw := command[w.start:w.end]
	hasCronsHome := t.Env["HOME"] == "" && t.User == ""
	for _, home := range []string{"~", "$HOME", "${HOME}"} {
		if rest, ok := strings.CutPrefix(raw, home); ok && hasCronsHome && plainPath().MatchString(rest) {
			return "${HOME}" + rest, true
		}
	}
	switch {
	case !w.literal || strings.Contains(w.text, "${"):
		return "", false
	case strings.HasPrefix(w.text, "/"):
		return w.text, true
	}
	return strings.TrimSuffix(t.Dir, "/") + "/" + strings.TrimPrefix(w.text, "./"), w.text != ""
}

// taskIndent stands before the keys of a task.
const taskIndent = "    "

// keys returns what the line says, and then the keys of its comments, which replace the others. A
// name is among them only if a comment has it.
func (t *Task) keys(common surroundings) (keys []Key) {
	if t.Description != "" && !t.sets("description") {
		keys = append(keys, t.key("description", yamldoc.NewText(t.Description), ""))
	}
	if !t.Enabled {
		keys = append(keys, t.key("enabled", yamldoc.NewBool(false), ""))
	}
	keys = append(keys, t.key("cron", yamldoc.NewText(t.Cron), quote(t.Cron)))
	keys = append(keys, t.keysBeside(common)...)
	own := maps.Clone(t.Env)
	maps.DeleteFunc(own, func(name, value string) bool {
		shared, ok := common.Env[name]
		return ok && shared == value
	})
	keys = append(keys, t.envKeys(own, keysBelow("env", t.Entry.Keys))...)
	for _, k := range t.ownKeys() {
		if !t.sets(k.Name) {
			keys = append(keys, k)
		}
	}
	isEnv := func(k Key) bool { return strings.HasPrefix(k.Name, "env.") }
	keys = append(keys, nested(slices.DeleteFunc(slices.Clone(t.Entry.Keys), isEnv))...)
	return append(keys, t.key("command", yamldoc.NewText(t.Command), block(taskIndent+"  ", t.Command)))
}

// key returns a key that the line itself sets.
func (t *Task) key(name string, value *yamldoc.Node, text string) Key {
	return Key{Name: name, Value: value, Text: text, Line: t.Entry.Line, Column: 1}
}

// envKeys returns the key env with the variables of the settings above the task, and the variables
// that comments set. Without variables it returns no key.
func (t *Task) envKeys(set Variables, ofComments []Key) []Key {
	env := t.key("env", nil, "")
	for _, name := range set.Names() {
		if !slices.ContainsFunc(ofComments, func(k Key) bool { return k.Name == name }) {
			value := yamldoc.NewText(escape(set[name]))
			env.Below = append(env.Below, Key{Name: name, Value: value, Line: t.lineOf(name), Column: 1})
		}
	}
	if env.Below = append(env.Below, nested(ofComments)...); env.Below == nil {
		return nil
	}
	return []Key{env}
}

// keysBeside returns the keys by which the surroundings of the task differ from common.
func (t *Task) keysBeside(common surroundings) (keys []Key) {
	add := func(setting string, k Key) {
		k.Line, k.Column = t.lineOf(setting), 1
		keys = append(keys, k)
	}
	if t.Timezone != common.Timezone && !t.sets("timezone") {
		add("CRON_TZ", Key{Name: "timezone", Value: yamldoc.NewText(t.Timezone)})
	}
	if t.User != common.User && !t.sets("user") {
		add("", Key{Name: "user", Value: yamldoc.NewText(t.User)}) // the line itself names its user
	}
	if t.Dir != common.Dir && !t.sets("dir") {
		add("HOME", Key{Name: "dir", Value: yamldoc.NewText(t.Dir)})
	}
	if t.Shell != cmp.Or(common.Shell, DefaultShell) && !t.sets("shell") {
		value := yamldoc.NewList(yamldoc.NewText(t.Shell), yamldoc.NewText("-c"))
		add("SHELL", Key{Name: "shell", Value: value, Text: "[" + flowScalar(t.Shell) + ", -c]"})
	}
	for _, k := range t.mailKeys(common) {
		add("MAILTO", k)
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
//   - It mails to others: after, with their addresses. Hooks of a task add to the inherited ones,
//     so `false` takes the hook of common away first.
//   - It mails nobody: an empty after.
func (t *Task) mailKeys(common surroundings) (keys []Key) {
	nothing := Key{Name: "after", Value: yamldoc.NewList()}
	var to []*yamldoc.Node
	for _, address := range t.Mail {
		to = append(to, yamldoc.NewText(address))
	}
	addresses := yamldoc.NewList(to...)
	if len(to) == 1 {
		addresses = to[0]
	}
	mail := yamldoc.NewMapping(yamldoc.NewText("mail"), addresses, yamldoc.NewText("when"), yamldoc.NewText("output"))
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
	case len(t.Mail) > 0 && len(common.Mail) > 0:
		return []Key{{Name: "after", Value: yamldoc.NewList(yamldoc.NewBool(false), mail)}}
	case len(t.Mail) > 0:
		return []Key{{Name: "after", Value: mail}}
	}
	return []Key{nothing}
}

// lineOf returns the line of a setting above the entry, or the line of the entry if the setting has
// no line.
func (t *Task) lineOf(setting string) int { return cmp.Or(t.Entry.SetAt[setting], t.Entry.Line) }

// ownKeys returns what the line says beside the command: the keys from Tidy, and the keys from
// flags.
func (t *Task) ownKeys() (keys []Key) {
	add := func(name, value, text string) {
		if value != "" {
			keys = append(keys, t.key(name, yamldoc.NewText(value), text))
		}
	}
	add("mutex", t.Mutex, "")
	switch {
	case t.Waits:
		add("without_overlapping", "wait", "")
	case t.WithoutOverlapping && t.Mutex == "": // mutex implies it
		keys = append(keys, t.key("without_overlapping", yamldoc.NewBool(true), ""))
	}
	add("wait_at_most", t.MaxWait, t.MaxWait)
	add("timeout", t.Timeout, t.Timeout)
	add("kill_after", t.KillAfter, t.KillAfter)
	if t.Output != "" {
		output := yamldoc.NewMapping(yamldoc.NewText("file"), yamldoc.NewText(t.Output),
			yamldoc.NewText("append"), yamldoc.NewBool(t.Append))
		keys = append(keys, t.key("output", output, ""))
	}
	return keys
}

// Diff shows what Tidy made of the command: the old lines with -, the new ones with +.
func (t *Task) Diff() (lines []string) {
	lines = append(lines, "- command: "+t.Entry.Command)
	if strings.HasPrefix(strings.TrimLeft(t.Entry.Command, " "), "cd ") && !strings.HasPrefix(t.Command, "cd ") {
		lines = append(lines, "+ dir: "+t.Dir)
	}
	for _, k := range t.ownKeys() {
		lines = append(lines, "+ "+k.Name+": "+k.yaml())
	}
	return append(lines, "+ command: "+t.Command)
}

var plainPath = humanize.Pattern(`^(/[A-Za-z0-9._/+@%-]*)?$`)
