package load

import (
	"cmp"
	"path/filepath"
	"strings"
	"time"

	"sched/schedule/placement"
	"sched/schedule/yamldoc"
)

const (
	longestName    = 128 // bytes
	nameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" + punctuation
	punctuation    = "._:/-" // no name begins with it
)

// nameOf returns a valid name for a folder that may be called anything.
func nameOf(text string) string {
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(nameCharacters, r) {
			return r
		}
		return '-'
	}, text)
	name = cmp.Or(strings.TrimLeft(name, punctuation), "sched")
	return name[:min(len(name), longestName)]
}

func readName(r *reader, n *node) (string, bool) {
	if !r.RefuseBool(n, yamldoc.QuotesHint) {
		return "", false
	}
	text, ok := r.Text(n)
	return text, ok && requireName(r, n, text)
}

// requireName refuses a text that cannot name a task, a group, a mutex or the schedule.
func requireName(r *reader, n *node, text string) bool {
	valid := text != "" && strings.Trim(text, nameCharacters) == "" && !strings.ContainsRune(punctuation, rune(text[0]))
	if valid && len(text) <= longestName {
		return true
	}
	subject := r.Key + " " + yamldoc.Quote(text)
	if r.Key == "group" { // the message names the group already
		subject = "this"
	}
	switch {
	case text == "":
		r.Problemf(n, "", "%s is empty", r.Key)
	case !valid:
		r.Problemf(n, "use letters, digits and . _ : / -, and begin with a letter or a digit",
			"%s is not a valid name", subject)
	default:
		r.Problemf(n, "", "%s is longer than 128 characters", subject)
	}
	return false
}

// readScheduleName reads the name of the schedule, which may be a variable.
func readScheduleName(r *reader, n *node) (string, bool) {
	if !r.RefuseBool(n, yamldoc.QuotesHint) {
		return "", false
	}
	text, ok := r.Expanded(n)
	return text, ok && requireName(r, n, text)
}

// listOf returns the reader of one item or a list of them.
func listOf[V any](read func(*reader, *node) (V, bool)) func(*reader, *node) ([]V, bool) {
	return func(r *reader, n *node) ([]V, bool) {
		return yamldoc.Collect(n, func(item *node) (V, bool) { return read(r, item) })
	}
}

// someOf is listOf for a list that must not be empty. The hint is for an empty list.
func someOf[V any](hint string, read func(*reader, *node) (V, bool)) func(*reader, *node) ([]V, bool) {
	return func(r *reader, n *node) ([]V, bool) {
		if !r.RefuseEmptyList(n, hint) {
			return nil, false
		}
		return listOf(read)(r, n)
	}
}

func readTag(r *reader, n *node) (string, bool) {
	if !r.RefuseBool(n, yamldoc.QuotesHint) {
		return "", false
	}
	return r.NonEmptyText(n)
}

func readDescription(r *reader, n *node) (string, bool) {
	if !r.RefuseBool(n, "say what the task is for, or leave the key out") {
		return "", false
	}
	return r.Text(n)
}

// readServer reads the name of this machine. An empty name means the name of the host.
func readServer(r *reader, n *node) (string, bool) {
	if !r.RefuseBool(n, "leave the key out for the host name") {
		return "", false
	}
	name, ok := r.Expanded(n)
	if ok && name != "" && !placement.ValidName(name) {
		r.Problemf(n, "use letters, digits and . _ -, and begin with a letter or a digit",
			"%s %s is not a valid name", r.Key, yamldoc.Quote(name))
		return "", false
	}
	return name, ok
}

func readTextfile(r *reader, n *node) (string, bool) {
	path, ok := r.Path(n)
	if ok && filepath.Ext(path) != ".prom" {
		r.Warnf(n, "call it "+strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))+".prom",
			"%s: the node exporter reads only files that end in .prom", r.Key)
	}
	return path, ok
}

