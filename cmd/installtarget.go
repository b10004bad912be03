package cmd

import (
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/crontab"
	"sched/schedule/crontab/vixie"
	"sched/schedule/humanize"
	"sched/schedule/install"
	"sched/schedule/load"
)

// The folders of the machine. They are variables for tests.
var (
	cronFolder    = "/etc/cron.d"
	systemdFolder = "/etc/systemd/system"
	rootBackups   = "/var/lib/sched/crontabs"
)

type target struct {
	installCommand
	schedule *schedule.Schedule
	options  installOptions
	crontab  install.Crontab
	crond    install.Place
	systemd  install.Systemd
}

func (a installCommand) target(s *schedule.Schedule, o installOptions) (*target, error) {
	t, err := a.targetOf(s.File, o)
	if err != nil {
		return nil, err
	}
	t.schedule = s
	t.crond.Name, t.systemd.Name = s.Name, s.Name
	return t, nil
}

// targetOf finds the places for a schedule that may be gone.
func (a installCommand) targetOf(file string, o installOptions) (*target, error) {
	program, err := installedProgram()
	if err != nil {
		return nil, err
	}
	root := os.Geteuid() == 0
	line := install.Line{Program: program, File: file}
	t := &target{installCommand: a, options: o, crontab: install.Crontab{User: o.user}}
	t.crond = install.Place{Line: line, Folder: cronFolder, User: "root"}
	t.systemd = install.Systemd{Place: install.Place{Line: line, Folder: systemdFolder, User: o.user}, OfUser: !root, Work: o.systemd == "work"}
	if !root {
		config, err := os.UserConfigDir()
		if err != nil {
			return nil, failed("", "where are your units of systemd? %w", err)
		}
		t.systemd.Folder = filepath.Join(config, "systemd/user")
	}
	return t, nil
}

type kind int

const (
	inCrontab kind = iota
	inCronD
	inSystemd
)

