package export

import (
	"fmt"
	"os"
	"strings"
	"unicode"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/schedule"
	"sched/schedule/install"
	"sched/schedule/load"
	"sched/schedule/systemd/export"
)

// writeUnits prints the units, or writes them to a new folder, and says what they do not do. Notes
// about all tasks are no loss of one: with them alone the exit code is 0.
func writeUnits(a *app.App, s *schedule.Schedule, o options) error {
	program, err := app.InstalledProgram()
	if err != nil {
		return err
	}
	for _, word := range []string{s.File, program} {
		if strings.ContainsFunc(word, unicode.IsControl) {
			return exit.Usage("rename it", "%q has a control character, which no unit can have", word)
		}
	}
	if place := (install.Place{Line: install.Line{Program: program}}); !(install.Systemd{Place: place}).Startable() {
		return exit.Failed("move it, to /usr/local/bin as most do",
			"systemd starts no program with quotes or a backslash in its path: %s", program)
	}
	user := "" // of the units of a user's own manager
	if os.Geteuid() == 0 {
		user = "root"
	}
	units := export.Export(s, export.Options{Program: program, User: user, Now: a.Now()}, load.Settings)
	for _, note := range units.Notes {
		fmt.Fprintf(a.Err, "note: %s\n", note)
	}
	for _, remark := range units.Remarks {
		fmt.Fprintf(a.Err, "note: %s\n", remark)
	}
	for _, omitted := range units.Omitted {
		fmt.Fprintf(a.Err, "lost: %s\n", omitted)
	}
	if err := o.writeFiles(a, units); err != nil {
		return err
	}
	if len(units.Omitted) > 0 {
		return &exit.Error{Code: exit.Failure}
	}
	return nil
}
