package cmd

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"sched/schedule"
	"sched/schedule/outcome"
	"sched/schedule/runfile"
	"sched/schedule/text"
)

// whenOptions say when a run is asked for; neither of them is as soon as possible.
type whenOptions struct {
	in, at string
	json   bool
}

func (o *whenOptions) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.in, "in", "", "with the first tick after so long (10m, 2h)")
	f.StringVar(&o.at, "at", "", "with the tick at this time (RFC 3339, or 2006-01-02 15:04 in the schedule's zone)")
	f.BoolVar(&o.json, "json", false, "print JSON")
}

func (a *app) triggerCommand() *cobra.Command {
	var o whenOptions
	var cancel bool
	c := &cobra.Command{
		Use:   "trigger TASK",
		Short: "Ask for one more run of a task, by the next tick or later",
		Long: `trigger leaves a request that the next tick answers, or with --in and --at a later one: also after
a reboot. The run is one like any other, with the task as it is defined then; its conditions and
one_server do not count. While its mutex is held it waits, for 24 hours at most. sched list and
sched history show what waits.

With --cancel it takes back what waits: all of a task, or the runs that are named.`,
		Example: `  sched trigger nightly-report
  sched trigger nightly-report --in 10m
  sched trigger nightly-report --at "2026-11-22 02:30"
  sched trigger --cancel nightly-report`,
		Args: func(c *cobra.Command, args []string) error {
			if cancel {
				return arguments(1, unlimited)(c, args)
			}
			return arguments(1, 1)(c, args)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if cancel {
				return a.cancel(args, o)
			}
			return a.trigger(args[0], o)
		},
	}
	o.flags(c)
	c.Flags().BoolVar(&cancel, "cancel", false, "take back what waits, by task or run")
	return c
}

// trigger asks for a run of the task.
func (a *app) trigger(name string, o whenOptions) error {
	s, err := a.loadToAsk()
	if err != nil {
		return err
	}
	t, err := task(s, name)
	if err != nil {
		return err
	}
	if err := runnable(s, t); err != nil {
		return err
	}
	at, err := a.askedTime(o, s.Location)
	if err != nil {
		return err
	}
	request := runfile.Request{Run: outcome.NewIDAt(at), Task: t.Name, At: at, Origin: "trigger by " + caller()}
	return a.ask(s, []runfile.Request{request}, o, func(all []requestJSON) any { return all[0] })
}

// loadToAsk loads the schedule, and makes sure that the ticks will believe what we leave for them.
func (a *app) loadToAsk() (*schedule.Schedule, error) {
	s, err := a.loadAnyway()
	if err != nil {
		return nil, err
	}
	return s, checkState(s)
}

// runnable refuses to ask for a run that every tick would refuse.
func runnable(s *schedule.Schedule, t *schedule.Task) error {
	if s.Active(t) {
		return nil
	}
	return failed("`sched test "+t.Name+"` runs it all the same, now and here", "%s is %s", t.Name, switchedOff(s, t))
}

// askedTime reads --in and --at.
func (a *app) askedTime(o whenOptions, zone *time.Location) (time.Time, error) {
	now := a.now()
	at := now
	switch {
	case o.in != "" && o.at != "":
		return at, usage("", "--in and --at exclude each other")
	case o.in != "":
		d, err := schedule.ParseDuration(o.in)
		if err != nil || d <= 0 {
			return at, usage("write it as 90s, 10m, 2h or 1d", "--in %q is not a time to wait", o.in)
		}
		at = now.Add(d)
	case o.at != "":
		var err error
		if at, err = a.parseAt(o.at, zone); err != nil {
			return at, err
		}
		if !at.After(now) {
			return at, usage("leave --at out to run with the next tick", "--at %q is in the past: it is %s", o.at, text.MinuteZone(now, zone))
		}
	}
	return at.UTC().Round(0).Truncate(time.Microsecond), nil // what the history keeps
}

// firstTick is the first tick that finds at in the past.
func firstTick(at, now time.Time) time.Time {
	minute := at.Truncate(time.Minute)
	if minute.Before(at) || !minute.After(now) {
		minute = minute.Add(time.Minute)
	}
	return minute
}

// caller names the person who calls, for the history.
func caller() string {
	if name := os.Getenv("SUDO_USER"); name != "" {
		return name
	}
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "user " + strconv.Itoa(os.Getuid())
}