// readServers reads one pattern of servers or a list of them.
func readServers(r *reader, n *node) (all []string, ok bool) {
	if !r.RefuseEmptyList(n, "leave the key out for every server, or switch the task off with `enabled: false`") {
		return nil, false
	}
	return readPatterns(r, n, "leave the key out for every server", placement.Check)
}

func readPrefer(r *reader, n *node) ([]string, bool) {
	return readPatterns(r, n, "", placement.CheckName)
}

// readPatterns reads patterns that check accepts. The hint is for the values true and false.
func readPatterns(
	r *reader, n *node, hint string, check func(string) (problem, hint string),
) (all []string, ok bool) {
	ok = n.Each(func(item *node) bool {
		if !r.RefuseBool(item, hint) {
			return false
		}
		if item.IsMapping() {
			pairs := asText(item)
			_, hint := check(pairs)
			r.Problemf(item, cmp.Or(hint, "write "+pairs), "%s must be text, not %s", r.Key, item.Describe())
			return false
		}
		text, ok := r.NonEmptyText(item)
		if !ok {
			return false
		}
		if problem, hint := check(text); problem != "" {
			r.Problemf(item, hint, "%s: %s %s", r.Key, yamldoc.Quote(text), problem)
			return false
		}
		all = append(all, text)
		return true
	})
	return all, ok
}

// asText writes a mapping as its pairs would stand in one text.
func asText(n *node) string {
	var pairs []string
	for key, value := range n.Pairs() {
		pairs = append(pairs, key.Value+"="+value.Value)
	}
	return strings.Join(pairs, ", ")
}

// durationFrom returns the reader of a duration that is at least least.
func durationFrom(least time.Duration) func(*reader, *node) (time.Duration, bool) {
	return func(r *reader, n *node) (time.Duration, bool) { return r.Duration(n, least) }
}

// sizeFrom returns the reader of a number of bytes that is at least least.
func sizeFrom(least int64) func(*reader, *node) (int64, bool) {
	return func(r *reader, n *node) (int64, bool) { return r.Size(n, least) }
}

// durationTo is durationFrom with an upper bound, which has a name.
func durationTo(least, most time.Duration, name string) func(*reader, *node) (time.Duration, bool) {
	return func(r *reader, n *node) (time.Duration, bool) {
		d, ok := r.Duration(n, least)
		if ok && d > most {
			r.Problemf(n, "", "%s %s is longer than %s", r.Key, n.Value, name)
		}
		return d, ok && d <= most
	}
}

// durationOrNone returns the reader of a duration, or of none, an older word for false. A duration
// that is shorter than least would do what effect says; false is for a task that without describes.
func durationOrNone(
	least time.Duration, without, effect string,
) func(*reader, *node) (time.Duration, bool) {
	return func(r *reader, n *node) (time.Duration, bool) {
		if n.IsScalar() && n.Value == "none" {
			return 0, true
		}
		d, ok := r.Duration(n, 0)
		if ok && d < least {
			r.Problemf(n, "write false for a task "+without, "%s %s would %s", r.Key, n.Value, effect)
		}
		return d, ok
	}
}

// integerTo returns the reader of a whole number from least to most.
func integerTo(least, most int) func(*reader, *node) (int, bool) {
	return func(r *reader, n *node) (int, bool) { return r.Integer(n, least, most) }
}

// readWord reads one of several words. The first word is the default, and false means the default.
// A wrong word is a problem and counts as fallback.
func readWord(r *reader, n *node, fallback string, words ...string) (string, bool) {
	if n.IsFalse() {
		return words[0], true
	}
	if !n.IsScalar() || n.IsNull() {
		return r.Text(n)
	}
	if word, ok := r.OneOf(n, words...); ok {
		return word, true
	}
	return fallback, true
}

// isWord returns the reader of one of two words. The result is true for the second word.
func isWord(first, second string) func(*reader, *node) (bool, bool) {
	return func(r *reader, n *node) (bool, bool) {
		word, ok := readWord(r, n, second, first, second)
		return word == second, ok
	}
}
