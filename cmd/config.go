package cmd

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sched/mutex"
	"sched/mutex/stores"
	"sched/schedule"
	"sched/schedule/doctor"
	"sched/schedule/humanize"
	"sched/schedule/load"
	"sched/schedule/notify"
	"sched/schedule/process"
	"sched/schedule/statedir"
	"sched/schedule/tick"
	"sched/schedule/view"
)

// findConfig returns the path from --config or $SCHED_CONFIG, else the first usual .yaml or .yml. A
// process looks once: if the file is gone later, no other file takes its place.
func (f *scheduleFile) findConfig() (string, error) {
	if err := checkServerName(); err != nil {
		return "", err
	}
	if f.config != "" {
		return f.config, nil
	}
	if file := os.Getenv("SCHED_CONFIG"); file != "" {
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
	return "", usage(hint, "there is no schedule: looked for %s, each also as .yml", strings.Join(places, ", "))
}

// options says how this process loads a schedule. For root the schedule must be one that only root
// can change. To look at another one root becomes its owner first (becomeOwner).
func (f *scheduleFile) options() load.Options {
	return load.Options{
		Getenv:            os.LookupEnv,
		Root:              os.Geteuid() == 0,
		Server:            serverName,
		Labels:            machineLabels,
		Local:             localZone(),
		Home:              homeOf,
		System:            f.system,
		Origins:           f.wantOrigins,
		CheckStore:        checkStore,
		CheckNotification: checkNotification,
	}
}

// harmless are the variables that root keeps to look as another user: how to print, and which
// schedule and server are meant.
var harmless = []string{
	"TERM", "COLUMNS", "NO_COLOR",
	"SCHED_CONFIG", systemVariable, serverVariable, labelsVariable,
}

// becomeOwner makes this process the user who answers for the path, for good, if root only looks at
// what another user can change (docs/internals/decisions.md#root-looks-as-the-owner). So what that
// user wrote is opened, expanded and asked with the rights of that user, and with nothing of root's
// environment. It reports whether it did.
func (f *scheduleFile) becomeOwner(path string) (became bool, err error) {
	path, err = filepath.Abs(path)
	if err != nil || !f.readOnly || os.Geteuid() != 0 {
		return false, nil // to load the path says what is wrong with it
	}
	owner := statedir.Owner(path)
	if owner == 0 {
		return false, nil
	}
	if err := becomeUser(owner); err != nil {
		name := view.UserName(owner)
		return false, failed("call it as "+name+": "+asUser(owner),
			"root looks at what belongs to %s only as %s, and cannot become that user: %w", name, name, err)
	}
	f.owner = owner
	f.out, f.err = harmlessOn(f.out, onlyColours), harmlessOn(f.err, onlyColours)
	return true, nil
}

// becomeUser makes this process of root another user, for good.
func becomeUser(uid int) error {
	env, err := process.BecomeUser(uid, os.Environ(), harmless...)
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

// loadAs loads the schedule with the rights and the variables that root would have as another user.
// invalid says what is wrong with the file.
func (f *scheduleFile) loadAs(uid int) (s *schedule.Schedule, invalid, err error) {
	file, err := f.findConfig()
	if err != nil {
		return nil, nil, err
	}
	err = process.AsUser(uid, os.Environ(), harmless, func(lookup func(string) (string, bool)) {
		options := f.options()
		options.Getenv = lookup
		s, invalid = load.File(file, options)
	})
	if err == nil && invalid == nil {
		f.zones = view.Zones(s, localZone())
	}
	return s, invalid, err
}

// load finds and loads the schedule. If the schedule is invalid, the error is a *load.InvalidError.
// Most commands go on with the schedule that runs in the place of an invalid file (loadLastValid):
//
//	loadToShow    commands that look    prints that the file is invalid
//	loadToChange  commands that change  the same, and checks the state folder
//	loadForTick   ticks                 prints what is wrong, and checks the state folder
func (f *scheduleFile) load() (*schedule.Schedule, error) {
	s, invalid, err := f.loadLastValid()
	return s, cmp.Or(err, invalid)
}

// loadLastValid finds and loads the schedule. If the file is invalid, it returns the schedule that
// runs in its place, and in invalid what is wrong with the file. If no schedule runs in its place,
// it returns err.
func (f *scheduleFile) loadLastValid() (s *schedule.Schedule, invalid, err error) {
	file, err := f.findConfig()
	if err != nil {
		return nil, nil, err
	}
	if _, err := f.becomeOwner(file); err != nil {
		return nil, nil, err
	}
	s, invalid = load.File(file, f.options())
	if s != nil { // else another user may have written it, who is not the owner of the folder
		became, err := f.becomeOwner(s.StateDir)
		if err != nil {
			return nil, nil, err
		}
		if became { // it is as that user sees it
			s, invalid = load.File(file, f.options())
		}
	}
	if zone := zoneOfTicks(s); zone != nil { // it is what the ticks mean by the zone of the machine
		options := f.options()
		options.Local = zone
		s, invalid = load.File(file, options)
	}
	if invalid != nil {
		if f.owner != 0 {
			f.warn("this is what %s may read, without the variables of root", view.UserName(f.owner))
		}
		s = f.inPlaceOf(file, invalid)
	}
	if s == nil {
		return nil, nil, invalid
	}
	f.zones = view.Zones(s, localZone())
	return s, invalid, nil
}

// zoneOfTicks returns the zone in which the ticks take the machine to be, if tasks go by it and
// this process takes the machine to be in another zone; else nil.
func zoneOfTicks(s *schedule.Schedule) *time.Location {
	here := localZone()
	isHere := func(t *schedule.Task) bool { return t.When.Location == here }
	if s == nil || s.Location != here && !slices.ContainsFunc(s.Tasks, isHere) {
		return nil
	}
	note, ok := doctor.ReadNote(s.StateDir)
	if !ok || note.Zone == here.String() {
		return nil
	}
	zone, err := time.LoadLocation(note.Zone)
	if err != nil || note.Zone == "" || note.Zone == time.Local.String() {
		return nil
	}
	return zone
}

// loadToShow loads the schedule for a command that only reads, as loadLastValid does. It prints
// that the file is invalid, or that lines of a crontab cannot run.
func (f *scheduleFile) loadToShow() (*schedule.Schedule, error) {
	f.readOnly = true
	return f.loadAndWarn()
}

// loadAndWarn loads the schedule for loadToShow and loadToChange.
func (f *scheduleFile) loadAndWarn() (*schedule.Schedule, error) {
	s, invalid, err := f.loadLastValid()
	if err != nil {
		return nil, err
	}
	file, flag := filepath.Base(s.File), f.configFlag()
	if len(s.BadLines) > 0 {
		lines := humanize.Count(len(s.BadLines), "line")
		f.warn("%s of %s cannot run (see `sched check%s`)", lines, file, flag)
	}
	if invalid != nil {
		f.warn("%s is invalid now (see `sched check%s`); this is about %s", file, flag, s.InPlace())
	}
	return s, nil
}

// loadToChange loads the schedule as loadToShow does, for commands that write into the state
// folder. It refuses a folder that ticks would refuse.
func (f *scheduleFile) loadToChange() (*schedule.Schedule, error) {
	s, err := f.loadAndWarn()
	if err != nil {
		return nil, err
	}
	return s, checkState(s)
}

// inPlaceOf returns the schedule that runs while a file is invalid: the last one that was valid or,
// if none ever was, the tasks without a problem. It returns nil for a file that was deleted or
// whose state folder is unknown, and if the last valid schedule cannot be read or trusted.
func (f *scheduleFile) inPlaceOf(file string, invalid error) *schedule.Schedule {
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
	text, err := tick.LastValid(broken.StateDir, path)
	if errors.Is(err, os.ErrNotExist) && broken.Rest != nil {
		return broken.Rest
	}
	if err != nil || statedir.Check(broken.StateDir) != nil {
		return nil
	}
	s, err := f.parseLastValid(text, path)
	if err != nil {
		return nil
	}
	return s
}

// withoutLacking returns the schedule of a file that is right, and names variables or files that
// are not there; nil if too much depends on them. The last valid schedule may be an older text.
func (f *scheduleFile) withoutLacking(file string) *schedule.Schedule {
	opts := f.options()
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

// parseLastValid reads a schedule that was valid once. It does not check the targets of
// notifications: a secret that is missing by now is no reason to run nothing. The mistake is
// reported when a notification is sent. A task that lacks another variable does not run.
func (f *scheduleFile) parseLastValid(text []byte, file string) (*schedule.Schedule, error) {
	opts := f.options()
	opts.CheckNotification = nil
	s, err := load.Archive(text, file, opts)
	if invalid, ok := errors.AsType[*load.InvalidError](err); ok && invalid.Lacks && invalid.Rest != nil {
		s = invalid.Rest
		s.Without, s.Lacking = nil, false // it is not what the file says
		return s, nil
	}
	return s, err
}

// checkState refuses a state folder that other users can write. Call it before you use its files.
func checkState(s *schedule.Schedule) error {
	if err := statedir.Check(s.StateDir); err != nil {
		hint := statedir.Hint(err)
		if foreign, ok := errors.AsType[*statedir.ForeignError](err); ok {
			hint = "call it as its owner: " + asUser(foreign.Owner) + "; or " + hint
		}
		return usage(hint, "%w", err)
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
	return strings.TrimPrefix(err.Error(), target.String()+": "), hintOf(err)
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

// configFlag is " -c FILE" for commands in hints, or "" if sched finds the schedule by itself.
func (f *scheduleFile) configFlag() string {
	flag := " -c " + humanize.ShellWord(f.config)
	switch {
	case f.config == "":
		return ""
	case f.system:
		return " --system" + flag
	}
	return flag
}
