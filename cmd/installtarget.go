package cmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sched/schedule"
	"sched/schedule/crontab"
	"sched/schedule/humanize"
	"sched/schedule/install"
)

// The folders of the machine. They are variables for tests.
var (
	cronFolder    = "/etc/cron.d"
	systemdFolder = "/etc/systemd/system"
	rootBackups   = "/var/lib/sched/crontabs"
)

// A target has the places on this machine from which ticks of a schedule can come.
type target struct {
	app      *app
	schedule *schedule.Schedule // nil for uninstall
	options  installOptions
	crontab  install.Crontab
	cron     install.Place
	systemd  install.Systemd
}

// target returns the places for a schedule.
func (a installCommand) target(s *schedule.Schedule, o installOptions) (*target, error) {
	t, err := a.targetOf(s.File, o)
	if err != nil {
		return nil, err
	}
	t.schedule = s
	t.cron.Name, t.systemd.Name = s.Name, s.Name
	return t, nil
}

// targetOf returns the places for a schedule by its path. The file may be gone.
func (a installCommand) targetOf(file string, o installOptions) (*target, error) {
	program, err := installedProgram()
	if err != nil {
		return nil, err
	}
	root := os.Geteuid() == 0
	line := install.Line{Program: program, File: file}
	t := &target{
		app:     a.app,
		options: o,
		crontab: install.Crontab{User: o.user},
		cron:    install.Place{Line: line, Folder: cronFolder, User: "root"},
		systemd: install.Systemd{
			Place:  install.Place{Line: line, Folder: systemdFolder, User: o.user},
			OfUser: !root,
			Work:   o.systemd == "work",
		},
	}
	if !root {
		config, err := os.UserConfigDir()
		if err != nil {
			return nil, failed("", "where are your units of systemd? %w", err)
		}
		t.systemd.Folder = filepath.Join(config, "systemd/user")
	}
	return t, nil
}

// An installPlace is where install writes what calls sched.
type installPlace int

const (
	inCrontab installPlace = iota
	inCronD
	inSystemd
)

