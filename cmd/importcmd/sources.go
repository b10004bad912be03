package importcmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/schedule/crontab"
	"sched/schedule/humanize"
	"sched/schedule/install"
	"sched/schedule/yamldoc"
)

const (
	systemCrontab = "/etc/crontab"
	systemFolder  = "/etc/cron.d"
)

// readSources reads the crontabs that the options name; from describes them.
func readSources(a *app.App, o options) (sources []crontab.Source, from string, err error) {
	switch {
	case o.file == "-":
		text, err := io.ReadAll(a.In)
		if err != nil {
			return nil, "", exit.Failed("", "cannot read stdin: %w", err)
		}
		return []crontab.Source{{Name: "stdin", Text: string(text), System: o.system}}, "a crontab", nil
	case o.file != "":
		sources, err = sourcesIn(a, o.file, o.system)
		return sources, filepath.Base(o.file), err
	case o.system:
		for _, path := range []string{systemCrontab, systemFolder} {
			inPath, err := sourcesIn(a, path, true)
			if err != nil && !os.IsNotExist(err) {
				return nil, "", err
			}
			sources = append(sources, inPath...)
		}
		if len(sources) == 0 {
			return nil, "", exit.Failed("", "there is neither %s nor a file in %s", systemCrontab, systemFolder)
		}
		return sources, systemCrontab + " and " + systemFolder, nil
	}
	return userCrontab(o.user)
}

// userCrontab reads the crontab of a user, and describes it. "" is the user of this process.
func userCrontab(name string) (sources []crontab.Source, from string, err error) {
	whose := name
	if whose == "" {
		whose = app.PersonName()
		if u, err := user.Current(); err == nil {
			whose = u.Username
		}
	}
	content, exists, err := install.Crontab{User: name}.Read()
	if err != nil {
		if _, err := user.Lookup(whose); errors.As(err, new(user.UnknownUserError)) {
			return nil, "", exit.Failed("", "there is no user %q on this machine", whose)
		}
		return nil, "", exit.Failed("name a file, or - for stdin", "%w", err)
	}
	if !exists {
		return nil, "", exit.Failed(
			"`sched import --system` reads the crontabs of the machine; a FILE can be named, too",
			"%s has no crontab", whose)
	}
	return []crontab.Source{{Name: "crontab", Text: content}}, "the crontab of " + whose, nil
}

// sourcesIn reads a file, or the files of a folder whose names cron accepts.
func sourcesIn(a *app.App, path string, system bool) (sources []crontab.Source, err error) {
	entries, err := os.ReadDir(path)
	if err != nil { // it is no folder
		source, err := sourceOf(a, path, system)
		if err != nil {
			return nil, err
		}
		return []crontab.Source{source}, nil
	}
	for _, entry := range entries {
		inner := filepath.Join(path, entry.Name())
		info, err := os.Stat(inner)
		if err != nil || !info.Mode().IsRegular() || entry.Name() == ".placeholder" {
			continue
		}
		switch {
		case !crontab.IsFileName(entry.Name()):
			a.Warn("%s is not read: cron takes only names of letters, digits, _ and -", inner)
		default:
			source, err := sourceOf(a, inner, system)
			if err != nil {
				return nil, err
			}
			sources = append(sources, source)
		}
	}
	return sources, nil
}

// sourceOf reads a file. If system is false, it finds out whether the lines have users.
func sourceOf(a *app.App, path string, system bool) (crontab.Source, error) {
	content, err := os.ReadFile(path)
	if os.IsNotExist(err) && (path == systemCrontab || path == systemFolder) {
		return crontab.Source{}, err
	}
	if err != nil {
		return crontab.Source{}, exit.Failed("", "cannot read %s: %w", path, humanize.WithoutPath(err))
	}
	if !system {
		full, _ := filepath.Abs(path)
		isUser := func(name string) bool { _, ok := app.HomeOf(name); return ok }
		format, problem, _ := crontab.FormatOf(full, string(content), false, isUser)
		if format == crontab.Unclear && !yamldoc.IsMapping(content) {
			fmt.Fprintf(a.Err, "%s: %s\n  hint: if they are users, add --system\n", path, problem)
		}
		system = format == crontab.System
	}
	return crontab.Source{Name: path, Text: string(content), System: system}, nil
}
