package install

import (
	"path/filepath"
	"strings"
)

// KillMode=process is in both units. With the default, systemd kills the background runs as soon as
// their tick ends. With the other modes it ends runs that `sched work` would let finish.

const timerService = `# Written by ` + "`sched install`" + `.
[Unit]
Description=A tick of %FILE%

[Service]
Type=oneshot
%USER%ExecStart=%PROGRAM% run -q -c %FILE_WORD%
KillMode=process
`

const timerUnit = `# Written by ` + "`sched install`" + `.
[Unit]
Description=A tick of %FILE% each minute

[Timer]
OnCalendar=*-*-* *:*:00
AccuracySec=1s

[Install]
WantedBy=timers.target
`

const workService = `# Written by ` + "`sched install`" + `.
[Unit]
Description=The ticks of %FILE%

[Service]
%USER%ExecStart=%PROGRAM% work -q -c %FILE_WORD%
Restart=always
KillMode=process
OOMPolicy=continue
TimeoutStopSec=90
SuccessExitStatus=143

[Install]
WantedBy=%TARGET%
`

// A Systemd is the units of a schedule.
type Systemd struct {
	Place
	OfUser bool // for the user's own manager: systemctl --user
	Work   bool // one service with `sched work`, instead of a timer
}

func (s Systemd) systemctl(arguments ...string) Command {
	c := Command{"systemctl"}
	if s.OfUser {
		c = append(c, "--user")
	}
	return append(c, arguments...)
}

func (s Systemd) fill(unit string) string {
	user, target := "", "multi-user.target"
	if s.User != "" {
		user = "User=" + s.User + "\n"
	}
	if s.OfUser {
		target = "default.target"
	}
	return strings.NewReplacer("%FILE%", strings.ReplaceAll(s.File, "%", "%%"), "%FILE_WORD%", unitWord(s.File), "%PROGRAM%", unitProgram(s.Program),
		"%USER%", user, "%TARGET%", target).Replace(unit)
}

// unitWord writes a path as an argument in ExecStart (systemd.service(5)).
func unitWord(text string) string { return unitProgram(strings.ReplaceAll(text, "$", "$$")) }

// unitProgram writes a path as the program in ExecStart. systemd expands no variables there, so a
// $$ would stay two characters.
func unitProgram(text string) string {
	text = strings.NewReplacer("%", "%%", `\`, `\\`, `"`, `\"`).Replace(text)
	if strings.ContainsAny(text, " \t'\";\\") {
		return `"` + text + `"`
	}
	return text
}

// Startable reports whether systemd can start the program. systemd starts no program with quotes or
// a backslash in its path.
func (s Systemd) Startable() bool { return !strings.ContainsAny(s.Program, `"'\`) }

// Install returns the units, and the calls that start them now and at each boot.
func (s Systemd) Install() FileEdit {
	base := filepath.Join(s.Folder, s.base())
	files, unit := []File{{base + ".service", s.fill(timerService)}, {base + ".timer", s.fill(timerUnit)}}, s.base()+".timer"
	if s.Work {
		files, unit = []File{{base + ".service", s.fill(workService)}}, s.base()+".service"
	}
	return FileEdit{
		Files: files,
		After: []Command{s.systemctl("daemon-reload"), s.systemctl("enable", "--now", unit)},
		Undo:  []Command{s.systemctl("daemon-reload")},
	}
}

// Uninstall returns the removal of the files that Find finds. Stopping a unit leaves the background
// runs alone.
func (s Systemd) Uninstall() FileEdit {
	var e FileEdit
	found := s.Find()
	for _, path := range found {
		unit := filepath.Base(path)
		if strings.HasSuffix(path, ".timer") || len(found) == 1 && strings.HasSuffix(path, ".service") {
			e.Before = append(e.Before, s.systemctl("disable", "--now", unit))
		}
		if strings.HasSuffix(path, ".timer") || strings.HasSuffix(path, ".service") {
			e.Files = append(e.Files, File{Path: path})
		}
	}
	if len(e.Files) > 0 {
		e.After = []Command{s.systemctl("daemon-reload")}
	}
	return e
}