// place is the place that the options choose. For root it is a file of its own in /etc/cron.d,
// which no editor of crontabs opens. With --replace it is root's crontab, so that everything
// changes in one step.
func (t *target) place() installPlace {
	switch {
	case t.options.systemd != "":
		return inSystemd
	case os.Geteuid() == 0 && t.options.user == "" && !t.options.replace && isFolder(cronFolder):
		return inCronD
	}
	return inCrontab
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (t *target) crontabName() string {
	if t.crontab.User != "" {
		return "the crontab of " + t.crontab.User
	}
	return "your crontab"
}

// otherPlace names another place that has the schedule already; "" for none.
func (t *target) otherPlace() string {
	chosen := t.place()
	text, _, err := t.crontab.Read()
	if err == nil && chosen != inCrontab && t.cron.IsIn(text) {
		return t.crontabName()
	}
	if line, ok := t.lineByHand(text); ok {
		return fmt.Sprintf("line %d of %s, by hand", line, t.crontabName())
	}
	if found := t.cron.Find(); chosen != inCronD && len(found) > 0 {
		return found[0]
	}
	if found := t.systemd.Find(); chosen != inSystemd && len(found) > 0 {
		return found[0]
	}
	return ""
}

// callsRun matches a command that calls sched run.
var callsRun = humanize.Pattern(`(^|[\s/])sched\s+run\b`)

// lineByHand returns the number of a line of a crontab that a person wrote to tick the schedule.
func (t *target) lineByHand(text string) (line int, ok bool) {
	for _, entry := range crontab.Parse(crontab.Source{Text: text}).Entries {
		if entry.Off || !callsRun().MatchString(entry.Command) || t.cron.IsIn(entry.Raw) {
			continue
		}
		mentionsSchedule := strings.Contains(entry.Command, t.cron.File) ||
			strings.Contains(entry.Command, "cd "+filepath.Dir(t.cron.File)+" ")
		if mentionsSchedule {
			return entry.Line, true
		}
	}
	return 0, false
}

// installation returns the change that installs the schedule. Its diff is empty if the schedule is
// installed already. It refuses to let everything run twice.
func (t *target) installation() (change, error) {
	if other := t.otherPlace(); other != "" {
		return change{}, failed("`sched uninstall"+t.app.configFlag()+"` first, or remove the line",
			"ticks of this schedule come already from %s; two would run everything twice", other)
	}
	addition, err := t.addition()
	if err != nil || len(addition.diff) == 0 {
		return addition, err
	}
	return addition, t.refuseTwice()
}

// addition returns the change that adds the schedule to its place.
func (t *target) addition() (change, error) {
	switch t.place() {
	case inSystemd:
		if !t.systemd.Startable() {
			return change{}, failed("move it, to /usr/local/bin as most do",
				"systemd starts no program with quotes or a backslash in its path: %s", t.systemd.Program)
		}
		return t.unitsChange(t.systemd.Install()), nil
	case inCronD:
		file := t.cron.CronD()
		edit := install.FileEdit{Files: []install.File{file}}
		return change{where: file.Path, diff: edit.Diff(), apply: edit.Apply}, nil
	}
	text, exists, err := t.crontab.Read()
	if err != nil {
		return change{}, failed("without cron there are `sched install --systemd` and `sched work`", "%w", err)
	}
	replace := map[int]bool{}
	if t.options.replace {
		proven, others := t.compareLines(text)
		for _, line := range proven {
			replace[line] = true
		}
		if len(others) > 0 {
			fmt.Fprintf(t.app.err, "not replaced, because no task has the command and the times: %s\n",
				lineNumbers(others))
		}
	}
	return t.crontabChange(t.cron.Add(text, replace), exists), nil
}

// removals returns the changes that take the schedule out of every place that has it.
func (t *target) removals() (changes []change, err error) {
	text, exists, err := t.crontab.Read()
	if err != nil && !errors.As(err, new(*install.ProgramError)) {
		return nil, err
	}
	if edit := t.cron.Remove(text); err == nil && !edit.IsNone() {
		changes = append(changes, t.crontabChange(edit, exists))
	}
	for _, path := range t.cron.Find() {
		edit := install.FileEdit{Files: []install.File{{Path: path}}}
		changes = append(changes, change{where: path, diff: edit.Diff(), apply: edit.Apply})
	}
	if edit := t.systemd.Uninstall(); len(edit.Files) > 0 {
		changes = append(changes, t.unitsChange(edit))
	}
	return changes, nil
}

// crontabChange is an edit of the crontab. exists is false if the user has no crontab yet.
func (t *target) crontabChange(edit install.Edit, exists bool) change {
	apply := func() error {
		folder, err := backupFolder()
		if err != nil {
			return err
		}
		backup, err := t.crontab.Apply(edit, exists, folder, t.app.now())
		if backup != "" {
			fmt.Fprintf(t.app.err, "a copy of the old one is %s\n", backup)
		}
		return err
	}
	return change{where: t.crontabName(), diff: edit.Diff, apply: apply}
}

// unitsChange is an edit of units of systemd.
func (t *target) unitsChange(edit install.FileEdit) change {
	apply := func() error {
		err := edit.Apply()
		installs := len(edit.Files) > 0 && edit.Files[0].Text != ""
		if err == nil && t.systemd.OfUser && installs {
			fmt.Fprintf(t.app.err, "hint: your systemd ends when you log out, "+
				"unless `loginctl enable-linger` keeps it\n")
		}
		return err
	}
	return change{where: "systemd (" + t.systemd.Folder + ")", diff: edit.Diff(), apply: apply}
}

// backupFolder is the folder for copies of crontabs.
func backupFolder() (string, error) {
	if os.Geteuid() == 0 {
		return rootBackups, nil
	}
	if state := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, "sched/crontabs"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("there is no place for a copy of the crontab: %w", err)
	}
	return filepath.Join(home, ".local/state/sched/crontabs"), nil
}
