package cmd

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"sched/cmd/terminal"
	"sched/mutex"
	"sched/mutex/stores"
	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/load"
	"sched/schedule/notify"
	"sched/schedule/placement"
	"sched/schedule/statedir"
	"sched/schedule/tick"
	"sched/schedule/view"
)

// findConfig returns the path from --config or $SCHED_CONFIG, else the first usual .yaml or .yml.
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
	places := []string{"schedule.yaml"}
	if home, err := os.UserHomeDir(); err == nil {
		places = append(places, filepath.Join(home, ".config/sched/schedule.yaml"))
	}
	places = append(places, "/etc/sched/schedule.yaml")
	for _, place := range places {
		for _, spelling := range []string{place, strings.TrimSuffix(place, ".yaml") + ".yml"} {
			if _, err := os.Stat(spelling); err == nil {
				return spelling, nil
			}
		}
	}
	hint := "`sched init` writes a first one, `-c crontab` takes a crontab as it is; " +
		"--config or $SCHED_CONFIG name another file"
	return "", usage(hint, "there is no schedule: looked for %s, each also as .yml", strings.Join(places, ", "))
}

// options says how this process loads a schedule. For root the schedule must be one that only root
// can change, unless the command only reads: then nothing of the schedule is run.
func (f *scheduleFile) options() load.Options {
	return load.Options{
		Getenv:            os.LookupEnv,
		Root:              os.Geteuid() == 0 && !f.readOnly,
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

// onlyReads says that the command only reads. Such a command writes nothing, neither into the state
// folder nor to the store. It works for everybody who may read the files, and for root with the
// schedule of any user.
func (f *scheduleFile) onlyReads() { f.readOnly = true }

// load finds and loads the schedule. If the schedule is invalid, the error is a *load.InvalidError.
// Most commands call a function that also knows what to do about an invalid file:
//
//	loadAnyway   commands that look    prints that the file is invalid
//	loadTrusted  commands that change  the same, and checks the state folder
//	loadForTick  ticks                 prints what is wrong, and checks the state folder
//
// These three go on with the schedule that runs in the place of the file (loadLastValid).
func (f *scheduleFile) load() (*schedule.Schedule, error) {
	file, err := f.findConfig()
	if err != nil {
		return nil, err
	}
	s, err := load.File(file, f.options())
	if err == nil {
		f.zones = view.Zones(s, localZone())
	}
	return s, err
}

// loadLastValid finds and loads the schedule. If the file is invalid, it returns the schedule that
// runs in its place, and in invalid what is wrong with the file. If no schedule runs in its place,
// it returns err.
func (f *scheduleFile) loadLastValid() (s *schedule.Schedule, invalid, err error) {
	file, err := f.findConfig()
	if err != nil {
		return nil, nil, err
	}
	s, invalid = load.File(file, f.options())
	if invalid != nil {
		s = f.inPlaceOf(file, invalid)
	}
	if s == nil {
		return nil, nil, invalid
	}
	f.zones = view.Zones(s, localZone())
	return s, invalid, nil
}

// loadAnyway is loadLastValid, but if the file is invalid it only prints that.
func (f *scheduleFile) loadAnyway() (*schedule.Schedule, error) {
	valid, invalid, err := f.loadLastValid()
	if err == nil && len(valid.BadLines) > 0 {
		lines := humanize.Count(len(valid.BadLines), "line")
		f.problem("%s of %s cannot run (see `sched check%s`)", lines, filepath.Base(valid.File), f.configFlag())
	}
	if invalid != nil {
		f.problem("%s is invalid now (see `sched check%s`); this is about %s",
			filepath.Base(valid.File), f.configFlag(), valid.InPlace())
	}
	return valid, err
}

// loadTrusted is loadAnyway for commands that leave something in the state folder. It refuses a
// folder that ticks would refuse.
func (f *scheduleFile) loadTrusted() (*schedule.Schedule, error) {
	s, err := f.loadAnyway()
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
	text, err := tick.LastValid(broken.StateDir, path)
	if errors.Is(err, os.ErrNotExist) && broken.Rest != nil {
		return broken.Rest
	}
	rootReads := f.readOnly && os.Geteuid() == 0 // root may read the folder of any user
	if err != nil || !rootReads && statedir.Check(broken.StateDir) != nil {
		return nil
	}
	s, err := f.parseLastValid(text, path)
	if err != nil {
		return nil
	}
	return s
}

// parseLastValid reads a schedule that was valid once. It does not check the targets of
// notifications: a secret that is missing by now is no reason to run nothing. The mistake is
// reported when a notification is sent.
func (f *scheduleFile) parseLastValid(text []byte, file string) (*schedule.Schedule, error) {
	opts := f.options()
	opts.CheckNotification = nil
	return load.Archive(text, file, opts)
}

// loadForTick loads the schedule of a tick. It refuses a state folder that other users can write.
// If the file is invalid, it prints why, and returns the schedule that runs in its place, unless
// --strict is given. invalid is then the exit of the tick.
func (a runCommand) loadForTick(o runOptions) (s *schedule.Schedule, invalid, err error) {
	var broken error
	if o.strict {
		s, err = a.load()
	} else {
		s, broken, err = a.loadLastValid()
	}
	switch {
	case err != nil:
		return nil, nil, a.reportNothingRuns(err, o)
	case broken != nil:
		a.reportReplaced(s, broken, o)
	case len(s.BadLines) > 0:
		broken = &load.InvalidError{Problems: s.BadLines, StateDir: s.StateDir}
		if o.strict {
			return nil, nil, broken
		}
		a.reportBadLines(s, broken, o)
	}
	if err := checkState(s); err != nil {
		return nil, nil, err
	}
	if broken != nil {
		return s, &exit{code: exitUsage}, nil
	}
	if !o.dryRun {
		forgetPrinted(s)
	}
	return s, nil, nil
}

// reportNothingRuns prints why a tick has no schedule, and returns the exit of the tick. Each such
// tick says in a line that nothing runs until the file is valid.
func (a runCommand) reportNothingRuns(err error, o runOptions) error {
	code, _ := a.reportHourly(err, o)
	_, isInvalid := errors.AsType[*load.InvalidError](err)
	file, fileErr := a.findConfig()
	if isInvalid && fileErr == nil && !errors.Is(err, os.ErrNotExist) {
		a.problem("nothing runs until %s is valid", filepath.Base(file))
	}
	return &exit{code: code}
}

// reportReplaced prints why the file is broken, and that s runs in its place. If s leaves out tasks
// of the file, each tick says so.
func (a runCommand) reportReplaced(s *schedule.Schedule, broken error, o runOptions) {
	_, printed := a.reportHourly(broken, o)
	if printed || s.Without != nil && !o.quiet {
		a.problem("%s is invalid; running %s", filepath.Base(s.File), s.InPlace())
	}
}

// reportBadLines prints which lines of a crontab cannot run.
func (a runCommand) reportBadLines(s *schedule.Schedule, broken error, o runOptions) {
	if _, printed := a.reportHourly(broken, o); printed {
		count := humanize.Count(len(s.BadLines), "line")
		a.problem("%s of %s cannot run; the others do", count, filepath.Base(s.File))
	}
}

// reportHourly prints an error of loading and returns its exit code. It does not print the problems
// of an invalid schedule if a tick printed the same problems in the last hour.
func (a runCommand) reportHourly(err error, o runOptions) (code int, printed bool) {
	note := a.printedNote(o, err)
	if note.isRecent(a.now()) {
		return exitUsage, false
	}
	code = a.reportError(err)
	note.write(a.now())
	return code, true
}

// A printedNote says which problems of the schedule a tick printed last, and when. It is a file of
// the state folder, until the schedule is valid again. cron mails what ticks print, so ticks print
// the same problems only once an hour. The zero note is not recent, and cannot be written.
type printedNote struct {
	stateDir string
	digest   string // of the problems of this tick
}

const (
	printedFile   = "told-invalid"
	repeatInvalid = time.Hour
)

// printedNote returns the note for the problems of an invalid schedule. It returns the zero note if
// this tick shall print them in any case: to a terminal, with -v or --dry-run, and if no state
// folder can be trusted.
func (a runCommand) printedNote(o runOptions, err error) printedNote {
	invalid, ok := errors.AsType[*load.InvalidError](err)
	if !ok || o.dryRun || o.verbose || terminal.Is(a.err) || statedir.Check(invalid.StateDir) != nil {
		return printedNote{}
	}
	sum := sha256.New()
	for _, p := range invalid.Problems {
		fmt.Fprintln(sum, p)
	}
	return printedNote{stateDir: invalid.StateDir, digest: fmt.Sprintf("%x", sum.Sum(nil))}
}

// isRecent reports whether a tick printed the same problems in the last hour.
func (n printedNote) isRecent(now time.Time) bool {
	if n.stateDir == "" {
		return false
	}
	text, _ := statedir.ReadFile(filepath.Join(n.stateDir, printedFile))
	digest, printed, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	at, err := time.Parse(time.RFC3339, printed)
	return err == nil && digest == n.digest && !now.Before(at) && now.Before(at.Add(repeatInvalid))
}

// write notes that a tick prints the problems now. It makes no state folder, because an invalid
// schedule may name the wrong one.
func (n printedNote) write(now time.Time) {
	if _, err := os.Stat(n.stateDir); err != nil {
		return
	}
	line := fmt.Appendln(nil, n.digest, now.UTC().Format(time.RFC3339))
	statedir.Replace(filepath.Join(n.stateDir, printedFile), line)
}

// forgetPrinted lets the next tick with problems print them, even if they are the same.
func forgetPrinted(s *schedule.Schedule) { os.Remove(filepath.Join(s.StateDir, printedFile)) }

// checkState refuses a state folder that other users can write. Call it before you use its files.
func checkState(s *schedule.Schedule) error {
	if err := statedir.Check(s.StateDir); err != nil {
		return usage(statedir.Hint(err), "%w", err)
	}
	return nil
}

// checkNotification says what is wrong with the target of a notification; "" if nothing is.
func checkNotification(n schedule.Notification) (problem, hint string) {
	target := notify.Target(n)
	err := target.Check()
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

// serverVariable is the variable with the name of this machine. It helps if two containers or
// clones have the same host name.
const serverVariable = "SCHED_SERVER"

// hostname is a variable because tests let one machine be several.
var hostname = os.Hostname

// serverName is $SCHED_SERVER if it is valid, else `server` of the schedule, else the host name. It
// is empty if the host has no name.
func serverName(fromSchedule string) string {
	if name := os.Getenv(serverVariable); placement.ValidName(name) {
		return name
	}
	if fromSchedule != "" {
		return fromSchedule
	}
	name, _ := hostname()
	return name
}

// checkServerName refuses a $SCHED_SERVER that is not valid. Otherwise ticks would use the name of
// the host.
func checkServerName() error {
	if name := os.Getenv(serverVariable); name != "" && !placement.ValidName(name) {
		return usage("use letters, digits and . _ -, and begin with a letter or a digit",
			"$%s %q is not a valid name", serverVariable, name)
	}
	return nil
}

// labelsVariable is the variable with the labels of this machine. If it is not set, labelsFile has
// the labels.
const labelsVariable = "SCHED_LABELS"

// labelsFile is a variable because tests have no /etc of their own.
var labelsFile = "/etc/sched/labels"

// machineLabels returns the labels of this machine, and the problem if they cannot be used.
func machineLabels() (labels []string, problem string) {
	if text, set := os.LookupEnv(labelsVariable); set {
		return placement.Parse(text, "$"+labelsVariable)
	}
	// The user counts also for a command that only reads: it gives the answer that ticks give.
	return placement.Read(labelsFile, os.Geteuid())
}

// localZone is the zone under its IANA name, which time.Local lacks, from $TZ or /etc/localtime.
var localZone = sync.OnceValue(readLocalZone)

func readLocalZone() *time.Location {
	name, set := os.LookupEnv("TZ")
	name = strings.TrimPrefix(name, ":")
	if !set {
		link, _ := os.Readlink("/etc/localtime")
		_, name, _ = strings.Cut(link, "zoneinfo/")
	}
	if zone, err := time.LoadLocation(name); err == nil && name != "" {
		return zone
	}
	return time.Local
}
