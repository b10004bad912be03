package install

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"sched/schedule/humanize"
	"sched/schedule/usercrontab"
)

// The folders of the machine. They are variables for tests.
var (
	CronFolder    = "/etc/cron.d"
	SystemdFolder = "/etc/systemd/system"
	RootBackups   = "/var/lib/sched/crontabs" // copies of crontabs, as they were before a change
)

// BackupFolder returns the folder for copies of crontabs. stateHome returns the folder in which
// programs of this user keep their state; root needs none.
func BackupFolder(stateHome func() (string, error)) (string, error) {
	if os.Geteuid() == 0 {
		return RootBackups, nil
	}
	folder, err := stateHome()
	if err != nil {
		return "", fmt.Errorf("there is no place for a copy of the crontab: %w", err)
	}
	return filepath.Join(folder, "sched/crontabs"), nil
}

// A Command is a program with its arguments.
type Command []string

func (c Command) String() string { return strings.Join(c, " ") }

// run runs the command. The error is a *ProgramError.
func (c Command) run() error {
	out, err := exec.Command(c[0], c[1:]...).CombinedOutput()
	if err != nil {
		return &usercrontab.ProgramError{Program: c.String(), Output: string(out), Err: err}
	}
	return nil
}

// A File is a file that is to have a text. If the text is empty, the file is to be missing.
type File struct{ Path, Text string }

// A FileEdit writes or removes our files, and runs commands before and after.
type FileEdit struct {
	Before, After []Command
	Files         []File
	Undo          []Command // after the files were put back
}

// Diff shows the lines of the files that change, with - before old ones and + before new ones.
func (e FileEdit) Diff() (lines []string) {
	for _, file := range e.Files {
		old, _ := os.ReadFile(file.Path)
		if string(old) == file.Text {
			continue
		}
		lines = append(lines, file.Path+":")
		for _, line := range split(string(old)) {
			lines = append(lines, "- "+line)
		}
		for _, line := range split(file.Text) {
			lines = append(lines, "+ "+line)
		}
	}
	return lines
}

// Apply changes each file in one step, and runs the commands. After a failure it puts the files
// back.
func (e FileEdit) Apply() error {
	for _, c := range e.Before {
		if err := c.run(); err != nil {
			return err
		}
	}
	old, err := e.change()
	if err == nil {
		return nil
	}
	for _, file := range slices.Backward(old) {
		err = errors.Join(err, file.put())
	}
	for _, c := range e.Undo {
		c.run() // its error would follow from the first error
	}
	return err
}

// change writes the files, and runs the commands after that. It returns the files as they were, as
// far as it changed them.
func (e FileEdit) change() (old []File, err error) {
	for _, file := range e.Files {
		text, err := os.ReadFile(file.Path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return old, err
		}
		old = append(old, File{file.Path, string(text)})
		if err := file.put(); err != nil {
			return old, err
		}
	}
	for _, c := range e.After {
		if err := c.run(); err != nil {
			return old, err
		}
	}
	return old, nil
}

// put writes or removes the file. The name of the draft has a dot: cron reads no such file, and
// systemd no such unit.
func (f File) put() error {
	if f.Text == "" {
		if err := os.Remove(f.Path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil {
		return err
	}
	draft := filepath.Join(filepath.Dir(f.Path), "."+filepath.Base(f.Path)+".new")
	file, err := os.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(f.Text)
	if err = errors.Join(err, file.Chmod(0o644), file.Sync(), file.Close()); err == nil {
		err = os.Rename(draft, f.Path)
	}
	if err != nil {
		os.Remove(draft)
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	return nil
}

// A Place is a place for the line of a schedule, other than a crontab.
type Place struct {
	Line
	Name   string // of the schedule
	Folder string // /etc/cron.d, /etc/systemd/system, ~/.config/systemd/user
	User   string // the user of the ticks; "" for the user who reads the folder
}

// base returns the name of the files, without an extension: "sched-shop-1a2b3c4d", in characters
// that cron and systemd accept.
func (p Place) base() string {
	name := []byte(p.Name)
	for i, c := range name {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_') {
			name[i] = '-'
		}
	}
	return "sched-" + string(name) + "-" + p.ID()
}

// CronD returns the file in /etc/cron.d. The file sets the shell and PATH of the tick, because the
// settings of no other file count for it.
func (p Place) CronD() File {
	return File{filepath.Join(p.Folder, p.base()), "# Written by `sched install`; `sched uninstall -c " +
		humanize.ShellWord(p.File) + "` removes it.\n" +
		"SHELL=/bin/sh\n" +
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n" +
		"* * * * * " + p.User + " " + percents(p.Command()) + p.mark() + "\n"}
}

// Find returns the files of the folder that Install wrote for the schedule, even if the schedule
// had another name then.
func (p Place) Find() []string {
	found, _ := filepath.Glob(filepath.Join(p.Folder, "sched-*-"+p.ID()+"*"))
	return found
}

// units are the units of systemd, with names in place of what differs (Systemd.fill).
//
// KillMode=process is in both services. With the default, systemd kills the background runs as soon
// as their tick ends. With the other modes it ends runs that `sched work` would let finish.
//
//go:embed units
var units embed.FS

// A Systemd is the units of a schedule.
type Systemd struct {
	Place
	OfUser bool // for the user's own manager: systemctl --user
	Work   bool // one service with `sched work`, instead of a timer
}

// systemctl returns a call of systemctl for the manager of the units.
func (s Systemd) systemctl(arguments ...string) Command {
	c := Command{"systemctl"}
	if s.OfUser {
		c = append(c, "--user")
	}
	return append(c, arguments...)
}

// fill returns the text of a unit.
func (s Systemd) fill(name string) string {
	unit, _ := units.ReadFile("units/" + name)
	// With User= systemd sets HOME, LOGNAME and SHELL, for root, too.
	user, target := "User="+cmp.Or(s.User, "root")+"\n", "multi-user.target"
	if s.OfUser {
		user, target = "", "default.target"
	}
	return strings.NewReplacer(
		"%FILE%", strings.ReplaceAll(s.File, "%", "%%"),
		"%FILE_WORD%", UnitWord(s.File),
		"%PROGRAM%", UnitProgram(s.Program),
		"%USER%", user, "%TARGET%", target).Replace(string(unit))
}

// UnitWord writes a path as an argument in ExecStart (systemd.service(5)).
func UnitWord(text string) string { return UnitProgram(strings.ReplaceAll(text, "$", "$$")) }

// UnitProgram writes a path as the program in ExecStart. systemd expands no variables there, so a
// $$ would stay two characters.
func UnitProgram(text string) string {
	text = strings.NewReplacer("%", "%%", `\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`).Replace(text)
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
	files := []File{{base + ".service", s.fill("tick.service")}, {base + ".timer", s.fill("tick.timer")}}
	unit := s.base() + ".timer"
	if s.Work {
		files, unit = []File{{base + ".service", s.fill("work.service")}}, s.base()+".service"
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
