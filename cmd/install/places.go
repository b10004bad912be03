package install

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/schedule"
	"sched/schedule/crontab"
	"sched/schedule/humanize"
	"sched/schedule/install"
	"sched/schedule/usercrontab"
)

// A change is one place that install or uninstall would write, with its diff and the function that
// writes it.
type change struct {
	where string
	diff  []string
	apply func() error
}

// A places value has the places on this machine from which ticks of a schedule can come.
type places struct {
	app         *app.App
	schedule    *schedule.Schedule // nil for uninstall
	options     options
	userCrontab usercrontab.Crontab
	cronLine    install.Place // the line for userCrontab, or for a file of install.CronFolder
	units       install.Systemd
}

// newPlaces returns the places for a schedule by its path. The file may be gone.
func newPlaces(a *app.App, file string, o options) (*places, error) {
	program, err := app.InstalledProgram()
	if err != nil {
		return nil, err
	}
	for _, word := range []string{file, program, o.user} {
		if strings.ContainsFunc(word, unicode.IsControl) {
			return nil, exit.Usage("rename it, or call it by another path",
				"%q has a control character: what follows a line break would be a line of its own", word)
		}
	}
	root := os.Geteuid() == 0
	line := install.Line{Program: program, File: file}
	p := &places{
		app:         a,
		options:     o,
		userCrontab: usercrontab.Crontab{User: o.user},
		cronLine:    install.Place{Line: line, Folder: install.CronFolder, User: "root"},
		units: install.Systemd{
			Place:  install.Place{Line: line, Folder: install.SystemdFolder, User: o.user},
			OfUser: !root,
			Work:   o.systemd == "work",
		},
	}
	if !root {
		config, err := os.UserConfigDir()
		if err != nil {
			return nil, exit.Failed("", "where are your units of systemd? %w", err)
		}
		p.units.Folder = filepath.Join(config, "systemd/user")
	}
	return p, nil
}

// An installPlace is where install writes what calls sched.
type installPlace int

const (
	inCrontab installPlace = iota
	inCronD
	inSystemd
)

