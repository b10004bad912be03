package cmd

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sched/cmd/terminal"
	"sched/mutex"
	"sched/mutex/stores"
	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/load"
	"sched/schedule/notify"
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
	return "", usage("`sched init` writes a first one, `-c crontab` takes a crontab as it is; --config or $SCHED_CONFIG name another file",
		"there is no schedule: looked for %s, each also as .yml", strings.Join(places, ", "))
}

// options lets root look at the schedule of any user, because nothing of it is run.
func (f *scheduleFile) options() load.Options {
	return load.Options{
		Getenv:            os.LookupEnv,
		Root:              os.Geteuid() == 0 && !f.looks,
		Server:            serverName,
		Labels:            machineLabels,
		Local:             localZone(),
		Home:              homeOf,
		System:            f.system,
		Origins:           f.origins,
		CheckStore:        checkStore,
		CheckNotification: checkNotification,
	}
}

// look begins a command that only reads. Such a command writes nothing, neither into the state
// folder nor to the store, and works for everybody who may read the files: also for root on the
// schedule of another user.
func (f *scheduleFile) look() { f.looks = true }

// load returns a *load.InvalidError for problems of the file.
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

// loadLastValid returns the schedule. If the file is invalid, it returns the schedule that runs in
// its place, and in invalid what is wrong with the file. If no schedule does, it returns err.
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

// inPlaceOf returns the schedule that runs while a file is invalid: the last one that was valid or,
// if none ever was, the tasks without a problem. It returns nil for a file that was deleted or
// whose state folder is unknown, and if the last valid schedule cannot be read or trusted.
func (f *scheduleFile) inPlaceOf(file string, invalid error) *schedule.Schedule {
	problems, is := errors.AsType[*load.InvalidError](invalid)
	if !is || problems.StateDir == "" || errors.Is(invalid, os.ErrNotExist) {
		return nil
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return nil
	}
	text, err := tick.LastValid(problems.StateDir, path)
	if errors.Is(err, os.ErrNotExist) && problems.Rest != nil {
		return problems.Rest
	}
	rootLooks := f.looks && os.Geteuid() == 0 // at the folder of any user
	if err != nil || !rootLooks && statedir.Check(problems.StateDir) != nil {
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

// loadAnyway is loadLastValid, but it only prints the problems of the present file.
func (f *scheduleFile) loadAnyway() (*schedule.Schedule, error) {
	valid, invalid, err := f.loadLastValid()
	if err == nil && len(valid.Left) > 0 {
		f.problem("%s of %s cannot run (see `sched check%s`)", humanize.Count(len(valid.Left), "line"), filepath.Base(valid.File), f.configFlag())
	}
	if invalid != nil {
		f.problem("%s is invalid now (see `sched check%s`); this is about %s", filepath.Base(valid.File), f.configFlag(), valid.InPlace())
	}
	return valid, err
}

// checkState refuses a state folder that others can write. Call it before you believe its files.
func checkState(s *schedule.Schedule) error {
	if err := statedir.Check(s.StateDir); err != nil {
		return usage(statedir.Hint(err), "%w", err)
	}
	return nil
}

// checkNotification says what is wrong with the target of a notification; empty for nothing.
func checkNotification(n schedule.Notification) (problem, hint string) {
	target := notify.Target(n)
	err := target.Check()
	if err == nil {
		return "", ""
	}
	return strings.TrimPrefix(err.Error(), target.String()+": "), hintOf(err)
}

// checkStore says what is wrong with the URLs of a store; empty for nothing. It does not connect.
func checkStore(servers []string) (problem, hint string) {
	_, err := stores.Open(mutex.Config{Servers: servers, Namespace: "any"})
	if wrong, is := errors.AsType[*mutex.StoreError](err); is {
		return wrong.Text, wrong.Hint
	}
	if err != nil {
		return err.Error(), ""
	}
	return "", ""
}

// configFlag is " -c FILE" for commands in hints, or "" if sched finds the schedule by itself.
func (f *scheduleFile) configFlag() string {
	flag := ""
	if f.config != "" {
		flag = " -c " + humanize.ShellWord(f.config)
	}
	if flag != "" && f.system {
		flag = " --system" + flag
	}
	return flag
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
