package machine

import (
	"path"
	"strings"

	"sched/schedule/crontab"
	"sched/schedule/humanize"
)

// This file lists the files of cron.daily and its like, which run-parts starts one after another.

const anacrontab = "/etc/anacrontab"

// runParts finds the folder that a command gives to run-parts.
var runParts = humanize.Pattern(`\brun-parts\s+(?:-\S+\s+)*(/[^\s;&|)}"']+)`)

func runPartsFolder(command string) string {
	if found := runParts().FindStringSubmatch(command); found != nil {
		return path.Clean(found[1])
	}
	return ""
}

// listFolder lists the files of a folder that the job gives to run-parts, in their order. It
// returns false if there are no such files.
func listFolder(s *survey, by Job, folder string) (listed bool) {
	names, err := s.files.names(folder)
	s.unread(folder, err)
	for _, name := range names {
		file := path.Join(folder, name)
		found, err := s.files.look(file)
		if name[0] == '.' || err == nil && found.mode.IsDir() {
			continue
		}
		j := by
		j.Kind, j.Place, j.Command, j.LineOff = RunParts, file, file, by.Off
		switch {
		case !takesName(s, name):
			j.setOff("its name is not of letters, digits, _ and - alone")
		case err != nil && !s.files.has(file):
			j.setOff("it is a link to " + found.link + ", which is not there")
		case err == nil && found.mode&0o111 == 0:
			j.setOff("it is not executable")
		}
		if j.Off != "" && by.Off == "" {
			s.odd(file, j.User, "", "run-parts passes it over: %s", j.Off)
		}
		if err == nil && found.mode&0o022 != 0 && j.Off == "" {
			s.odd(file, j.User, "chmod go-w "+humanize.ShellWord(file),
				"others than its owner may write it, and %s runs it", j.User)
		}
		if s.systemd && err == nil && j.Off == "" {
			if script, _ := s.files.read(file); leavesToSystemd().MatchString(script.text) {
				j.setOff("it does nothing while systemd runs")
			}
		}
		s.add(j)
		listed = true
	}
	return listed
}

// takesName reports whether run-parts starts a file of that name. Fedora's takes dots.
func takesName(s *survey, name string) bool {
	if s.debian || s.files.has("/etc/debian_version") {
		return crontab.IsFileName(name)
	}
	return !strings.HasSuffix(name, "~") && !strings.HasSuffix(name, ",") && !strings.Contains(name, ".rpm")
}

// leavesToSystemd matches a script that ends at once if systemd runs, as packages of Debian have
// them.
var leavesToSystemd = humanize.Pattern(
	`(?m)^\s*(if )?(\[|test) -[de] /run/systemd/system/?( \])?( && \[ "\$\w+" != "systemd-timer" \])?` +
		`(\s*&&|\s*;?\s*then)(\s|#.*)*exit 0|^\s*\[ ! -[de] /run/systemd/system \] \|\| exit 0`)
