package load

import (
	"cmp"
	"path/filepath"
	"strings"
	"unicode"

	"sched/schedule/placement"
	"sched/schedule/yamldoc"
)

// This file reads names, and texts that are much like names.

const (
	maxNameSize    = 128 // bytes
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
	return name[:min(len(name), maxNameSize)]
}

// readName reads the name of a task, a group, a mutex or a pool.
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
	if valid && len(text) <= maxNameSize {
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
		hint := "use letters, digits and . _ : / -, and begin with a letter or a digit"
		if near := nearName(text); near != "" {
			hint = yamldoc.DidYouMean(near) + " " + strings.ToUpper(hint[:1]) + hint[1:]
		}
		r.Problemf(n, hint, "%s is not a valid name", subject)
	default:
		r.Problemf(n, "", "%s is longer than 128 characters", subject)
	}
	return false
}

// nearName returns the valid name that a text is but for spaces and signs: send-mails for "send
// mails". It returns "" if a letter would be lost.
func nearName(text string) string {
	isLost := func(r rune) bool { return r > unicode.MaxASCII || r < ' ' }
	isSpelt := strings.Trim(text, nameCharacters) == "" // it begins with a sign
	if isSpelt || strings.ContainsFunc(text, isLost) || strings.Contains(text, "$") {
		return ""
	}
	isSeparator := func(r rune) bool { return !strings.ContainsRune(nameCharacters, r) }
	name := strings.TrimLeft(strings.Join(strings.FieldsFunc(text, isSeparator), "-"), punctuation)
	return name[:min(len(name), maxNameSize)]
}

// readScheduleName reads the name of the schedule, which may be a variable.
func readScheduleName(r *reader, n *node) (string, bool) {
	if !r.RefuseBool(n, yamldoc.QuotesHint) {
		return "", false
	}
	text, ok := r.Expanded(n)
	return text, ok && requireName(r, n, text)
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
	return name, ok && r.RefuseEmptied(n, name, "if a machine may have its host name")
}

// readTextfile reads the path for metrics, and warns of one that the node exporter does not read.
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

// readOneServer reads true or false. A name in its place is one of prefer.
func readOneServer(r *reader, n *node) (value, ok bool) {
	isName := n.IsScalar() && !n.IsNull() && !n.IsBool() && !n.IsInteger() && placement.ValidName(n.Value)
	if _, isPlain := yamldoc.BoolWord(n); isName && !isPlain {
		r.Problemf(n, "write `one_server: true` and `prefer: ["+yamldoc.Shorten(n.Value)+"]`",
			"%s must be true or false, not %s", r.Key, n.Describe())
		return false, false
	}
	return r.Bool(n)
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

// setTaskName reads the name of a task, which no other task may have. It is never inherited.
func setTaskName(l *loader, t *taskDraft, n *node) {
	name, ok := readName(l.Reader, n)
	if !ok {
		return
	}
	t.Name = name
	if first, isTaken := l.names[name]; isTaken {
		l.Problemf(n, "names are unique in the whole schedule, groups and includes too",
			"the name is already taken at %s", first)
		return
	}
	l.names[name] = l.PlaceOf(n)
}

// setGroup reads the name of a group of tasks, or the group that a task runs as.
func setGroup(l *loader, t *taskDraft, n *node) {
	if !t.isGroup && n.IsFalse() {
		t.As.Group = ""
	} else if !t.isGroup {
		t.As.Group, _ = readAccount(l.Reader, n)
	} else if text, ok := readName(l.Reader, n); ok {
		t.group = text
	}
}

// setMutex reads the name of a mutex. It implies without_overlapping, which is set later and can
// override that. false takes an inherited mutex away, with what it implied.
func setMutex(l *loader, t *taskDraft, n *node) {
	if n.IsFalse() {
		t.Mutex = ""
		if t.noOverlapByMutex {
			t.WithoutOverlapping, t.noOverlapByMutex = false, false
			l.Origins.CopyKey(l.Key, "without_overlapping")
		}
		return
	}
	const hint = "leave the key out for a mutex of its own name; `without_overlapping` says whether it is taken"
	if !l.RefuseBool(n, hint) {
		return
	}
	if text, ok := readName(l.Reader, n); ok {
		t.Mutex = text
		t.noOverlapByMutex = t.noOverlapByMutex || !t.WithoutOverlapping
		t.WithoutOverlapping = true
		l.Origins.CopyKey(l.Key, "without_overlapping")
	}
}
