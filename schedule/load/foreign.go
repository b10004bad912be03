package load

import (
	"path/filepath"
	"regexp"
	"slices"

	"sched/schedule/humanize"
	"sched/schedule/yamldoc"
)

// foreignFiles are the kinds of files of other programs that people give to check and import: its
// name, the kind by which import takes it (--from; "" if it does not), the page of ours for people
// who come from that program, and regular expressions that the text matches, all of them. The first
// one that fits counts.
var foreignFiles = []struct {
	name, kind, page string
	marks            []string
}{
	{"a PHP file, such as Laravel's Kernel.php", "laravel", "docs/from-laravel.md", []string{`^\s*<\?php`}},
	{"an INI file of ofelia", "ofelia", "docs/from-others.md#ofelia",
		[]string{`(?m)^\s*\[job-(exec|run|local|service-run|compose|lifecycle)\b`}},
	{"a unit of systemd", "systemd", "docs/from-others.md#systemd-timers",
		[]string{`(?m)^\[(Unit|Timer|Service|Install)\]\s*$`}},
	{"a CronJob of Kubernetes", "kubernetes", "docs/from-others.md#kubernetes",
		[]string{`(?m)^["']?kind["']?: *["']?CronJob\b`}},
	{"a manifest of Kubernetes", "", "docs/from-others.md#kubernetes", []string{`(?m)^apiVersion:`, `(?m)^kind:`}},
	{"a workflow of GitHub Actions", "github-actions", "docs/from-others.md#github-actions",
		[]string{`(?m)^["']?on["']?:`, `(?m)^jobs:`}},
	{"a Compose file with labels of ofelia", "ofelia", "docs/from-others.md#ofelia",
		[]string{`(?m)^services:`, `(?m)^\s+-?\s*["']?ofelia\.`}},
	{"a Compose file", "", "docs/work.md", []string{`(?m)^services:`, `(?m)^ +image:|^ +build:`}},
	{"a TOML file of RunWisp", "runwisp", "docs/from-others.md",
		[]string{`(?m)^\s*\[tasks\.[^\]]+\]\s*(#.*)?$`, `(?m)^\s*(run|compose_file)\s*=`}},
	{"a file of yacron or cronstable", "yacron", "docs/instead-of-yacron.md",
		[]string{`(?m)^jobs:\s*(#.*)?$`, `(?m)^\s+-?\s*schedule:`}},
}

// ownKey matches a key that only a schedule of sched has at its top.
var ownKey = humanize.Pattern(`(?m)^(tasks|defaults|groups|include):`)

// Foreign says why a file can be neither a schedule nor a crontab: it is not in UTF-8, or another
// program reads it. The problem is "" for any other file.
func Foreign(text []byte) (problem, hint string) {
	if yamldoc.IsUTF16(text) {
		return "the file is in UTF-16", yamldoc.UTF16Hint
	}
	if ownKey().Match(text) {
		return "", ""
	}
	for _, file := range foreignFiles {
		fits := func(mark string) bool { return regexp.MustCompile(mark).Match(text) }
		if !slices.ContainsFunc(file.marks, func(mark string) bool { return !fits(mark) }) {
			hint = file.page + " says what to write for it"
			if file.kind != "" {
				hint = "`sched import --from " + file.kind + "` makes tasks of it: " + file.page
			}
			return "this is " + file.name + ", and no schedule of sched", hint
		}
	}
	return "", ""
}

// crontabText matches a text whose first line, after comments and settings, is a line of a crontab.
var crontabText = humanize.Pattern(`^(?:[ \t]*(?:#.*)?\n|[ \t]*[A-Z_]+[ \t]*=.*\n)*[ \t]*` +
	`(?:@(?:reboot|yearly|annually|monthly|weekly|daily|midnight|hourly)|` +
	`[-\d*/,]+[ \t]+[-\d*/,]+[ \t]+[-\d*/,]+(?:[ \t]+[-\w*/,]+){2})[ \t]+\S`)

// crontabAsYAML says that a file is a crontab, though its name says YAML. The problem is "" for any
// other file.
func crontabAsYAML(name string, text []byte) (problem, hint string) {
	ext := filepath.Ext(name)
	if ext != ".yaml" && ext != ".yml" || ownKey().Match(text) || !crontabText().Match(text) {
		return "", ""
	}
	return "this is a crontab, and its name says that it is YAML",
		"name it without " + ext + ", or `sched import " + name + "` makes a schedule of it"
}
