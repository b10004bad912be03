package cmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/runner"

	"sched/schedule/text"
)

// findConfig returns the schedule file: what was named, else the first place that has one.
func (a *app) findConfig() (string, error) {
	if a.config != "" {
		return a.config, nil
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
		if _, err := os.Stat(place); err == nil {
			return place, nil
		}
	}
	return "", usage("create ./schedule.yaml, or name a file with --config or $SCHED_CONFIG",
		"there is no schedule: looked for %s", strings.Join(places, ", "))
}

func options() schedule.LoadOptions {
	return schedule.LoadOptions{Getenv: os.LookupEnv, UID: os.Geteuid(), Local: localZone(), CheckStore: checkStore, CheckNotification: checkNotification}
}

// localZone returns the machine's zone under its IANA name, which time.Local does not know, where
// $TZ or the link /etc/localtime tells it (tzset(3), localtime(5)).
func localZone() *time.Location {
	name, set := os.LookupEnv("TZ")
	name = strings.TrimPrefix(name, ":")
	if !set {
		link, err := os.Readlink("/etc/localtime")
		if err != nil {
			return time.Local
		}
		_, name, _ = strings.Cut(link, "zoneinfo/")
	}
	if name == "" {
		return time.Local
	}
	if zone, err := time.LoadLocation(name); err == nil {
		return zone
	}
	return time.Local
}

// load returns the schedule.
func (a *app) load() (*schedule.Schedule, error) {
	file, err := a.findConfig()
	if err != nil {
		return nil, err
	}
	return schedule.Load(file, options())
}

// loadLastValid returns the schedule and, where an edit broke it, the last one that was valid
// together with what is wrong now.
func (a *app) loadLastValid() (valid *schedule.Schedule, invalid error, err error) {
	file, err := a.findConfig()
	if err != nil {
		return nil, nil, err
	}
	valid, broken := schedule.Load(file, options())
	if broken == nil {
		return valid, nil, nil
	}
	var problems *schedule.InvalidError
	if !errors.As(broken, &problems) || problems.StateDir == "" || errors.Is(broken, os.ErrNotExist) {
		return nil, nil, broken // a schedule that was deleted is not one that an edit broke
	}
	folder := runner.State{Dir: problems.StateDir}
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, nil, broken
	}
	text, err := folder.LastValid(path)
	if err != nil || folder.Check() != nil {
		return nil, nil, broken
	}
	valid, err = parseLastValid(text, path)
	if err != nil {
		return nil, nil, broken
	}
	return valid, broken, nil
}

// parseLastValid reads a schedule that was valid once. That the secret of a notification is gone since is no reason
// to run nothing: it is told when the notification is to be sent.
func parseLastValid(text []byte, file string) (*schedule.Schedule, error) {
	opts := options()
	opts.CheckNotification = nil
	return schedule.LoadArchive(text, file, opts)
}

// loadAnyway is for commands that need the names and the folders of a schedule more than its being
// valid now.
func (a *app) loadAnyway() (*schedule.Schedule, error) {
	valid, invalid, err := a.loadLastValid()
	if invalid != nil {
		a.problem("%s is invalid now (see `sched check`); this is about the last valid schedule", filepath.Base(valid.File))
	}
	return valid, err
}

// checkState refuses a state folder that others can write, before anything in it is believed.
func checkState(s *schedule.Schedule) error {
	if err := (runner.State{Dir: s.StateDir}).Check(); err != nil {
		return usage("give it back, or set state_dir to a folder of our own", "%w", err)
	}
	return nil
}

// task returns the task with the name, or an error that names the nearest.
func task(s *schedule.Schedule, name string) (*schedule.Task, error) {
	var names []string
	for _, t := range s.Tasks {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return nil, failed(didYouMean(name, names), "there is no task %q in %s", name, filepath.Base(s.File))
}

func didYouMean(name string, names []string) string {
	if near := text.Nearest(name, names); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "see `sched list`"
}

// wallLayouts are the forms of a time on a wall clock.
var wallLayouts = []string{"2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02T15:04:05"}

// parseAt reads --at, see parseTime. Empty means now.
func (a *app) parseAt(text string, zone *time.Location) (time.Time, error) {
	if text == "" {
		return a.now(), nil
	}
	return a.parseTime("at", text, zone)
}

// parseTime reads the time of a flag: RFC 3339, or a wall clock in the schedule's zone.
func (a *app) parseTime(flag, text string, zone *time.Location) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	for _, layout := range wallLayouts {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			if t.Format(layout) != text {
				a.problem("the clocks skip %s in %s; it is taken as %s", text, zone, t.Format("15:04"))
			}
			return t, nil
		}
	}
	return time.Time{}, usage("write it as 2006-01-02 15:04, or as 2006-01-02T15:04:05Z", "--%s %q is not a time", flag, text)
}
