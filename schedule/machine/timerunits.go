package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sched/schedule/humanize"
)

// A Unit is what a unit of systemd says with its drop-ins.
type Unit struct {
	Name   string
	File   string              // "" if there is no such unit
	Values map[string][]string // as they are written, by section and key: Timer.OnCalendar
	Masked bool
}

// A TimerUnits is a timer of systemd, with the service that it starts.
type TimerUnits struct {
	Timer, Service Unit
	Enabled        bool
	OfUser         bool // the manager of a user starts it
	Unread         []Oddity
}

// Timers returns timers of the manager of the machine: those with these names, or without names all
// that are enabled. The error names a timer that is not there.
func Timers(ctx context.Context, h Host, names []string) (found []TimerUnits, err error) {
	all, err := openFiles(h.Root, "", h.Root0)
	if err != nil {
		return nil, err
	}
	defer all.root.Close()
	s := &survey{Host: h, ctx: ctx, files: all, systemd: all.has("/run/systemd/system"), list: &List{}}
	m := manager{survey: s, units: newUnits(s, foldersOf(all, systemFolders)), said: askSystemd(s)}
	known, wanted := m.units.timers()
	for _, name := range known {
		if alias := m.units.load(name).alias; alias != "" {
			wanted[alias] = wanted[alias] || wanted[name]
		}
	}
	isEnabled := func(name string) bool { return wanted[name] || m.said[name].active }
	if len(names) == 0 {
		for _, name := range known {
			if timer := m.units.load(name); isEnabled(name) && timer.alias == "" && timer.path != "" && !timer.masked {
				found = append(found, pairOf(&m, name, true))
			}
		}
		return found, nil
	}
	for _, name := range names {
		name = strings.TrimSuffix(name, ".timer") + ".timer"
		if alias := m.units.load(name).alias; alias != "" {
			name = alias
		}
		if pair := pairOf(&m, name, isEnabled(name)); pair.Timer.File != "" || pair.Timer.Masked {
			found = append(found, pair)
			continue
		}
		hint := ""
		if near := humanize.Nearest(name, known); near != "" {
			hint = ": did you mean " + near + "?"
		}
		return nil, fmt.Errorf("there is no %s on this machine%s", name, hint)
	}
	return found, nil
}

// TimerFile reads the timer in a file, and the service beside it.
func TimerFile(ctx context.Context, h Host, file string) (TimerUnits, error) {
	dir, name := filepath.Split(file)
	if target, err := filepath.EvalSymlinks(file); err == nil {
		base := filepath.Base(target)
		if dir = filepath.Dir(target); !strings.Contains(base, "@.") { // a link to a template names the instance
			name = base
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return TimerUnits{}, err
	}
	beside, err := openFiles(dir, "", os.Geteuid())
	if err != nil {
		return TimerUnits{}, err
	}
	defer beside.root.Close()
	s := &survey{Host: h, ctx: ctx, files: beside, list: &List{}}
	m := manager{survey: s, units: newUnits(s, []unitFolder{{beside, "/"}})}
	pair := pairOf(&m, name, true)
	for _, u := range []*Unit{&pair.Timer, &pair.Service} {
		if u.File != "" {
			u.File = filepath.Join(dir, u.File)
		}
	}
	if pair.Timer.File == "" {
		return pair, errors.New("no such file")
	}
	pair.OfUser = strings.HasSuffix(dir, "/systemd/user")
	return pair, nil
}

// pairOf loads a timer and its service.
func pairOf(m *manager, name string, enabled bool) TimerUnits {
	before := len(m.survey.list.Odd)
	timer := m.units.load(name)
	p := TimerUnits{Timer: exported(name, timer), Enabled: enabled}
	p.Service = exported(serviceOf(name, timer), m.units.load(serviceOf(name, timer)))
	p.Unread = slices.Clone(m.survey.list.Odd[before:])
	for _, name := range m.survey.list.LeftOut {
		p.Unread = append(p.Unread, Oddity{Place: name, Text: "you may not read it"})
	}
	return p
}

func exported(name string, u unit) Unit {
	return Unit{Name: name, File: u.path, Values: u.texts, Masked: u.masked}
}
