package cmd

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"sched/schedule"
	"sched/schedule/history"
	"sched/schedule/humanize"
	"sched/schedule/state"
	"sched/schedule/view"
	"sched/schedule/yamldoc"
)

// whenOptions say when a requested run starts: after --in, at --at, with the next tick, or else at
// once.
type whenOptions struct {
	in, at, reason string
	nextTick       bool
	json           bool
}

func (o *whenOptions) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.in, "in", "", "with the first tick after so long (10m, 2h)")
	f.StringVar(&o.at, "at", "", "with the tick at this time: "+timeForms)
	f.BoolVar(&o.nextTick, "next-tick", false, "with the next tick, and not at once")
	reasonFlag(c, &o.reason)
	f.BoolVar(&o.json, "json", false, "print JSON")
}

// atOnce reports whether no later time is wanted.
func (o whenOptions) atOnce() bool { return o.in == "" && o.at == "" && !o.nextTick }

// requestTime reads --in and --at; it is now without both.
func (c *console) requestTime(o whenOptions, zone *time.Location) (time.Time, error) {
	now := c.now()
	at := now
	switch {
	case o.in != "" && o.at != "":
		return at, usage("", "--in and --at exclude each other")
	case o.nextTick && (o.in != "" || o.at != ""):
		return at, usage("", "--next-tick goes with neither --in nor --at")
	case o.in != "":
		d, err := yamldoc.ParseDuration(o.in)
		if err != nil || d <= 0 {
			return at, usage("write it as 90s, 10m, 2h or 1d", "--in %q is not a time to wait", o.in)
		}
		at = now.Add(d)
	case o.at != "":
		var err error
		if at, err = c.parseAt(o.at, zone); err != nil {
			return at, err
		}
		if !at.After(now) {
			return at, usage("leave --at out to run it now", "--at %q is in the past: it is %s", o.at, humanize.MinuteZone(now, zone))
		}
	}
	return at.UTC().Round(0).Truncate(time.Microsecond), nil // the precision of the history
}

// leaveRequests writes the requests into the state folder, and prints which have started, and which
// ticks will start the others. For --json it prints what value makes of them.
func (a *app) leaveRequests(s *schedule.Schedule, requests []state.Row, o whenOptions, value func([]view.Request) any) error {
	actor := a.actor(s)
	out := []view.Request{}
	pauses := a.view(s).Pauses()
	live := a.view(s).Live()
	for _, r := range requests {
		if o.atOnce() {
			r = actor.AtOnce(r)
		}
		tick, err := actor.Leave(r)
		if err != nil {
			return err
		}
		out = append(out, view.RequestOf(r, tick, a.view(s).Server))
		if o.json {
			continue
		}
		if started := a.awaitStart(s, r); started != "" {
			fmt.Fprintf(a.out, "%s %s (run %s)\n", r.Task, started, humanize.ShortRun(r.ID))
			continue
		}
		when := "the next tick, at " + humanize.SlotOfDayZone(tick, s.Location)
		if o.in != "" || o.at != "" {
			when = "the tick at " + a.clock(tick, s.Location)
		}
		t, _ := view.FindTask(s, r.Task)
		if pause := view.PauseOf(pauses, t, humanize.Later(r.Slot, a.now())); pause != nil {
			when += " or when it is resumed: it is " + pause.Raw.Text(a.now(), s.Location)
		} else if down := a.view(s).Maintenance(); down != "" && !t.EvenInMaintenance {
			when += " or when that is over: " + down
		} else if full := a.view(s).Pool(ctx, live, t.Pool).Full(); full != "" {
			when += " or when a seat is free: " + full
		} else if holder := view.HolderOf(live, t); holder != "" {
			when += " or when its mutex is free: it is held " + holder
		}
		fmt.Fprintf(a.out, "%s will run with %s (run %s)\n", r.Task, when, humanize.ShortRun(r.ID))
	}
	if o.json {
		return a.printJSON(value(out))
	}
	return nil
}

// startWithin is how long a command waits to see what starts at once.
const startWithin = 3 * time.Second

// awaitStart waits until a run has begun that is to start at once, and returns what became of it.
// It returns "" if the run waits, for a tick or for a mutex or a seat that others have.
func (a *app) awaitStart(s *schedule.Schedule, r state.Row) (started string) {
	if !r.Wait.NotBefore.IsZero() {
		return ""
	}
	db, err := state.OpenRead(s.StateDir, state.Patience)
	if err != nil {
		return ""
	}
	defer db.Close()
	for end := time.Now().Add(startWithin); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		row, err := db.Runs().Row(ctx, r.ID)
		switch {
		case err != nil:
			return ""
		case row.Phase == state.Ended:
			return view.Describe(history.RecordOf(s.StateDir, row))
		case !row.Waits():
			return "has started"
		case !row.Wait.Since.IsZero():
			return "" // others have what it needs
		}
	}
	return ""
}

// requestsOf returns the requests for a task or a run's id: at least one, or an error.
func (a *app) requestsOf(s *schedule.Schedule, name string) ([]state.Row, error) {
	all, err := history.Requests(s.StateDir)
	if err != nil {
		a.problem("%v", err)
	}
	ofTask := slices.DeleteFunc(all, func(r state.Row) bool { return r.Task != name })
	if len(ofTask) > 0 {
		return ofTask, nil
	}
	if r, err := a.view(s).OneRequest(name); err != nil || r.ID != "" {
		return []state.Row{r}, err
	}
	if slices.ContainsFunc(s.Tasks, func(t *schedule.Task) bool { return t.Name == name }) {
		return nil, failed("what runs is ended by `sched stop "+name+"`", "no run of %s waits", name)
	}
	record, err := a.view(s).FindRun(ctx, name)
	if err != nil {
		return nil, err
	}
	return nil, failed("", "run %s of %s does not wait: it %s", humanize.ShortRun(record.Run), record.Task, view.Describe(record))
}
