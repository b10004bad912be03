package importcmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/schedule/crontab"
	"sched/schedule/humanize"
	"sched/schedule/machine"
	"sched/schedule/systemd"
	"sched/schedule/yamldoc"
)

// importTimers writes timers of systemd as a schedule. Arguments are names of timers, or files;
// without one all timers of the machine that are enabled are meant.
func importTimers(a *app.App, o options, arguments []string) error {
	pairs, err := readTimers(a, o, arguments)
	if err != nil {
		return err
	}
	a.ReadOnly = true
	var tasks []*systemd.Task
	var blocks []crontab.Block
	omits, names := false, map[string]bool{}
	for _, pair := range pairs {
		task, notes := systemd.Convert(pair, names, optionsFor(pair))
		for _, note := range notes {
			fmt.Fprintln(a.Err, note)
			omits = omits || note.IsOmitted
		}
		if task != nil {
			tasks, blocks = append(tasks, task), append(blocks, task.Block)
		}
	}
	if len(tasks) == 0 {
		return exit.Failed("", "no timer can be a task: nothing is written")
	}
	yaml := crontab.BlocksYAML([]string{
		"Imported from timers of systemd by `sched import`.", "",
		"As under systemd each task runs beside the others (background), in / and with the PATH of",
		"services. Tasks of several users need root: its tick starts each as its own user.",
	}, timerDefaults(), blocks)
	loaded, err := loadNew(a, yaml, o)
	if err != nil {
		return err
	}
	p := systemd.Prove(tasks, loaded, a.Now())
	differs := printTimerProof(a, p)
	var timers []string
	for _, t := range tasks {
		timers = append(timers, humanize.ShellWord(t.Timer))
	}
	next := fmt.Sprintf("look at it with `sched list -c %s`; "+
		"once it runs, `systemctl disable --now %s` stops the timers", humanize.ShellWord(o.output), strings.Join(timers, " "))
	mode := os.FileMode(0o644)
	if slices.ContainsFunc(tasks, func(t *systemd.Task) bool { return t.Secret }) {
		mode = 0o600
	}
	if err := writeSchedule(a, o, yaml, len(tasks), mode, next); err != nil {
		return err
	}
	if omits || differs {
		return &exit.Error{Code: exit.Failure}
	}
	return nil
}

// timerDefaults are what all services have with systemd.
func timerDefaults() []crontab.Key {
	return []crontab.Key{
		{Name: "background", Text: "true"},
		{Name: "without_overlapping", Text: "true"},
		{Name: "dir", Value: yamldoc.NewText("/")},
		crontab.EnvKey(map[string]string{"PATH": systemd.Path}),
	}
}

// readTimers reads the timers. An argument is a file if it has a slash, or is one that is there.
func readTimers(a *app.App, o options, arguments []string) (all []machine.TimerUnits, err error) {
	host := machine.Here(a.Now(), app.LocalZone())
	if o.root != "/" {
		host = machine.Host{Root: o.root, Root0: os.Geteuid(), UID: os.Geteuid(), Zone: host.Zone, Now: host.Now}
	}
	var names []string
	ctx := context.Background()
	for _, argument := range arguments {
		_, err := os.Lstat(argument)
		switch kind := filepath.Ext(argument); {
		case kind == ".service":
			return nil, exit.Usage("name the timer that starts it", "%s is a service", argument)
		case strings.Contains(argument, "/") || kind == ".timer" && err == nil:
			if kind != ".timer" {
				return nil, exit.Usage("", "%s is no file of a timer: its name does not end in .timer", argument)
			}
			pair, err := machine.TimerFile(ctx, host, argument)
			if err != nil {
				return nil, exit.Failed("", "cannot read %s: %w", argument, humanize.WithoutPath(err))
			}
			all = append(all, pair)
		default:
			names = append(names, argument)
		}
	}
	if len(names) > 0 || len(arguments) == 0 {
		named, err := machine.Timers(ctx, host, names)
		if err != nil {
			return nil, exit.Failed("`sched machine` lists the timers; a file can be named, too", "%w", err)
		}
		if all = append(all, named...); len(all) == 0 {
			return nil, exit.Failed("", "no timer of systemd is enabled on this machine")
		}
	}
	return all, nil
}

func optionsFor(pair machine.TimerUnits) systemd.Options {
	o := systemd.Options{Zone: app.LocalZone(), Home: app.HomeOf, Exists: func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	}}
	if pair.OfUser {
		o.UserHome, _ = app.HomeOf(app.PersonName())
	}
	return o
}

// printTimerProof prints the proof, and reports whether a task differs from its timer, but for the
// hours around changes of the clocks.
func printTimerProof(a *app.App, p *systemd.Proof) (differs bool) {
	same := p.Tasks
	for _, d := range p.Differences {
		differs = differs || !d.AtChanges
		if d.At.IsZero() {
			fmt.Fprintf(a.Err, "%s: %s: its command differs, or one of the two starts at a boot\n",
				d.Task.Timer, d.Task.Name)
			continue
		}
		same--
		at := humanize.MinuteZone(d.At, app.LocalZone())
		first := "the task is due at " + at + ", when systemd does not start the timer"
		if d.Systemd {
			first = "systemd starts the timer at " + at + ", when the task is not due"
		}
		why := ""
		if d.AtChanges {
			why = ", all of them where clocks change"
		}
		fmt.Fprintf(a.Err, "%s: %s: %s; %s of a year differ%s\n", d.Task.Timer, d.Task.Name, first,
			humanize.Count(d.Times, "time"), why)
	}
	if len(p.Boots) > 0 {
		fmt.Fprintf(a.Err, "proven: %s at a boot, as systemd starts the timer\n", humanize.Count(len(p.Boots), "task"))
	}
	if len(p.Uncompared) > 0 {
		var names []string
		for _, t := range p.Uncompared {
			names = append(names, t.Name)
		}
		fmt.Fprintf(a.Err, "not compared, as systemd counts from the last run: %s\n", strings.Join(names, ", "))
	}
	if p.Tasks == 0 {
		return differs
	}
	fmt.Fprintf(a.Err, "proven: %d of %s due when systemd starts the timer, but for random delays:\n",
		same, humanize.Count(p.Tasks, "task"))
	fmt.Fprintf(a.Err, "  %s minutes of each compared, until %s, with %s of the clocks in %s\n",
		thousands(int64(p.To.Sub(p.From)/time.Minute)), p.To.Format(time.DateOnly),
		humanize.Count(p.Changes, "change"), strings.Join(p.Zones, ", "))
	return differs
}
