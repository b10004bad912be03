// Package placement says which machines `servers:` of a task means, by their names and by their
// labels.
//
// A label is NAME=VALUE; no name of a machine has a `=`. Labels come from $SCHED_LABELS or a file
// of the machine. A wrong label is left out and reported (Machine.Wrong). A task that asks for a
// wrong label does not run there.
package placement

import (
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"sched/schedule/humanize"
	"sched/schedule/statedir"
	"sched/schedule/yamldoc"
)

// A Machine is a machine that `servers:` is compared with.
type Machine struct {
	Name   string
	Labels []string // NAME=VALUE, sorted; a name may have several values
	Wrong  string   // which of its labels cannot be used, and why; empty if all can
}

// IsAny reports whether one of the patterns means the machine.
func (m Machine) IsAny(patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if IsLabel(pattern) {
			return slices.ContainsFunc(m.Labels, func(label string) bool { return Match(pattern, label) })
		}
		return Match(pattern, m.Name)
	})
}

// String names the machine with its labels: "web-2 (labels: role=web, zone=eu)".
func (m Machine) String() string {
	name := m.Name
	if name == "" {
		name = "a machine without a name"
	}
	switch {
	case len(m.Labels) > 0:
		return name + " (labels: " + strings.Join(m.Labels, ", ") + ")"
	case m.Wrong != "":
		return name + " (its labels are not known)"
	}
	return name
}

// IsLabel reports whether a pattern is compared with labels, and not with names.
func IsLabel(pattern string) bool { return strings.Contains(pattern, "=") }

// Match reports whether a pattern that passed Check means a name or a label: * stands for any
// characters, ? for one character.
func Match(pattern, text string) bool {
	matches, _ := path.Match(pattern, text)
	return matches
}

// The characters beside letters and digits: of a name or a value, and of a pattern.
const (
	inNames    = "._-"
	inPatterns = inNames + "*?"
)

// typedLabel matches one label, also with spaces around its sign, or with another sign.
var typedLabel = humanize.Pattern(`^([\w.-]+) *(?:==?|:) *([\w.*?-]+)$`)

// Check returns what is wrong with a pattern, and what to do; empty if the pattern is right.
func Check(pattern string) (problem, hint string) {
	name, value, isLabel := strings.Cut(pattern, "=")
	switch {
	case (strings.Contains(pattern, " ") || strings.Contains(pattern, "==")) && typedLabel().MatchString(pattern):
		return "is not a label", "a label is written " + typedLabel().ReplaceAllString(pattern, "$1=$2")
	case strings.Contains(pattern, "!="):
		return "is not a label", "name those that run it: there is no word for all but one"
	case strings.ContainsAny(pattern, ", "):
		isWrong := func(word string) bool { problem, _ := Check(word); return problem != "" }
		hint = "write a list: [" + strings.Join(words(pattern), ", ") + "]"
		if slices.ContainsFunc(words(pattern), isWrong) {
			hint = "write a list of names and of labels without spaces, as in [web-1, role=db]"
		}
		return "is neither the name of a server nor a label", hint
	case strings.HasPrefix(pattern, "!"):
		return "is not the name of a server", "name those that run it: there is no word for all but one"
	case strings.Contains(pattern, ":") && !isLabel:
		name, value, _ := strings.Cut(pattern, ":")
		return "is not the name of a server", "a label is written " + name + "=" + strings.TrimSpace(value)
	case !isLabel && !consistsOf(pattern, inPatterns):
		return "is not the name of a server",
			"use letters, digits and . _ -; * stands for any characters, and ? for one"
	case isLabel && (!consistsOf(name, inNames) || !consistsOf(value, inPatterns)):
		return "is not a label",
			"write NAME=VALUE of letters, digits and . _ -, as role=db; " +
				"in VALUE * stands for any characters, and ? for one"
	}
	return "", ""
}

// CheckName is Check for the name of one server.
func CheckName(name string) (problem, hint string) {
	if consistsOf(name, inNames) {
		return "", ""
	}
	if problem, hint = Check(name); problem == "" {
		problem, hint = "is not the name of one server", "write its name, as `sched list --servers` shows it"
	}
	return problem, hint
}

// ValidName reports whether a machine can have this name.
func ValidName(name string) bool {
	const maxSize = 128 // bytes
	return consistsOf(name, inNames) && len(name) <= maxSize && !strings.ContainsRune(inNames, rune(name[0]))
}

// consistsOf reports whether a text has only letters and digits of ASCII and the other characters,
// and is not empty.
func consistsOf(text, others string) bool {
	for _, c := range text {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune(others, c)) {
			return false
		}
	}
	return text != ""
}

// maxTextSize is how long the labels of a machine may be, in bytes: the machine announces them to
// the others with each tick.
const maxTextSize = 4 << 10

// Parse reads labels between spaces, commas or lines; # begins a comment. It leaves out wrong
// labels. The text of wrong names their source, from.
func Parse(text, from string) (labels []string, wrong string) {
	if len(text) > maxTextSize {
		return nil, fmt.Sprintf("%s is longer than %d bytes", from, maxTextSize)
	}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		for _, word := range words(line) {
			name, value, _ := strings.Cut(word, "=")
			if consistsOf(name, inNames) && consistsOf(value, inNames) {
				labels = append(labels, word)
			} else if wrong == "" {
				wrong = fmt.Sprintf("%s: %s is not a label: write NAME=VALUE of letters, digits and . _ -, as role=db",
					from, yamldoc.Quote(word))
			}
		}
	}
	slices.Sort(labels)
	return slices.Compact(labels), wrong
}

// words splits a text at spaces, commas and line breaks.
func words(text string) []string {
	return strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(", \t\r\n", c) })
}

// Read reads the labels in a file, which need not exist. It never blocks, and bounds how much it
// reads. As root it refuses a file that another user could write.
func Read(file string, uid int) (labels []string, wrong string) {
	text, err := readTrusted(file, uid)
	if err != nil {
		return nil, err.Error()
	}
	return Parse(text, file)
}

// readTrusted returns the beginning of a file, one byte more than Parse takes; "" for a missing
// file.
func readTrusted(path string, uid int) (string, error) {
	file, err := statedir.OpenPlain(path, os.O_RDONLY)
	if os.IsNotExist(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer file.Close()
	if uid == 0 {
		if err := checkTrust(path, file); err != nil {
			return "", err
		}
	}
	text, err := io.ReadAll(io.LimitReader(file, maxTextSize+1))
	return string(text), err
}

// checkTrust returns why root should not trust the file, which says what root runs here; nil if
// root can trust it.
func checkTrust(path string, file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Uid != 0 {
		return fmt.Errorf("%s belongs to another user (uid %d), and says what root runs here", path, stat.Uid)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("others than root can write %s, and it says what root runs here", path)
	}
	return statedir.CheckAbove(path)
}
