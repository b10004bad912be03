package cmd

import (
	"io"
	"os"
	"os/user"
	"path/filepath"

	"sched/schedule/crontab"
	"sched/schedule/install"
	"sched/schedule/text"
)

// The crontabs of the machine.
const (
	systemCrontab = "/etc/crontab"
	systemFolder  = "/etc/cron.d"
)

// sources reads the crontabs that the options name, and says in words what they are.
func (a importCommand) sources(o importOptions) (sources []crontab.Source, from string, err error) {
	switch {
	case o.file == "-":
		all, err := io.ReadAll(a.in)
		if err != nil {
			return nil, "", failed("", "cannot read stdin: %w", err)
		}
		return []crontab.Source{{Name: "stdin", Text: string(all), System: o.system}}, "a crontab", nil
	case o.file != "":
		sources, err = a.sourceOf(o.file, o.system, o.file)
		return sources, filepath.Base(o.file), err
	case o.system:
		for _, path := range []string{systemCrontab, systemFolder} {
			found, err := a.sourceOf(path, true, path)
			if err != nil && !os.IsNotExist(err) {
				return nil, "", err
			}
			sources = append(sources, found...)
		}
		if len(sources) == 0 {
			return nil, "", failed("", "there is neither %s nor a file in %s", systemCrontab, systemFolder)
		}
		return sources, systemCrontab + " and " + systemFolder, nil
	}
	return a.userCrontab(o.user)
}

// userCrontab reads the crontab of a user; "" is the user of this process.
func (a importCommand) userCrontab(name string) ([]crontab.Source, string, error) {
	whose := name
	if whose == "" {
		whose = caller()
		if u, err := user.Current(); err == nil {
			whose = u.Username
		}
	}
	content, exists, err := install.Crontab{User: name}.Read()
	if err != nil {
		return nil, "", failed("name a file, or - for stdin", "%w", err)
	}
	if !exists {
		return nil, "", failed("`sched import --system` reads those of the machine; a FILE can be named, too", "%s has no crontab", whose)
	}
	return []crontab.Source{{Name: "crontab", Text: content}}, "the crontab of " + whose, nil
}

// sourceOf reads a file, or the files of a folder whose names cron accepts.
func (a importCommand) sourceOf(path string, system bool, name string) (sources []crontab.Source, err error) {
	entries, err := os.ReadDir(path)
	if err != nil { // it is no folder
		content, err := os.ReadFile(path)
		if err != nil {
			if os.IsNotExist(err) && name == path && (path == systemCrontab || path == systemFolder) {
				return nil, err
			}
			return nil, failed("", "cannot read %s: %w", name, text.WithoutPath(err))
		}
		return []crontab.Source{{Name: name, Text: string(content), System: system}}, nil
	}
	for _, entry := range entries {
		inner := filepath.Join(path, entry.Name())
		info, err := os.Stat(inner)
		switch {
		case err != nil || !info.Mode().IsRegular() || entry.Name() == ".placeholder":
		case !crontab.IsFileName(entry.Name()):
			a.problem("%s is not read: cron takes only names of letters, digits, _ and -", inner)
		default:
			found, err := a.sourceOf(inner, system, inner)
			if err != nil {
				return nil, err
			}
			sources = append(sources, found...)
		}
	}
	return sources, nil
}

// homeOf finds the home folder of a user of this machine.
func homeOf(name string) (dir string, ok bool) {
	u, err := user.Lookup(name)
	if err != nil {
		return "", false
	}
	return u.HomeDir, true
}
