// Package explain is the command `sched explain`.
package explain

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/schedule"
	"sched/schedule/dialect"
	"sched/schedule/humanize"
)

type options struct {
	as, at, timezone string
	dialects, json   bool
}

func New(a *app.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "explain EXPRESSION",
		Short: "Say what a cron expression means, here and to other programs",
		Long: `explain says in words when an expression is due, its next five times, and which changes of the
clocks in the next year touch it. It reads the values of cron: and of every:, and needs no schedule.

With --as it reads the expression as another program does, and prints the line of a schedule.yaml
that means the same, or says why none does. With --dialects it says which programs mean the same
by it, from when on the others differ, and on how many days of a year.

Exit codes: 0, or 2 if the expression is refused.`,
		Example: `  sched explain '0 9 * * MON-FRI'
  sched explain 'first monday of month at 8:00' --timezone Europe/Berlin
  sched explain '30 2 * * *' --at '2027-03-28 03:00'   was it due in that minute, and why
  sched explain '0 0 12 ? * 6L' --as quartz
  sched explain '0 0 */2 * 1' --dialects`,
		Args: checkArguments,
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case o.dialects && o.as != "":
				return exit.Usage("leave one of them out", "--as and --dialects do not go together")
			case o.dialects:
				return compare(a, o, args[0])
			}
			return explain(a, o, args[0])
		},
	}
	f := c.Flags()
	f.StringVar(&o.as, "as", "", "read it as this program does: "+strings.Join(names(), ", "))
	f.BoolVar(&o.dialects, "dialects", false, "say which programs mean what by it")
	f.StringVar(&o.at, "at", "", "the time from which to look, and whether it is due in that minute")
	f.StringVar(&o.timezone, "timezone", "", "the time zone of the expression (default: of the schedule or machine)")
	f.BoolVar(&o.json, "json", false, "print JSON")
	_ = c.RegisterFlagCompletionFunc("as", cobra.FixedCompletions(names(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

// names are the names of the dialects.
func names() (names []string) {
	for _, d := range dialect.All() {
		names = append(names, d.Name)
	}
	return names
}

// maxWords is more than any expression has: "monday, tuesday, wednesday and friday at 8:00, 12:00".
const maxWords = 20

// checkArguments takes one argument. Several are an expression without quotes, in which the shell
// may have put names of files in the place of a *.
func checkArguments(_ *cobra.Command, args []string) error {
	switch {
	case len(args) == 1 && len(strings.Fields(args[0])) > maxWords:
		return exit.Usage("quote it, also inside of a script: sched explain '0 9 * * 1'",
			"the expression has %d words: has the shell put names of files in the place of a *?",
			len(strings.Fields(args[0])))
	case len(args) == 1 && strings.TrimSpace(args[0]) != "":
		return nil
	case len(args) < 2:
		return exit.Usage("sched explain '0 9 * * MON-FRI'", "explain needs an expression")
	}
	isFile := func(word string) bool { _, err := os.Lstat(word); return err == nil }
	if slices.ContainsFunc(args, isFile) {
		return exit.Usage("quote it: sched explain '0 9 * * 1'",
			"the shell has put names of files in the place of a *")
	}
	return exit.Usage("quote it: sched explain '"+humanize.Line(strings.Join(args, " "))+"'",
		"the expression is one argument, and these are %d", len(args))
}

// zoneOf returns the zone of --timezone; nil without the flag.
func zoneOf(o options) (*time.Location, error) {
	if o.timezone == "" {
		return nil, nil
	}
	s, err := app.ShownIn(&schedule.Schedule{}, o.timezone)
	if err != nil {
		return nil, err
	}
	return s.Location, nil
}

// scheduleZone returns the zone of the schedule that sched finds, with the name of its file. The
// zone is nil without a schedule that can be read, which is an error of a file that was named, and
// if it is the zone of the machine.
func scheduleZone(a *app.App) (zone *time.Location, file string, err error) {
	a.ReadOnly = true
	s, _, err := a.LoadLastValid()
	switch {
	case err != nil && a.NamedConfig() != "":
		return nil, "", err
	case err != nil || s.Location.String() == app.LocalZone().String():
		return nil, "", nil
	}
	return s.Location, filepath.Base(s.File), nil
}

// from returns the time of --at; now without the flag.
func from(a *app.App, o options, zone *time.Location) (time.Time, error) {
	if o.at == "" {
		return a.Now(), nil
	}
	if zone == nil {
		zone = app.LocalZone()
	}
	return a.ParseTime("at", o.at, zone)
}

// find returns the dialect of --as.
func find(name string) (*dialect.Dialect, error) {
	if d, ok := dialect.Find(name); ok {
		return d, nil
	}
	hint := "they are " + strings.Join(names(), ", ")
	if near := humanize.Nearest(strings.ToLower(name), names()); near != "" {
		hint = "did you mean " + near + "? " + hint
	}
	return nil, exit.Usage(hint, "there is no dialect %q", humanize.Line(name))
}

// isTask reports whether the schedule that sched finds has a task of that name.
func isTask(a *app.App, name string) bool {
	s, _, err := a.LoadLastValid()
	return err == nil && s.Task(name) != nil
}

func explain(a *app.App, o options, text string) error {
	zone, err := zoneOf(o)
	if err != nil {
		return err
	}
	whose := ""
	if zone == nil && o.as == "" { // the zone of another program is no business of the schedule
		whose = ", the zone of this machine"
		ofSchedule, file, err := scheduleZone(a)
		if err != nil {
			return err
		}
		if ofSchedule != nil {
			zone, whose = ofSchedule, ", the timezone of "+file
		}
	}
	at, err := from(a, o, zone)
	if err != nil {
		return err
	}
	var e Explained
	if o.as == "" {
		e, err = ours(text, zone, at, o.at != "")
		e.whose = whose
		if err != nil && isTask(a, text) {
			hint := fmt.Sprintf("`sched list%[1]s %[2]s` says when it is due, and `sched show%[1]s %[2]s` why",
				a.ConfigFlag(), text)
			return exit.Usage(hint, "%s is a task, and no time", text)
		}
	} else {
		var d *dialect.Dialect
		if d, err = find(o.as); err == nil {
			e, err = theirs(d, text, zone, at, o.at != "")
		}
	}
	switch {
	case err != nil:
		return err
	case o.json:
		return a.PrintJSON(e)
	}
	e.print(a)
	return nil
}

func compare(a *app.App, o options, text string) error {
	zone, err := zoneOf(o)
	if err != nil {
		return err
	}
	at, err := from(a, o, zone)
	if err != nil {
		return err
	}
	groups := dialect.Groups(text, zone, app.LocalZone(), at)
	if o.json {
		return a.PrintJSON(groupsJSON(groups, at))
	}
	printGroups(a, groups, at, cmp.Or(zone, app.LocalZone()))
	return nil
}
