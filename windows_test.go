package main

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sched/testing/machine"
)

// A window is a package through which people look. It can be deleted: its folder, and its rows in
// the table of commands. Here are the windows below schedule/, each with the other windows that
// look through it and go with it; each package below cmd/ that is not in commandGround is one, too.
var windows = map[string][]string{
	"schedule/lint":   {"cmd/check"},
	"schedule/doctor": {"cmd/doctor"},
	"schedule/machine": {"cmd/machine", "schedule/serve/web", "cmd/serve", "schedule/takeover", "cmd/takeover",
		"schedule/systemd", "cmd/importcmd"},
	"schedule/machine/oncalendar": {"schedule/machine", "cmd/machine", "schedule/serve/web", "cmd/serve",
		"schedule/takeover", "cmd/takeover", "schedule/systemd", "cmd/importcmd", "schedule/dialect", "schedule/foreign",
		"cmd/explain"},
	"schedule/dialect":  {"cmd/explain", "schedule/foreign", "cmd/importcmd"},
	"schedule/systemd":  {"cmd/importcmd"},
	"schedule/foreign":  {"cmd/importcmd"},
	"schedule/takeover": {"cmd/takeover"},
	"schedule/install":  {"cmd/install", "schedule/takeover", "cmd/takeover", "schedule/systemd/export", "cmd/export"},
	"schedule/crontab/proof": {"cmd/importcmd", "cmd/install", "schedule/crontab/export", "schedule/crontab/cover", "schedule/kubernetes",
		"schedule/systemd/export", "cmd/export",
		"schedule/takeover", "cmd/takeover"},
	"schedule/crontab/export": {"cmd/export", "schedule/crontab/cover", "schedule/kubernetes",
		"schedule/systemd/export"},
	"schedule/crontab/cover":  {"schedule/kubernetes", "schedule/systemd/export", "cmd/export"},
	"schedule/systemd/export": {"cmd/export"},
	"schedule/kubernetes":     {"cmd/export"},
	"schedule/forecast": {"cmd/forecast", "cmd/list", "schedule/serve", "schedule/serve/web", "cmd/serve",
		"cmd/propose"},
	"schedule/serve":     {"schedule/serve/web", "cmd/serve", "cmd/propose"},
	"schedule/serve/web": {"cmd/serve"},
	"schedule/mcp":       {"cmd/mcp"},
	"schedule/proposal":  {"cmd/propose", "cmd/status", "schedule/serve", "schedule/serve/web", "cmd/serve"},
}

// windowGround are the packages on which windows stand, beside the core: no window but these may
// be imported by many.
var windowGround = []string{"schedule/view", "schedule/control", "schedule/preflight"}

// commandGround are the packages below cmd/ that commands share, and those without which sched does
// not run: it starts itself with `finish`, and cobra asks for `completion` first.
var commandGround = []string{"cmd/terminal", "cmd/exit", "cmd/console", "cmd/flags", "cmd/app", "cmd/follow",
	"cmd/report", "cmd/finish", "cmd/completion"}

func TestTheCoreImportsNoWindow(t *testing.T) {
	t.Parallel()
	above := append(slices.Collect(maps.Keys(windows)), windowGround...)
	for dir, imported := range importsOf(t) {
		if !strings.HasPrefix(dir, "schedule") && !strings.HasPrefix(dir, "mutex") || slices.Contains(above, dir) {
			continue
		}
		for _, name := range imported {
			if slices.Contains(above, name) || strings.HasPrefix(name, "cmd") {
				t.Errorf("%s imports the window %s", dir, name)
			}
		}
	}
}

func TestWindowsAreImportedAsTheTableSays(t *testing.T) {
	t.Parallel()
	importers := map[string][]string{}
	for dir, imported := range importsOf(t) {
		for _, name := range imported {
			if _, is := windows[name]; is {
				importers[name] = append(importers[name], dir)
			}
		}
	}
	for window, goAlong := range windows {
		for _, dir := range importers[window] {
			if !slices.Contains(goAlong, dir) {
				t.Errorf("%s imports %s", dir, window)
			}
		}
	}
}

func TestTheRestIsBuiltWithoutAWindow(t *testing.T) {
	t.Parallel()
	all := slices.Collect(maps.Keys(windows))
	var commands []string
	for dir := range importsOf(t) {
		if strings.HasPrefix(dir, "cmd/") && !slices.Contains(commandGround, dir) {
			all, commands = append(all, dir), append(commands, dir)
		}
	}
	t.Run("any", func(t *testing.T) { buildWithout(t, all) })
	for window, goAlong := range windows {
		t.Run(window, func(t *testing.T) {
			machine.Slow(t)
			buildWithout(t, append(slices.Clone(goAlong), window))
		})
	}
	for _, command := range commands {
		t.Run(command, func(t *testing.T) {
			machine.Slow(t)
			buildWithout(t, []string{command})
		})
	}
}

// buildWithout builds sched as if the folders and their rows in the table of commands were deleted.
func buildWithout(t *testing.T, folders []string) {
	replaced := map[string]string{} // paths for `go build -overlay`; "" deletes a file
	add := func(name, by string) {
		path, err := filepath.Abs(name)
		if err != nil {
			t.Fatal(err)
		}
		replaced[path] = by
	}
	table := text(t, "cmd/root.go")
	for _, folder := range folders {
		names, _ := filepath.Glob(folder + "/*.go")
		for _, name := range names {
			add(name, "")
		}
		if name, isCommand := strings.CutPrefix(folder, "cmd/"); isCommand {
			table = strings.ReplaceAll(table, "\t\"sched/"+folder+"\"\n", "")
			table = regexp.MustCompile(`\{"[a-z]+", `+name+`\.New\w*\},?`).ReplaceAllString(table, "")
		}
	}
	dir := t.TempDir()
	root := filepath.Join(dir, "root.go")
	if err := os.WriteFile(root, []byte(table), 0o600); err != nil {
		t.Fatal(err)
	}
	add("cmd/root.go", root)
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-overlay", file, "-o", filepath.Join(dir, "sched"), ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("without %s: %v\n%s", strings.Join(folders, ", "), err, out)
	}
}

// importsOf returns which of our packages each of our packages imports.
func importsOf(t *testing.T) map[string][]string {
	all := map[string][]string{}
	for _, name := range sources(t) {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.ToSlash(filepath.Dir(name))
		imported, _ := uses(file)
		for _, path := range imported {
			if inner, is := strings.CutPrefix(path, "sched/"); is {
				all[dir] = append(all[dir], inner)
			}
		}
	}
	return all
}