type requestJSON struct {
	Run    string `json:"run"`
	Task   string `json:"task"`
	At     string `json:"at"`
	Tick   string `json:"tick"`
	Origin string `json:"origin"`
}

// ask leaves the requests, and says when they will be answered.
func (a *app) ask(s *schedule.Schedule, requests []runfile.Request, o whenOptions, value func([]requestJSON) any) error {
	out := []requestJSON{}
	pauses := a.mustPauses(s)
	for _, r := range requests {
		if err := runfile.AddRequest(s.StateDir, r); err != nil {
			return failed("`sched test "+r.Task+"` runs it now", "%s cannot be asked for: %w", r.Task, err)
		}
		tick := firstTick(r.At, a.now())
		out = append(out, requestJSON{r.Run, r.Task, r.At.Format(time.RFC3339), tick.UTC().Format(time.RFC3339), r.Origin})
		if o.json {
			continue
		}
		when := "the next tick, at " + text.SlotOfDay(tick, s.Location)
		if o.in != "" || o.at != "" {
			when = "the tick at " + a.clock(tick, s.Location)
		}
		t, _ := task(s, r.Task)
		if pause := pausedNow(pauses, t, text.Later(r.At, a.now())); pause != nil {
			when += " or when it is resumed: it is " + pause.pause.Text(a.now(), s.Location)
		} else if down := a.maintenance(s); down != "" && !t.EvenInMaintenance {
			when += " or when that is over: " + down
		}
		fmt.Fprintf(a.out, "%s will run with %s (run %s)\n", r.Task, when, text.ShortRun(r.Run))
	}
	if o.json {
		return a.printJSON(value(out))
	}
	return nil
}

// clock writes a time around now: the date and the zone only where it is not today.
func (a *app) clock(t time.Time, zone *time.Location) string {
	if now := a.now(); text.SameDay(t, now, zone) {
		return text.MinuteNear(t, now, zone)
	}
	return text.MinuteZone(t, zone)
}

// cancel takes back the requests of tasks, or those that are named.
func (a *app) cancel(names []string, o whenOptions) error {
	if o.in != "" || o.at != "" || o.json {
		return usage("name a task, or one run of those that `sched history` shows", "--cancel goes with no other flag")
	}
	s, err := a.loadToAsk()
	if err != nil {
		return err
	}
	var chosen []runfile.Request
	for _, name := range names {
		found, err := a.requestsOf(s, name)
		if err != nil {
			return err
		}
		chosen = append(chosen, found...)
	}
	tick := a.tick(s, a.now(), runOptions{})
	var missed error
	for _, r := range chosen {
		_, err := tick.Cancel(r.Run, "cancelled by "+caller())
		switch {
		case errors.Is(err, os.ErrNotExist), errors.Is(err, runfile.ErrAlive):
			missed = failed("`sched stop "+text.ShortRun(r.Run)+"` stops it", "a tick has begun run %s of %s just now", text.ShortRun(r.Run), r.Task)
			a.problem("%v", missed)
		case err != nil:
			return failed("", "%s: %w", r.Task, err)
		default:
			fmt.Fprintf(a.out, "%s will not run at %s (run %s)\n", r.Task, a.clock(r.At, s.Location), text.ShortRun(r.Run))
		}
	}
	if missed != nil {
		return &exit{code: exitFailed, hint: missed.(*exit).hint}
	}
	return nil
}

// requestsOf returns the requests that a name stands for.
func (a *app) requestsOf(s *schedule.Schedule, name string) ([]runfile.Request, error) {
	all, err := runfile.Requests(s.StateDir)
	if err != nil {
		a.problem("%v", err)
	}
	ofTask := slices.DeleteFunc(all, func(r runfile.Request) bool { return r.Task != name })
	if len(ofTask) > 0 {
		return ofTask, nil
	}
	if r, err := oneRequest(s, name); err != nil || r.Run != "" {
		return []runfile.Request{r}, err
	}
	if slices.ContainsFunc(s.Tasks, func(t *schedule.Task) bool { return t.Name == name }) {
		return nil, failed("what runs is ended by `sched stop "+name+"`", "no run of %s waits", name)
	}
	record, err := a.findRun(s, name)
	if err != nil {
		return nil, err
	}
	return nil, failed("", "run %s of %s does not wait: it %s", text.ShortRun(record.Run), record.Task, describe(record))
}
