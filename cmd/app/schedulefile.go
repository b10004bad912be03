package app

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sched/cmd/console"
	"sched/cmd/exit"
	"sched/mutex"
	"sched/mutex/stores"
	"sched/schedule"
	"sched/schedule/account"
	"sched/schedule/humanize"
	"sched/schedule/load"
	"sched/schedule/notify"
	"sched/schedule/preflight"
	"sched/schedule/process"
	"sched/schedule/statedir"
	"sched/schedule/tick/plan"
	"sched/schedule/ticknote"
	"sched/schedule/view"
)

// A ScheduleFile finds and reads the schedule that the flags name.
type ScheduleFile struct {
	console.Console
	Machine
	Config string // --config
	System bool   // --system

	// ReadOnly says that the command only reads. Such a command writes nothing, neither into the
	// state folder nor to the store. It works for everybody who may read the files. Root looks at
	// the schedule of another user as that user (becomeOwner).
	ReadOnly bool

	// IsTick says that the command is a tick, so only its own variables say which server this is.
	// Other commands take them from the last ticks where their shell lacks them: a server may have
	// its name from its crontab or its unit.
	IsTick bool

	WantOrigins bool   // the command says from which key or file a value comes
	Owner       int    // as whom root looks (becomeOwner); 0: as itself
	found       string // by FindConfig, without --config: a process looks for its schedule once
}

// FindConfig returns the path from --config or $SCHED_CONFIG, else the first usual .yaml or .yml. A
// process looks once: if the file is gone later, no other file takes its place.
func (f *ScheduleFile) FindConfig() (string, error) {
	if err := checkServerName(); err != nil {
		return "", err
	}
	if file := f.NamedConfig(); file != "" {
		return file, nil
	}
	if f.found != "" {
		return f.found, nil
	}
	places := []string{"schedule.yaml"}
	if home, err := os.UserHomeDir(); err == nil {
		places = append(places, filepath.Join(home, ".config/sched/schedule.yaml"))
	}
	places = append(places, "/etc/sched/schedule.yaml")
	for _, place := range places {
		for _, spelling := range []string{place, strings.TrimSuffix(place, ".yaml") + ".yml"} {
			if _, err := os.Stat(spelling); err == nil {
				f.found = spelling
				return spelling, nil
			}
		}
	}
	hint := "`sched init` writes a first one, `-c crontab` takes a crontab as it is; " +
		"--config or $SCHED_CONFIG name another file"
	if path, err := filepath.Abs(places[0]); err == nil {
		if _, err := plan.LastValid(filepath.Join(filepath.Dir(path), ".sched"), path); err == nil {
			hint = "ticks have run " + path + ", and nothing runs while it is gone: was it deleted, or renamed?"
		}
	}
	return "", exit.Usage(hint, "there is no schedule: looked for %s, each also as .yml", strings.Join(places, ", "))
}

// NamedConfig returns the path from --config or $SCHED_CONFIG; "" if neither names one.
func (f *ScheduleFile) NamedConfig() string { return cmp.Or(f.Config, os.Getenv("SCHED_CONFIG")) }

// Options says how this process loads a schedule. For root the schedule must be one that only root
// can change. To look at another one root becomes its owner first (becomeOwner).
func (f *ScheduleFile) Options() load.Options {
	return load.Options{
		Getenv:            f.lookup,
		Root:              os.Geteuid() == 0,
		Server:            f.ServerName,
		Labels:            f.labels,
		Local:             LocalZone(),
		Home:              HomeOf,
		System:            f.System,
		Origins:           f.WantOrigins,
		CheckStore:        checkStore,
		CheckNotification: checkNotification,
	}
}

// becomeOwner makes this process the user who answers for the path, for good, if root only looks at
// what another user can change (docs/internals/decisions.md#root-looks-as-the-owner). So what that
// user wrote is opened, expanded and asked with the rights of that user, and with nothing of root's
// environment. It reports whether it did.
func (f *ScheduleFile) becomeOwner(path string) (became bool, err error) {
	path, err = filepath.Abs(path)
	if err != nil || !f.ReadOnly || os.Geteuid() != 0 {
		return false, nil // to load the path says what is wrong with it
	}
	owner := statedir.Owner(path)
	if owner == 0 {
		return false, nil
	}
	if err := BecomeUser(owner); err != nil {
		name := view.UserName(owner)
		return false, exit.Failed("call it as "+name+": "+exit.AsUser(owner),
			"root looks at what belongs to %s only as %s, and cannot become that user: %w", name, name, err)
	}
	f.Owner = owner
	f.Out, f.Err = console.Harmless(f.Out, console.OnlyColours), console.Harmless(f.Err, console.OnlyColours)
	return true, nil
}

