package takeover

import (
	"fmt"
	"slices"
	"strings"

	"sched/schedule/crontab"
	"sched/schedule/humanize"
)

// This file writes the lines that are taken as one crontab, each as it stands. The settings of a
// file must not reach into the next one, and no crontab can unset a variable.

// unsetAs are the values with which cron begins, for variables that another file has set.
var unsetAs = map[string]string{"SHELL": "/bin/sh", "PATH": "/usr/bin:/bin", "MAILTO": ""}

// crontabWriter writes one crontab of several.
type crontabWriter struct {
	strings.Builder
	set  crontab.Variables
	root bool // the lines have users
}

// A lineOfFile names a line.
type lineOfFile struct {
	file string
	line int
}

// crontabOf returns the crontab with the lines of the tables, which it sorts: what sets least goes
// first. It takes lines out of the tables that no such crontab can have, and says why. title is the
// comment at the top.
func crontabOf(tables []*crontab.Table, root bool, title string) (text string, left map[lineOfFile]string) {
	slices.SortStableFunc(tables, func(a, b *crontab.Table) int { return settings(a) - settings(b) })
	w := &crontabWriter{set: crontab.Variables{}, root: root}
	fmt.Fprintf(w, "# %s\n", title)
	if root {
		w.WriteString("# sched: system\n")
	}
	left = map[lineOfFile]string{}
	for _, t := range tables {
		if len(t.Entries) > 0 {
			fmt.Fprintf(w, "\n# %s\n\n", t.Source.Name)
		}
		var kept []crontab.Entry
		for _, e := range t.Entries {
			if why := w.write(e, t.Source.System); why != "" {
				left[lineOfFile{t.Source.Name, e.Line}] = why
				continue
			}
			kept = append(kept, e)
		}
		t.Entries = kept
	}
	return w.String(), left
}

// settings counts the variables that a table sets.
func settings(t *crontab.Table) int {
	names := map[string]bool{}
	for _, e := range t.Entries {
		for name := range e.Set {
			names[name] = true
		}
	}
	return len(names)
}

var timesOf = humanize.Pattern(`^\s*(?:@\S+|\S+\s+\S+\s+\S+\s+\S+\s+\S+)\s+`)

// write writes a line below the settings that it needs. It returns why it cannot.
func (w *crontabWriter) write(e crontab.Entry, hasUser bool) (why string) {
	want := crontab.Variables{}
	for name, value := range e.Set {
		want[name] = value
	}
	for name := range w.set {
		if _, has := want[name]; has {
			continue
		}
		value, known := unsetAs[name]
		if !known {
			return "another file sets " + name + ", and no crontab can unset it: take it without --as-crontab"
		}
		want[name] = value
	}
	for _, name := range want.Names() {
		if old, has := w.set[name]; !has || old != want[name] {
			value := want[name]
			if value == "" || strings.TrimSpace(value) != value || strings.ContainsAny(value, `'"`) {
				value = `"` + value + `"`
			}
			fmt.Fprintf(w, "%s=%s\n", name, value)
			w.set[name] = want[name]
		}
	}
	line := strings.TrimSuffix(e.Raw, "\r")
	if w.root && !hasUser {
		times := timesOf().FindString(line)
		line = times + e.User + " " + line[len(times):]
	}
	w.WriteString(line + "\n")
	return ""
}