// kind is the place that the options choose. Root's line goes into a file of its own, which no
// editor of crontabs opens. If lines of root's crontab are to be replaced, it goes into that
// crontab, so that all changes in one step.
func (t *target) kind() kind {
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

// elsewhere names another place that has the schedule already; "" for none.
func (t *target) elsewhere() string {
	chosen := t.kind()
	text, _, err := t.crontab.Read()
	if err == nil && chosen != inCrontab && t.crond.IsIn(text) {
		return t.crontabName()
	}
	if line := t.byHand(text); line > 0 {
		return fmt.Sprintf("line %d of %s, by hand", line, t.crontabName())
	}
	if found := t.crond.Find(); chosen != inCronD && len(found) > 0 {
		return found[0]
	}
	if found := t.systemd.Find(); chosen != inSystemd && len(found) > 0 {
		return found[0]
	}
	return ""
}

var callsRun = humanize.Pattern(`(^|[\s/])sched\s+run\b`)

// byHand returns the number of a hand-written line that ticks the schedule; 0 for none.
func (t *target) byHand(text string) int {
	for _, entry := range crontab.Parse(crontab.Source{Text: text}).Entries {
		names := strings.Contains(entry.Command, t.crond.File) || strings.Contains(entry.Command, "cd "+filepath.Dir(t.crond.File)+" ")
		if !entry.Off && callsRun().MatchString(entry.Command) && names && !t.crond.IsIn(entry.Raw) {
			return entry.Line
		}
	}
	return 0
}

func (t *target) installation() (change, error) {
	switch t.kind() {
	case inSystemd:
		if !t.systemd.Startable() {
			return change{}, failed("move it, to /usr/local/bin as most do", "systemd starts no program with quotes or a backslash in its path: %s", t.systemd.Program)
		}
		return t.unitsChange(t.systemd.Install()), nil
	case inCronD:
		file := t.crond.CronD()
		edit := install.FileEdit{Files: []install.File{file}}
		return change{file.Path, edit.Diff(), edit.Apply}, nil
	}
	text, exists, err := t.crontab.Read()
	if err != nil {
		return change{}, failed("without cron there are `sched install --systemd` and `sched work`", "%w", err)
	}
	replace := map[int]bool{}
	if t.options.replace {
		var stay []string
		if replace, stay = t.replaceable(text); len(stay) > 0 {
			fmt.Fprintf(t.err, "not replaced, because no task has the command and the times: %s\n", lineNumbers(stay))
		}
	}
	return t.crontabChange(t.crond.Add(text, replace), exists), nil
}

func (t *target) crontabChange(edit install.Edit, exists bool) change {
	return change{t.crontabName(), edit.Diff, func() error {
		folder, err := backupFolder()
		if err != nil {
			return err
		}
		backup, err := t.crontab.Apply(edit, exists, folder, t.now())
		if backup != "" {
			fmt.Fprintf(t.err, "a copy of the old one is %s\n", backup)
		}
		return err
	}}
}

func (t *target) unitsChange(edit install.FileEdit) change {
	return change{"systemd (" + t.systemd.Folder + ")", edit.Diff(), func() error {
		err := edit.Apply()
		if err == nil && t.systemd.OfUser && len(edit.Files) > 0 && edit.Files[0].Text != "" {
			fmt.Fprintf(t.err, "hint: your systemd ends when you log out, unless `loginctl enable-linger` keeps it\n")
		}
		return err
	}}
}

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

// lineNumbers writes "lines 3, 5 and 7", the first ones of many.
func lineNumbers(numbers []string) string {
	const most = 10
	if n := len(numbers); n > most {
		numbers = append(slices.Clone(numbers[:most]), fmt.Sprintf("%d more", n-most))
	}
	if n := len(numbers); n > 1 {
		return "lines " + strings.Join(numbers[:n-1], ", ") + " and " + numbers[n-1]
	}
	return "line " + strings.Join(numbers, "")
}

// replaceable finds the lines of a crontab that are proven to be tasks of the schedule: with the
// same command, in the same folder, due in the same minutes for 28 years. replace is true for the
// numbers of these lines. stay has the numbers of the other lines, which stay.
func (t *target) replaceable(text string) (replace map[int]bool, stay []string) {
	table := crontab.Parse(crontab.Source{Name: "crontab", Text: text})
	replace, found := map[int]bool{}, map[*schedule.Task]bool{}
	m := &matcher{target: t, found: found, from: t.now().UTC().Truncate(time.Minute), calendars: map[string]*vixie.Calendar{}, proven: map[string]bool{}}
	for _, entry := range table.Entries {
		if entry.Off {
			continue
		}
		is := m.isTask(entry)
		if replace[entry.Line] = is; !is && !t.crond.IsIn(entry.Raw) {
			stay = append(stay, strconv.Itoa(entry.Line))
		}
	}
	for _, f := range table.Findings {
		if f.Left {
			stay = append(stay, strconv.Itoa(f.Line))
		}
	}
	return replace, stay
}

// refuseTwice refuses to install beside lines of the crontab that are tasks of the schedule:
// everything would run twice.
func (t *target) refuseTwice() error {
	if t.options.replace {
		return nil
	}
	text, _, err := t.crontab.Read()
	if err != nil {
		return nil // without a crontab there are no lines; a later step says that it needs one
	}
	replace, _ := t.replaceable(text)
	var both []string
	for _, line := range slices.Sorted(maps.Keys(replace)) {
		if replace[line] {
			both = append(both, strconv.Itoa(line))
		}
	}
	if len(both) == 0 {
		return nil
	}
	hint := "--replace comments them out, and `sched uninstall` brings them back"
	if t.options.systemd != "" {
		hint = "comment them out first: crontab -e"
	}
	return failed(hint, "%s of %s would run twice: tasks of the schedule do the same", lineNumbers(both), t.crontabName())
}

// A matcher finds the tasks of lines, each task for one line.
type matcher struct {
	*target
	found     map[*schedule.Task]bool
	from      time.Time
	calendars map[string]*vixie.Calendar
	proven    map[string]bool // by times, zone and conditions: many lines have the same
}

// isTask reports whether the line is a task of the schedule, as import would write it, with --tidy
// or without.
func (m *matcher) isTask(entry crontab.Entry) bool {
	for _, tidy := range []bool{false, true} {
		s := crontab.Convert([]*crontab.Table{{Entries: []crontab.Entry{entry}}}, crontab.Options{Tidy: tidy})
		if len(s.Tasks) != 1 || s.Tasks[0].Times == nil && !s.Tasks[0].Boot {
			return false
		}
		opts := m.app.options()
		opts.Root = false
		imported, err := load.Text(s.YAML(nil), m.schedule.File, opts)
		if err != nil {
			return false // it was never importable
		}
		for _, task := range m.schedule.Tasks {
			if m.schedule.Active(task) && !m.found[task] && sameWork(task, imported.Tasks[0]) && m.sameTimes(task, s.Tasks[0], imported) {
				m.found[task] = true
				return true
			}
		}
	}
	return false
}

func sameWork(a, b *schedule.Task) bool {
	return a.Command.Line == b.Command.Line && len(a.Command.List) == 0 && fmt.Sprint(a.Command.Shell) == fmt.Sprint(b.Command.Shell) &&
		a.Dir == b.Dir && a.Output == b.Output && a.Timeout == b.Timeout && a.WithoutOverlapping == b.WithoutOverlapping && a.As.User == b.As.User
}

// sameTimes proves that the task runs in the minutes in which cron starts the line, as far as time
// decides.
func (m *matcher) sameTimes(task *schedule.Task, line *crontab.Task, imported *schedule.Schedule) bool {
	if len(task.ConditionCommands) > 0 {
		return false
	}
	if line.Boot || task.When.Boot {
		return line.Boot && task.When.Boot && len(task.When.Crons) == 0 && task.Conditions.String() == ""
	}
	zone := localZone()
	if line.Timezone != "" {
		zone = imported.Tasks[0].When.Location
	}
	to := m.from.AddDate(28, 0, 0)
	calendar := m.calendars[zone.String()]
	if calendar == nil {
		calendar = vixie.NewCalendar(zone, m.from, to)
		m.calendars[zone.String()] = calendar
	}
	key := fmt.Sprint(line.Times.Key(), zone, task.When, task.When.Location, task.Conditions)
	same, known := m.proven[key]
	if !known {
		same = crontab.Compare(*line.Times, calendar, runTimes(task), m.from, to) == nil
		m.proven[key] = same
	}
	return same
}

func runTimes(task *schedule.Task) func(from, to time.Time) iter.Seq[time.Time] {
	return func(from, to time.Time) iter.Seq[time.Time] {
		return func(yield func(time.Time) bool) {
			for at := range task.When.Forward(from, to) {
				if task.Conditions.FirstUnmet(at.In(task.When.Location)) == "" && !yield(at) {
					return
				}
			}
		}
	}
}