// chosen is the place that the options choose. For root it is a file of its own in /etc/cron.d,
// which no editor of crontabs opens. With --replace it is root's crontab, so that everything
// changes in one step.
func (p *places) chosen() installPlace {
	switch {
	case p.options.systemd != "":
		return inSystemd
	case os.Geteuid() == 0 && p.options.user == "" && !p.options.replace && isFolder(install.CronFolder):
		return inCronD
	}
	return inCrontab
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (p *places) crontabName() string {
	if p.userCrontab.User != "" {
		return "the crontab of " + p.userCrontab.User
	}
	return "your crontab"
}

// otherPlace names a place that has the schedule already; "" for none. The chosen place does not
// count. But a line that a person wrote there counts: install would add its own beside it.
func (p *places) otherPlace() string {
	chosen := p.chosen()
	text, _, err := p.userCrontab.Read()
	if err == nil && chosen != inCrontab && p.cronLine.IsIn(text) {
		return p.crontabName()
	}
	if line, ok := p.lineByHand(text); ok {
		return fmt.Sprintf("line %d of %s, by hand", line, p.crontabName())
	}
	if files := p.cronLine.Find(); chosen != inCronD && len(files) > 0 {
		return files[0]
	}
	if files := p.units.Find(); chosen != inSystemd && len(files) > 0 {
		return files[0]
	}
	return ""
}

// lineByHand returns the number of a line of a crontab that a person wrote to tick the schedule.
func (p *places) lineByHand(text string) (line int, ok bool) {
	for _, entry := range crontab.Parse(crontab.Source{Text: text}).Entries {
		if entry.Off || !crontab.IsTick(entry.Command) || p.cronLine.IsIn(entry.Raw) {
			continue
		}
		mentionsSchedule := strings.Contains(entry.Command, p.cronLine.File) ||
			strings.Contains(entry.Command, "cd "+filepath.Dir(p.cronLine.File)+" ")
		if mentionsSchedule {
			return entry.Line, true
		}
	}
	return 0, false
}

// installation returns the change that installs the schedule. The diff of the change is empty if
// the schedule is installed already. It is an error if everything would run twice.
func (p *places) installation() (change, error) {
	if other := p.otherPlace(); other != "" {
		return change{}, exit.Failed("`sched uninstall"+p.app.ConfigFlag()+"` first, or remove the line",
			"ticks of this schedule come already from %s; two would run everything twice", other)
	}
	addition, err := p.addition()
	if err != nil || len(addition.diff) == 0 {
		return addition, err
	}
	return addition, p.refuseDuplicates()
}

// addition returns the change that adds the schedule to its place.
func (p *places) addition() (change, error) {
	switch p.chosen() {
	case inSystemd:
		if !p.units.Startable() {
			return change{}, exit.Failed("move it, to /usr/local/bin as most do",
				"systemd starts no program with quotes or a backslash in its path: %s", p.units.Program)
		}
		return p.unitsChange(p.units.Install()), nil
	case inCronD:
		file := p.cronLine.CronD()
		edit := install.FileEdit{Files: []install.File{file}}
		return change{where: file.Path, diff: edit.Diff(), apply: edit.Apply}, nil
	}
	text, exists, err := p.userCrontab.Read()
	if err != nil {
		return change{}, exit.Failed("without cron there are `sched install --systemd` and `sched work`", "%w", err)
	}
	replace := map[int]bool{}
	if p.options.replace {
		lines := p.compareLines(crontab.Source{Name: "crontab", Text: text})
		for _, line := range lines.proven {
			replace[line] = true
		}
		if len(lines.others) > 0 {
			fmt.Fprintf(p.app.Err, "not replaced, because no task has the command: %s\n", lineNumbers(lines.others))
		}
	}
	edit := p.cronLine.AddTo(text, replace)
	p.warnOfSilence(edit.New)
	return p.crontabChange(edit, exists), nil
}

// warnOfSilence warns if cron mails nobody what the ticks print, because of an empty MAILTO above
// the line of the schedule.
func (p *places) warnOfSilence(text string) {
	for _, entry := range crontab.Parse(crontab.Source{Text: text}).Entries {
		mailTo, isSet := entry.Set["MAILTO"]
		if isSet && mailTo == "" && !entry.Off && p.cronLine.IsIn(entry.Raw) {
			p.app.WarnWithHint("write MAILTO=ADDRESS above the line of sched, or let on_failure hooks tell of failures",
				"cron mails nobody what the ticks print: line %d of %s is an empty MAILTO",
				entry.SetAt["MAILTO"], p.crontabName())
		}
	}
}

// removals returns the changes that take the schedule out of every place that has it.
func (p *places) removals() (changes []change, err error) {
	text, exists, err := p.userCrontab.Read()
	if err != nil && !errors.As(err, new(*usercrontab.ProgramError)) {
		return nil, err
	}
	if edit := p.cronLine.RemoveFrom(text); err == nil && !edit.IsNone() {
		changes = append(changes, p.crontabChange(edit, exists))
	}
	for _, path := range p.cronLine.Find() {
		edit := install.FileEdit{Files: []install.File{{Path: path}}}
		changes = append(changes, change{where: path, diff: edit.Diff(), apply: edit.Apply})
	}
	if edit := p.units.Uninstall(); len(edit.Files) > 0 {
		changes = append(changes, p.unitsChange(edit))
	}
	return changes, nil
}

// notInstalledHint says where a line may be that is in none of the places. If the schedule was
// moved, its line has the old path.
func (p *places) notInstalledHint() string {
	text, _, _ := p.userCrontab.Read()
	gone := usercrontab.Gone(text)
	files, _ := filepath.Glob(filepath.Join(install.CronFolder, "sched-*"))
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && p.options.user == "" && os.Geteuid() == 0 {
			gone = append(gone, usercrontab.Gone(string(text))...)
		}
	}
	switch {
	case len(gone) > 0 && p.options.user != "":
		return fmt.Sprintf("a line calls a schedule that is not there; `sched uninstall -c %s --user %s` takes it out",
			humanize.ShellWord(gone[0]), humanize.ShellWord(p.options.user))
	case len(gone) > 0:
		return fmt.Sprintf("a line calls a schedule that is not there; `sched uninstall -c %s` takes it out",
			humanize.ShellWord(gone[0]))
	case os.Geteuid() == 0:
		return "root's lines are in " + install.CronFolder +
			"; `crontab -l` shows the lines; --user names whose crontab it is"
	}
	return "`crontab -l` shows the lines; --user names whose crontab it is"
}

// crontabChange is an edit of the crontab. exists is false if the user has no crontab yet.
func (p *places) crontabChange(edit install.Edit, exists bool) change {
	apply := func() error {
		folder, err := install.BackupFolder(app.StateHome)
		if err != nil {
			return err
		}
		backup, err := install.Apply(p.userCrontab, edit, exists, folder, p.app.Now())
		if backup != "" {
			fmt.Fprintf(p.app.Err, "a copy of the old one is %s\n", backup)
		}
		return err
	}
	return change{where: p.crontabName(), diff: edit.Diff, apply: apply}
}