// LoadAs loads the schedule with the rights and the variables that root would have as another user.
// invalid says what is wrong with the file.
func (f *ScheduleFile) LoadAs(uid int) (s *schedule.Schedule, invalid, err error) {
	file, err := f.FindConfig()
	if err != nil {
		return nil, nil, err
	}
	err = account.AsUser(uid, os.Environ(), harmless, func(env []string) {
		options := f.Options()
		options.Getenv = process.Lookup(env)
		s, invalid = load.File(file, options)
	})
	if err == nil && invalid == nil {
		f.Zones = view.Zones(s, LocalZone())
	}
	return s, invalid, err
}

// Load finds and loads the schedule. If the schedule is invalid, the error is a *load.InvalidError.
// Most commands go on with the schedule that runs in the place of an invalid file (LoadLastValid):
//
//	LoadToShow    commands that look    prints that the file is invalid
//	LoadToChange  commands that change  the same, and checks the state folder
//	loadForTick   ticks                 prints what is wrong, and checks the state folder
func (f *ScheduleFile) Load() (*schedule.Schedule, error) {
	s, invalid, err := f.LoadLastValid()
	return s, cmp.Or(err, invalid)
}

// LoadLastValid finds and loads the schedule. If the file is invalid, it returns the schedule that
// runs in its place, and in invalid what is wrong with the file. If no schedule runs in its place,
// it returns err.
func (f *ScheduleFile) LoadLastValid() (s *schedule.Schedule, invalid, err error) {
	file, err := f.FindConfig()
	if err != nil {
		return nil, nil, err
	}
	if _, err := f.becomeOwner(file); err != nil {
		return nil, nil, err
	}
	s, invalid = load.File(file, f.Options())
	if s != nil { // else another user may have written it, who is not the owner of the folder
		became, err := f.becomeOwner(s.StateDir)
		if err != nil {
			return nil, nil, err
		}
		if became { // it is as that user sees it
			s, invalid = load.File(file, f.Options())
		}
	}
	if !f.IsTick && f.placeAsTicks(stateDirOf(s, invalid)) {
		s, invalid = load.File(file, f.Options())
	}
	if zone := zoneOfTicks(s); zone != nil { // it is what the ticks mean by the zone of the machine
		options := f.Options()
		options.Local = zone
		s, invalid = load.File(file, options)
	}
	if all := f.AsTicksHaveIt(file, invalid); f.ReadOnly && all != nil {
		s, invalid = all, nil
	}
	if invalid != nil {
		sayWhereSet(invalid)
		if f.Owner != 0 {
			f.Warn("this is what %s may read, without the variables of root", view.UserName(f.Owner))
		}
		s = f.InPlaceOf(file, invalid)
	}
	if s == nil {
		f.sayItIsGone(file, invalid)
		return nil, nil, invalid
	}
	f.Zones = view.Zones(s, LocalZone())
	return s, invalid, nil
}

// sayItIsGone says of a file that is not there that ticks have run it.
func (f *ScheduleFile) sayItIsGone(file string, invalid error) {
	broken, ok := errors.AsType[*load.InvalidError](invalid)
	path, err := filepath.Abs(file)
	if _, statErr := os.Stat(file); !ok || err != nil || !errors.Is(statErr, os.ErrNotExist) {
		return
	}
	if _, err := plan.LastValid(broken.StateDir, path); err == nil {
		broken.Problems[0].Hint = "ticks have run it, and nothing runs while it is gone: was it deleted, or renamed?"
	}
}

// sayWhereSet says of each variable that the ticks have, and this shell lacks, where it is set.
func sayWhereSet(invalid error) {
	broken, ok := errors.AsType[*load.InvalidError](invalid)
	if !ok {
		return
	}
	note, _ := ticknote.Read(broken.StateDir)
	for i := range broken.Problems {
		p := &broken.Problems[i]
		if _, has := slices.BinarySearch(note.Names, p.Variable); has {
			p.Hint = "ticks have it, from above the line of the crontab or from their unit: set it in this shell, too"
		}
	}
}

