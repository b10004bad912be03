package web

import (
	"slices"
	"time"

	"sched/schedule/machine"
	"sched/schedule/preflight"
)

// hostOf is a variable because tests list another machine.
var hostOf = machine.Here

// A machinePage lists what something else than sched starts on this machine.
type machinePage struct {
	*page
	*machine.List
	Ticks int // lines and timers that call sched
}

// readMachine shows commands as a whole only to somebody who operates: commands of other users may
// hold secrets.
func readMachine(p *page) (machinePage, error) {
	p.title, p.IsStatic = "Machine", true
	list, err := machine.Look(p.request.Context(), hostOf(p.now, time.Local))
	if err != nil {
		return machinePage{}, err
	}
	shown := machinePage{page: p, List: list, Ticks: len(list.Jobs)}
	list.Jobs = slices.DeleteFunc(list.Jobs, machine.Job.IsSched)
	shown.Ticks -= len(list.Jobs)
	for i := range list.Jobs {
		if j := &list.Jobs[i]; !p.Operates() && j.Kind != machine.RunParts {
			j.Command = preflight.FirstProgram(j.Command) + " …"
		}
	}
	return shown, nil
}
