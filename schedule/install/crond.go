package install

import "path/filepath"

// A Place is where the line of a schedule can be, beside crontabs.
type Place struct {
	Line
	Name   string // of the schedule
	Folder string // /etc/cron.d, /etc/systemd/system, ~/.config/systemd/user
	User   string // as whom ticks run; "" for who reads the folder
}

// base is the name of the files: "sched-shop-1a2b3c4d", in characters that cron and systemd accept.
func (p Place) base() string {
	name := []byte(p.Name)
	for i, c := range name {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_') {
			name[i] = '-'
		}
	}
	return "sched-" + string(name) + "-" + p.ID()
}

// CronD returns the file in /etc/cron.d. It says which shell and PATH the tick has, since the settings of no other file
// count for it.
func (p Place) CronD() File {
	return File{filepath.Join(p.Folder, p.base()), "# Written by `sched install`; `sched uninstall -c " + shellWord(p.File) + "` removes it.\n" +
		"SHELL=/bin/sh\n" +
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n" +
		"* * * * * " + p.User + " " + percents(p.Command()) + p.mark() + "\n"}
}

// Find returns those files of the folder that Install wrote for the schedule, under whatever name it had then.
func (p Place) Find() []string {
	found, _ := filepath.Glob(filepath.Join(p.Folder, "sched-*-"+p.ID()+"*"))
	return found
}