// LoadAfterEdit loads the schedule as if its files had these texts; nil for a file that is not
// there. It refuses a schedule that is invalid, or that does not fit this machine.
func (f *ScheduleFile) LoadAfterEdit(files map[string][]byte) (*schedule.Schedule, error) {
	file, err := f.FindConfig()
	if err != nil {
		return nil, err
	}
	options := f.Options()
	options.Texts = files
	s, err := load.File(file, options)
	if err != nil {
		return nil, err
	}
	if problems, _ := preflight.Unfit(s, f.Environ()); len(problems) > 0 {
		return nil, &load.InvalidError{Problems: problems, StateDir: s.StateDir}
	}
	return s, nil
}

// LoadToShow loads the schedule for a command that only reads, as LoadLastValid does. It prints
// that the file is invalid, or that lines of a crontab cannot run.
func (f *ScheduleFile) LoadToShow() (*schedule.Schedule, error) {
	f.ReadOnly = true
	return f.loadAndWarn()
}

// loadAndWarn loads the schedule for LoadToShow and LoadToChange.
func (f *ScheduleFile) loadAndWarn() (*schedule.Schedule, error) {
	s, invalid, err := f.LoadLastValid()
	if err != nil {
		return nil, err
	}
	if all := f.AsTicksHaveIt(s.File, invalid); all != nil {
		s, invalid = all, nil
	}
	file, flag := filepath.Base(s.File), f.ConfigFlag()
	if len(s.BadLines) > 0 {
		lines := humanize.Count(len(s.BadLines), "line")
		f.Warn("%s of %s cannot run (see `sched check%s`)", lines, file, flag)
	}
	if invalid != nil {
		f.Warn("%s is invalid now (see `sched check%s`); this is about %s", file, flag, s.InPlace())
	}
	return s, nil
}

// LoadToChange loads the schedule as LoadToShow does, for commands that write into the state
// folder. It refuses a folder that ticks would refuse.
func (f *ScheduleFile) LoadToChange() (*schedule.Schedule, error) {
	s, err := f.loadAndWarn()
	if err != nil {
		return nil, err
	}
	return s, CheckState(s)
}

// InPlaceOf returns the schedule that runs while a file is invalid: the last one that was valid or,
// if none ever was, the tasks without a problem. It returns nil for a file that was deleted or
// whose state folder is unknown, and if the last valid schedule cannot be read or trusted.
func (f *ScheduleFile) InPlaceOf(file string, invalid error) *schedule.Schedule {
	broken, ok := errors.AsType[*load.InvalidError](invalid)
	if !ok || broken.StateDir == "" || errors.Is(invalid, os.ErrNotExist) {
		return nil
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return nil
	}
	if broken.Lacks {
		if s := f.withoutLacking(path); s != nil {
			return s
		}
	}
	s, err := f.LastValid(broken.StateDir, path)
	if errors.Is(err, os.ErrNotExist) && broken.Rest != nil {
		return f.restOf(path, broken.Rest)
	}
	if err != nil || statedir.Check(broken.StateDir) != nil {
		return nil
	}
	return s
}

// restOf returns the rest of a file in which every task runs that lacks no more than a variable of
// a message.
func (f *ScheduleFile) restOf(path string, rest *schedule.Schedule) *schedule.Schedule {
	whole := f.withoutLacking(path)
	if whole == nil {
		return rest
	}
	result := *rest
	result.Tasks, result.Without = slices.Clone(rest.Tasks), slices.Clone(rest.Without)
	for i, lacking := range rest.Tasks {
		if t := whole.Task(lacking.Name); lacking.Lacks != "" && t != nil && t.Lacks == "" {
			result.Tasks[i] = t
			result.Without = slices.DeleteFunc(result.Without, func(name string) bool { return name == t.Name })
		}
	}
	return &result
}

