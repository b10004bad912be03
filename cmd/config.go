package cmd

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"sched/mutex"
	"sched/mutex/stores"
	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/doctor"
	"sched/schedule/humanize"
	"sched/schedule/load"
	"sched/schedule/notify"
	"sched/schedule/pause"
	"sched/schedule/placement"
	"sched/schedule/run"
	"sched/schedule/state"
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
		Getenv: os.LookupEnv, Root: os.Geteuid() == 0 && !f.looks, Server: serverName, Labels: machineLabels, Local: localZone(), Home: homeOf, System: f.system, Origins: f.origins, CheckStore: checkStore, CheckNotification: checkNotification,
	}
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
// its place, and in invalid what is wrong with the file. In its place runs the last schedule that
// was valid or, if none ever was, the tasks without a problem. If neither exists, it returns err.
func (f *scheduleFile) loadLastValid() (valid *schedule.Schedule, invalid error, err error) {
	defer func() {
		if valid != nil {
			f.zones = view.Zones(valid, localZone())
		}
	}()
	file, err := f.findConfig()
	if err != nil {
		return nil, nil, err
	}
	valid, broken := load.File(file, f.options())
	if broken == nil {
		return valid, nil, nil
	}
	problems, is := errors.AsType[*load.InvalidError](broken)
	if !is || problems.StateDir == "" || errors.Is(broken, os.ErrNotExist) {
		return nil, nil, broken // an edit did not break this schedule: it was deleted
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, nil, broken
	}
	text, err := tick.LastValid(problems.StateDir, path)
	if errors.Is(err, os.ErrNotExist) && problems.Rest != nil {
		return problems.Rest, broken, nil
	}
	if err != nil || !(f.looks && os.Geteuid() == 0) && statedir.Check(problems.StateDir) != nil {
		return nil, nil, broken
	}
	valid, err = f.parseLastValid(text, path)
	if err != nil {
		return nil, nil, broken
	}
	return valid, broken, nil
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
	if f.config == "" {
		return ""
	}
	if f.system {
		return " --system -c " + f.config
	}
	return " -c " + f.config
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

// serverVariable names this machine: two containers or clones may have one host name.
const serverVariable = "SCHED_SERVER"

// Tests set hostname to let one machine be several.
var hostname = os.Hostname

// serverName is $SCHED_SERVER, else named (`server` in the schedule), else the host name, maybe "".
func serverName(named string) string {
	if name := os.Getenv(serverVariable); placement.ValidName(name) {
		return name
	}
	if named != "" {
		return named
	}
	name, _ := hostname()
	return name
}

// checkServerName refuses an impossible name: ticks would use the host name instead.
func checkServerName() error {
	if name := os.Getenv(serverVariable); name != "" && !placement.ValidName(name) {
		return usage("use letters, digits and . _ -, and begin with a letter or a digit", "$%s %q is not a valid name", serverVariable, name)
	}
	return nil
}

// labelsVariable has the labels of this machine; if it is not set, labelsFile has them.
const labelsVariable = "SCHED_LABELS"

// labelsFile is a variable because tests have no /etc of their own.
var labelsFile = "/etc/sched/labels"

func machineLabels() (all []string, wrong string) {
	if text, set := os.LookupEnv(labelsVariable); set {
		return placement.Parse(text, "$"+labelsVariable)
	}
	return placement.Read(labelsFile, os.Geteuid()) // whoever only looks is told what ticks do
}

// store returns a store that is not connected yet; nil if the schedule has none.
func (st *storages) store(s *schedule.Schedule) mutex.Store {
	if st.remote == nil && len(s.Store.Servers) > 0 {
		remote, err := stores.Open(mutex.Config{Servers: s.Store.Servers, Dir: filepath.Dir(s.File), Namespace: s.Name, Lease: s.Store.Lease})
		if err != nil {
			panic(err) // the schedule is valid, so these servers were checked
		}
		st.remote = remote
	}
	return st.remote
}

// closeStore closes the database, and ends the connections to the store. Commands that are still on
// their way to the store have a moment to arrive.
func (st *storages) closeStore() {
	if st.caller != nil {
		st.caller.Self.Close()
		st.caller.DB.Close()
	}
	if st.remote != nil {
		st.remote.Close()
	}
}

// storage returns the storage of the schedule, which closeStore closes. It opens nothing yet.
func (st *storages) storage(s *schedule.Schedule) run.Storage { return st.runs(s).Storage }

// runs returns what this process gives to runs of the schedule.
func (st *storages) runs(s *schedule.Schedule) run.Caller {
	if st.caller == nil || st.caller.Dir != s.StateDir {
		caller := run.NewCaller(run.StorageAt(s.StateDir, st.store(s)), state.Tick, os.Environ())
		st.caller = &caller
	}
	return *st.caller
}

func (st *storages) controls(s *schedule.Schedule) pause.Source {
	return pause.Source{Dir: s.StateDir, Store: st.store(s), ReadOnly: st.looks}
}

// look begins a command that only reads. Such a command writes nothing, neither into the state
// folder nor to the store, and works for everybody who may read the files: also for root on the
// schedule of another user.
func (f *scheduleFile) look() { f.looks = true }

func (st *storages) view(s *schedule.Schedule) view.Source {
	return view.Source{Schedule: s, Controls: st.controls(s), Now: st.now, Server: serverName(s.Server), Config: st.configFlag(), Problem: st.problem}
}

// asUser is the command line of this process as another user would type it.
func asUser(uid int) string {
	name := fmt.Sprintf("'#%d'", uid)
	if u, err := user.LookupId(fmt.Sprint(uid)); err == nil {
		name = u.Username
	}
	words := []string{"sudo", "-u", name, "sched"}
	for _, arg := range os.Args[1:] {
		words = append(words, humanize.ShellWord(arg))
	}
	return strings.Join(words, " ")
}

// caller is the login name of the person who called sched, before sudo.
func caller() string {
	if name := os.Getenv("SUDO_USER"); name != "" {
		return name
	}
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "user " + strconv.Itoa(os.Getuid())
}

func (st *storages) actor(s *schedule.Schedule) control.Actor {
	return control.Actor{Source: st.view(s), By: caller(), Environ: asTicks(s, here())}
}

// here is the environment of this process, for asTicks.
func here() doctor.Environment { return doctor.Here(os.Environ(), localZone().String()) }

// asTicks returns the variables with which ticks of the schedule start commands, if this process
// can start them in the same way; else nil.
func asTicks(s *schedule.Schedule, here doctor.Environment) []string {
	note, ok := doctor.Noted(s.StateDir)
	if !ok {
		return nil
	}
	return note.Environ(here, os.Environ())
}

func reasonFlag(c *cobra.Command, reason *string) {
	c.Flags().StringVar(reason, "reason", "", "why, for those who wonder")
}

// noteChange writes a change that was just made into the log of changes. If the log cannot be
// written, it says so, and the change stays.
func (a *app) noteChange(s *schedule.Schedule, action, target, reason string) {
	if target == pause.Everything {
		target = view.Everything
	}
	line := state.Change{
		At: a.now(), Who: caller(), From: view.FromCommand, Action: action, Target: target, Reason: control.Reason(reason),
	}
	db, err := state.Open(s.StateDir, state.Patience)
	if err == nil {
		_, err = db.Audit().Add(ctx, line)
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		a.problem("this is done, but `sched history --changes` will not show it: %v", err)
	}
}
