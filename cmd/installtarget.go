package cmd

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"
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

// A target has the places on this machine from which ticks of a schedule can come.
type target struct {
	app      *app
	schedule *schedule.Schedule // nil for uninstall
	options  installOptions
	crontab  install.Crontab
	crond    install.Place
	systemd  install.Systemd
}

// target returns the places for a schedule.
func (a installCommand) target(s *schedule.Schedule, o installOptions) (*target, error) {
	t, err := a.targetOf(s.File, o)
	if err != nil {
		return nil, err
	}
	t.schedule = s
	t.crond.Name, t.systemd.Name = s.Name, s.Name
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
		crond:   install.Place{Line: line, Folder: cronFolder, User: "root"},
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
	if err == nil && chosen != inCrontab && t.crond.IsIn(text) {
		return t.crontabName()
	}
	if line, ok := t.lineByHand(text); ok {
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

// callsRun matches a command that calls sched run.
var callsRun = humanize.Pattern(`(^|[\s/])sched\s+run\b`)

// lineByHand returns the number of a line of a crontab that a person wrote to tick the schedule.
func (t *target) lineByHand(text string) (line int, ok bool) {
	for _, entry := range crontab.Parse(crontab.Source{Text: text}).Entries {
		if entry.Off || !callsRun().MatchString(entry.Command) || t.crond.IsIn(entry.Raw) {
			continue
		}
		mentionsSchedule := strings.Contains(entry.Command, t.crond.File) ||
			strings.Contains(entry.Command, "cd "+filepath.Dir(t.crond.File)+" ")
		if mentionsSchedule {
			return entry.Line, true
		}
	}
	return 0, false
}

// installation returns the change that installs the schedule. Its diff is empty if the schedule is
// installed already.
func (t *target) installation() (change, error) {
	switch t.place() {
	case inSystemd:
		if !t.systemd.Startable() {
			return change{}, failed("move it, to /usr/local/bin as most do",
				"systemd starts no program with quotes or a backslash in its path: %s", t.systemd.Program)
		}
		return t.unitsChange(t.systemd.Install()), nil
	case inCronD:
		file := t.crond.CronD()
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
	return t.crontabChange(t.crond.Add(text, replace), exists), nil
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

// lineNumbers writes "lines 3, 5 and 7". It writes at most ten numbers.
func lineNumbers(numbers []int) string {
	const most = 10
	var parts []string
	for _, number := range numbers[:min(most, len(numbers))] {
		parts = append(parts, strconv.Itoa(number))
	}
	if more := len(numbers) - most; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	last := len(parts) - 1
	if last == 0 {
		return "line " + parts[0]
	}
	return "lines " + strings.Join(parts[:last], ", ") + " and " + parts[last]
}

// compareLines compares the lines of a crontab with the schedule. The lines of proven are tasks of
// the schedule: they have the same command and folder, and are due in the same minutes for 28
// years. The lines of others are not. Both are numbers from 1, in the order of the crontab.
func (t *target) compareLines(text string) (proven, others []int) {
	table := crontab.Parse(crontab.Source{Name: "crontab", Text: text})
	m := newMatcher(t.app, t.schedule)
	for _, entry := range table.Entries {
		switch {
		case entry.Off:
		case m.match(entry):
			proven = append(proven, entry.Line)
		case !t.crond.IsIn(entry.Raw):
			others = append(others, entry.Line)
		}
	}
	for _, f := range table.Findings {
		if f.Left {
			others = append(others, f.Line)
		}
	}
	return proven, others
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
	duplicates, _ := t.compareLines(text)
	if len(duplicates) == 0 {
		return nil
	}
	hint := "--replace comments them out, and `sched uninstall` brings them back"
	if t.options.systemd != "" {
		hint = "comment them out first: crontab -e"
	}
	return failed(hint, "%s of %s would run twice: tasks of the schedule do the same",
		lineNumbers(duplicates), t.crontabName())
}

// A matcher finds the tasks that do the same as lines of a crontab.
type matcher struct {
	options   load.Options // to load a line as a task
	schedule  *schedule.Schedule
	matched   map[*schedule.Task]bool // a task is found for one line alone
	from, to  time.Time               // times are compared in this span
	calendars map[string]*vixie.Calendar
	proven    map[string]bool // by times, zone and conditions: many lines have the same
}

func newMatcher(a *app, s *schedule.Schedule) *matcher {
	options := a.options()
	options.Root = false
	from := a.now().UTC().Truncate(time.Minute)
	return &matcher{
		options:   options,
		schedule:  s,
		matched:   map[*schedule.Task]bool{},
		from:      from,
		to:        from.AddDate(28, 0, 0), // the calendar repeats after 28 years
		calendars: map[string]*vixie.Calendar{},
		proven:    map[string]bool{},
	}
}

// match finds a task for the line, as import would write the line, with --tidy or without. It
// reports whether there is such a task, and does not find that task again.
func (m *matcher) match(entry crontab.Entry) bool {
	for _, tidy := range []bool{false, true} {
		table := &crontab.Table{Entries: []crontab.Entry{entry}}
		s := crontab.Convert([]*crontab.Table{table}, crontab.Options{Tidy: tidy})
		if len(s.Tasks) != 1 || s.Tasks[0].Times == nil && !s.Tasks[0].Boot {
			return false
		}
		imported, err := load.Text(s.YAML(nil), m.schedule.File, m.options)
		if err != nil {
			return false // it was never importable
		}
		for _, task := range m.schedule.Tasks {
			if !m.schedule.Active(task) || m.matched[task] {
				continue
			}
			if sameWork(task, imported.Tasks[0]) && m.sameTimes(task, s.Tasks[0], imported) {
				m.matched[task] = true
				return true
			}
		}
	}
	return false
}

// sameWork reports whether a task does the same as a task that was imported from a line.
func sameWork(a, b *schedule.Task) bool {
	sameCommand := a.Command.Line == b.Command.Line && len(a.Command.List) == 0 &&
		fmt.Sprint(a.Command.Shell) == fmt.Sprint(b.Command.Shell)
	return sameCommand &&
		a.Dir == b.Dir &&
		a.Output == b.Output &&
		a.Timeout == b.Timeout &&
		a.WithoutOverlapping == b.WithoutOverlapping &&
		a.As.User == b.As.User
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
	key := fmt.Sprint(line.Times.Key(), zone, task.When, task.When.Location, task.Conditions)
	same, known := m.proven[key]
	if !known {
		same = crontab.Compare(*line.Times, m.calendarFor(zone), runTimes(task), m.from, m.to) == nil
		m.proven[key] = same
	}
	return same
}

// calendarFor returns the calendar of cron in the zone, for the span of the matcher.
func (m *matcher) calendarFor(zone *time.Location) *vixie.Calendar {
	calendar := m.calendars[zone.String()]
	if calendar == nil {
		calendar = vixie.NewCalendar(zone, m.from, m.to)
		m.calendars[zone.String()] = calendar
	}
	return calendar
}

// runTimes returns the times at which a task is due and its conditions hold.
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