// AsTicksHaveIt returns the schedule of a file that is right but for variables which this shell
// lacks and the last tick had; else nil. It is for commands that run no task: a task may have an
// empty value in place of a variable.
func (f *ScheduleFile) AsTicksHaveIt(file string, invalid error) *schedule.Schedule {
	broken, ok := errors.AsType[*load.InvalidError](invalid)
	path, err := filepath.Abs(file)
	if !ok || !broken.Lacks || err != nil {
		return nil
	}
	note, _ := ticknote.Read(broken.StateDir)
	for _, p := range broken.Problems {
		if _, has := slices.BinarySearch(note.Names, p.Variable); !has {
			return nil
		}
	}
	s := f.withoutLacking(path)
	isGone := func(name string) bool { return s.Task(name) == nil }
	if s == nil || slices.ContainsFunc(s.Without, isGone) {
		return nil
	}
	for _, t := range s.Tasks {
		t.Lacks = ""
	}
	s.Without, s.Lacking = nil, false
	return s
}

// withoutLacking returns the schedule of a file that is right, and names variables or files that
// are not there; nil if too much depends on them. The last valid schedule may be an older text.
func (f *ScheduleFile) withoutLacking(file string) *schedule.Schedule {
	opts := f.Options()
	opts.CheckNotification = nil
	s, err := load.File(file, opts)
	if invalid, ok := errors.AsType[*load.InvalidError](err); ok {
		return invalid.Rest
	}
	if s != nil {
		s.Without, s.Lacking = []string{}, true
	}
	return s
}

// LastValid reads the last valid schedule of a file from its state folder. The error is
// os.ErrNotExist without such a schedule. LastValid does not check the targets of notifications: a
// secret that is missing by now is no reason to run nothing. The mistake is reported when a
// notification is sent. A task that lacks another variable does not run.
func (f *ScheduleFile) LastValid(dir, file string) (*schedule.Schedule, error) {
	text, err := plan.LastValid(dir, file)
	if err != nil {
		return nil, err
	}
	opts := f.Options()
	opts.CheckNotification = nil
	s, err := load.Archive(text, file, opts)
	if invalid, ok := errors.AsType[*load.InvalidError](err); ok && invalid.Lacks && invalid.Rest != nil {
		s = invalid.Rest
		s.Without, s.Lacking = nil, false // it is not what the file says
		return s, nil
	}
	return s, err
}

// ConfigFlag is " -c FILE" for commands in hints, or "" if sched finds the schedule by itself.
func (f *ScheduleFile) ConfigFlag() string {
	flag := " -c " + humanize.ShellWord(f.Config)
	switch {
	case f.Config == "":
		return ""
	case f.System:
		return " --system" + flag
	}
	return flag
}

// printFirstProblems prints at most maxProblems, and how many more there are.
func (f *ScheduleFile) printFirstProblems(problems []schedule.Problem) {
	first := problems[:min(maxProblems, len(problems))]
	f.PrintProblems(first)
	if more := len(problems) - len(first); more > 0 {
		fmt.Fprintf(f.Err, "and %s: see `sched check%s`\n", humanize.Count(more, "more problem"), f.ConfigFlag())
	}
}

// CountMistakes prints in one line how many tasks have only problems that the command is not about.
// It returns the other problems. The line leaves out variables that the last tick had.
func (f *ScheduleFile) CountMistakes(
	invalid *load.InvalidError, noun string, isOther func(schedule.Problem) bool,
) (own []schedule.Problem) {
	note, _ := ticknote.Read(invalid.StateDir)
	tasks := map[string]bool{}
	for _, p := range invalid.Problems {
		if p.Task == "" || !isOther(p) {
			own = append(own, p)
		} else if _, has := slices.BinarySearch(note.Names, p.Variable); !has {
			tasks[p.Task] = true
		}
	}
	for _, p := range own {
		delete(tasks, p.Task)
	}
	if len(tasks) > 0 {
		f.Warn("mistakes in %s (see `sched check%s`)", humanize.Count(len(tasks), noun), f.ConfigFlag())
	}
	return own
}

// TicksHint says what to do when no ticks come.
func (f *ScheduleFile) TicksHint() string {
	if f.System {
		return fmt.Sprintf("`sched work%s` ticks by itself; "+
			"`sched install` needs a line `# sched: system` at the top of the file", f.ConfigFlag())
	}
	return fmt.Sprintf("`sched install%[1]s` has cron call `sched run`; "+
		"`sched work%[1]s` is for where there is no cron", f.ConfigFlag())
}

