package machine

import (
	"path"
	"slices"
	"strings"

	"sched/schedule/crontab"
	"sched/schedule/humanize"
)

// This file lists the files of cron.daily and its like, which run-parts starts one after another.

const anacrontab = "/etc/anacrontab"

// runParts finds the folder that a command gives to run-parts. With --regex and its like run-parts
// takes other names, and with --test it starts nothing: such a line is listed as it stands.
var runParts = humanize.Pattern(`\brun-parts\s+` +
	`(?:(?:--report|--verbose|-v|--exit-on-error|--new-session|--reverse|--stdin|--umask=\S+|--arg=\S+|--)\s+)*` +
	`(/[^\s;&|)}"']+)`)

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
	passesOver := namesPassedOver(s, folder)
	for _, name := range names {
		file := path.Join(folder, name)
		found, err := s.files.look(file)
		if name[0] == '.' || err == nil && found.mode.IsDir() {
			continue
		}
		j := by
		j.Kind, j.Place, j.Command, j.LineOff = RunParts, file, file, by.Off
		why := passesOver(name)
		if why == "" && err == nil && !found.mode.IsRegular() {
			why = "it is no plain file"
		}
		j.Skipped = why != ""
		switch {
		case j.Skipped:
			j.setOff(why)
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

// The reasons for which a file is passed over by its name.
const (
	notPlainName = "its name is not of letters, digits, _ and - alone"
	copyName     = "its name is one of a copy"
)

// namesPassedOver returns a function that says why run-parts never starts a file of a name in a
// folder; "" if it does. In Fedora it is a script, which takes dots and reads jobs.deny and
// jobs.allow.
func namesPassedOver(s *survey, folder string) func(name string) (why string) {
	if !hasFedorasRunParts(s) {
		return func(name string) string {
			if crontab.IsFileName(name) {
				return ""
			}
			return notPlainName
		}
	}
	list := func(name string) (names []string, exists bool) {
		found, err := s.files.read(path.Join(folder, name))
		return strings.Split(found.text, "\n"), err == nil
	}
	denied, _ := list("jobs.deny")
	allowed, hasAllowed := list("jobs.allow")
	return func(name string) string {
		hasEnd := func(end string) bool { return strings.HasSuffix(name, end) }
		ends := []string{"~", ",", ",v", ".rpmsave", ".rpmorig", ".rpmnew", ".swp", ".cfsaved"}
		switch {
		case slices.ContainsFunc(ends, hasEnd):
			return copyName
		case slices.Contains(denied, name):
			return "jobs.deny names it"
		case hasAllowed && !slices.Contains(allowed, name):
			return "jobs.allow does not name it"
		}
		return ""
	}
}

// hasFedorasRunParts reports whether run-parts is the script of Fedora, and not the program of
// Debian or of busybox.
func hasFedorasRunParts(s *survey) bool {
	for _, folder := range []string{"/usr/bin", "/bin", "/usr/sbin"} {
		program := path.Join(folder, "run-parts")
		if found, err := s.files.read(program); err == nil {
			return strings.HasPrefix(found.text, "#!")
		}
		if s.files.has(program) {
			return false
		}
	}
	return !s.debian && !s.files.has("/etc/debian_version")
}

// leavesToSystemd matches a script that ends at once if systemd runs, as packages of Debian have
// them.
var leavesToSystemd = humanize.Pattern(
	`(?m)^\s*(if )?(\[|test) -[de] /run/systemd/system/?( \])?( && \[ "\$\w+" != "systemd-timer" \])?` +
		`(\s*&&|\s*;?\s*then)(\s|#.*)*exit 0|^\s*\[ ! -[de] /run/systemd/system \] \|\| exit 0`)