func (p *places) unitsChange(edit install.FileEdit) change {
	apply := func() error {
		err := edit.Apply()
		installs := len(edit.Files) > 0 && edit.Files[0].Text != ""
		if err == nil && p.units.OfUser && installs {
			fmt.Fprintf(p.app.Err, "hint: your systemd ends when you log out, "+
				"unless `loginctl enable-linger` keeps it\n")
		}
		return err
	}
	return change{where: "systemd (" + p.units.Folder + ")", diff: edit.Diff(), apply: apply}
}

// refuseDuplicates refuses to install beside lines of the crontab that have the commands of tasks:
// these would run twice.
func (p *places) refuseDuplicates() error {
	if place := p.linesOfTheMachine(); place != "" {
		return exit.Failed("comment them out, or let `sched takeover` make a schedule of them and do that",
			"%s would run twice: tasks of the schedule have the same command", place)
	}
	text, _, err := p.userCrontab.Read()
	if err != nil {
		return nil // without a crontab there are no lines; a later step says that it needs one
	}
	lines := p.compareLines(crontab.Source{Name: "crontab", Text: text})
	switch duplicates := len(lines.proven) > 0 && !p.options.replace; {
	case duplicates && p.options.systemd != "":
		return exit.Failed("comment them out first: crontab -e", wouldRunTwice+"tasks of the schedule do the same",
			lineNumbers(lines.proven), p.crontabName())
	case duplicates:
		return exit.Failed("--replace comments them out, and `sched uninstall"+p.app.ConfigFlag()+"` brings them back",
			wouldRunTwice+"tasks of the schedule do the same", lineNumbers(lines.proven), p.crontabName())
	case len(lines.similar) > 0:
		return exit.Failed("comment out what the tasks do (crontab -e), "+
			"or give them the times and settings of the lines", wouldRunTwice+"tasks have the same command, and other times or settings",
			lineNumbers(lines.similar), p.crontabName())
	}
	return nil
}

// linesOfTheMachine returns the lines of /etc/crontab, or of a file in /etc/cron.d, that have the
// commands of tasks; "" if no line has one. Only root starts what they start.
func (p *places) linesOfTheMachine() string {
	if os.Geteuid() != 0 || p.options.user != "" {
		return ""
	}
	files := []string{filepath.Join(filepath.Dir(install.CronFolder), "crontab")}
	inFolder, _ := filepath.Glob(filepath.Join(install.CronFolder, "*"))
	for _, file := range append(files, inFolder...) {
		text, err := os.ReadFile(file)
		if err != nil || !crontab.IsFileName(filepath.Base(file)) {
			continue
		}
		source := crontab.Source{Name: file, Text: string(text), System: true}
		if lines := p.compareLines(source); len(lines.proven)+len(lines.similar) > 0 {
			numbers := append(lines.proven, lines.similar...)
			slices.Sort(numbers)
			return lineNumbers(numbers) + " of " + file
		}
	}
	return ""
}

const wouldRunTwice = "%s of %s would run twice: "

// comparedLines are the numbers, from 1, of the lines of a crontab, in its order.
type comparedLines struct {
	proven  []int // they do the same as a task (match), in the same minutes for 28 years
	similar []int // a task has their command, and other times or settings, or is an earlier line
	others  []int // all other lines that start something
}

// compareLines compares the lines of a crontab with the schedule.
func (p *places) compareLines(source crontab.Source) (lines comparedLines) {
	table := crontab.Parse(source)
	m := newMatcher(p.app, p.schedule)
	for _, entry := range table.Entries {
		switch {
		case entry.Off: // it starts nothing
		case m.match(entry): // marks the task: the first line of several gets it
			lines.proven = append(lines.proven, entry.Line)
		case m.hasCommand(entry):
			lines.similar = append(lines.similar, entry.Line)
		case !p.cronLine.IsIn(entry.Raw):
			lines.others = append(lines.others, entry.Line)
		}
	}
	for _, f := range table.Findings {
		if f.IsOmitted {
			lines.others = append(lines.others, f.Line)
		}
	}
	return lines
}

// lineNumbers writes "lines 3, 5 and 7". It writes at most ten numbers.
func lineNumbers(numbers []int) string {
	const maxNumbers = 10
	var parts []string
	for _, number := range numbers[:min(maxNumbers, len(numbers))] {
		parts = append(parts, strconv.Itoa(number))
	}
	if more := len(numbers) - maxNumbers; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	last := len(parts) - 1
	if last == 0 {
		return "line " + parts[0]
	}
	return "lines " + strings.Join(parts[:last], ", ") + " and " + parts[last]
}