// harmless are the variables that root keeps to look as another user: how to print, and which
// schedule and server are meant.
var harmless = []string{
	"TERM", "COLUMNS", "NO_COLOR",
	"SCHED_CONFIG", SystemVariable, serverVariable, labelsVariable,
}

// BecomeUser makes this process of root another user, for good.
func BecomeUser(uid int) error {
	env, err := account.BecomeUser(uid, os.Environ(), harmless...)
	if err != nil {
		return err
	}
	os.Clearenv()
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		os.Setenv(name, value)
	}
	return nil
}

// stateDirOf returns the state folder of a schedule, or of an invalid file; "" if nobody knows it.
func stateDirOf(s *schedule.Schedule, invalid error) string {
	if s != nil {
		return s.StateDir
	}
	if broken, ok := errors.AsType[*load.InvalidError](invalid); ok {
		return broken.StateDir
	}
	return ""
}

// zoneOfTicks returns the zone in which the ticks take the machine to be, if tasks go by it and
// this process takes the machine to be in another zone; else nil.
func zoneOfTicks(s *schedule.Schedule) *time.Location {
	here := LocalZone()
	isHere := func(t *schedule.Task) bool { return t.When.Location == here }
	if s == nil || s.Location != here && !slices.ContainsFunc(s.Tasks, isHere) {
		return nil
	}
	note, ok := ticknote.Read(s.StateDir)
	if !ok || note.Zone == here.String() {
		return nil
	}
	zone, err := time.LoadLocation(note.Zone)
	if err != nil || note.Zone == "" || note.Zone == time.Local.String() {
		return nil
	}
	return zone
}

// ShownIn returns a copy of the schedule whose times are shown in the zone. For "" it returns the
// schedule itself.
func ShownIn(s *schedule.Schedule, zone string) (*schedule.Schedule, error) {
	if zone == "" {
		return s, nil
	}
	location, err := time.LoadLocation(zone)
	if err != nil {
		return nil, exit.Usage(`zones are called as in "Europe/Berlin", "America/New_York", "UTC" or "Local"`,
			"--timezone %s is not a known time zone", humanize.Line(zone))
	}
	if zone == "Local" {
		location = LocalZone()
	}
	shown := *s
	shown.Location = location
	return &shown, nil
}

// CheckState refuses a state folder that other users can write. Call it before you use its files.
func CheckState(s *schedule.Schedule) error {
	if err := statedir.Check(s.StateDir); err != nil {
		hint := statedir.Hint(err)
		if foreign, ok := errors.AsType[*statedir.ForeignError](err); ok {
			hint = "call it as its owner: " + exit.AsUser(foreign.Owner) + "; or " + hint
		}
		return exit.Usage(hint, "%w", err)
	}
	return nil
}

// checkNotification says what is wrong with the target of a notification; "" if nothing is.
func checkNotification(n schedule.Notification) (problem, hint string) {
	target := notify.Target(n)
	err := notify.Check(target)
	if err == nil {
		return "", ""
	}
	return strings.TrimPrefix(err.Error(), target.String()+": "), exit.HintOf(err)
}

// checkStore says what is wrong with the URLs of a store; "" if nothing is. It does not connect.
func checkStore(servers []string) (problem, hint string) {
	_, err := stores.Open(mutex.Config{Servers: servers, Namespace: "any"})
	if store, ok := errors.AsType[*mutex.StoreError](err); ok {
		return store.Text, store.Hint
	}
	if err != nil {
		return err.Error(), ""
	}
	return "", ""
}

// maxProblems is how many problems of a schedule commands other than check print: cron may mail
// what a tick prints, each minute.
const maxProblems = 10

// WriteNew writes a file that must not be there yet, whole or not at all.
func WriteNew(path, text string, mode os.FileMode) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if err := errors.Join(err, file.Close()); err != nil {
		os.Remove(path)
		return err
	}
	return nil
}

// SchemaLine returns the first line of a schedule that sched writes at a path. Editors follow the
// line to the schema beside the file. If there is no schema, it says how to write one: editors
// complain about a schema that is missing.
func SchemaLine(path string) string {
	if _, err := os.Stat(filepath.Join(filepath.Dir(path), load.SchemaFile)); err == nil {
		return load.Modeline(load.SchemaFile) + "\n"
	}
	return "# For editors: `sched schema -o " + load.SchemaFile + "` writes a schema, and says how they find it.\n"
}
