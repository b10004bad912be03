package serve

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"sched/schedule/control"
	"sched/schedule/pause"
	"sched/schedule/view"
)

// A PauseRequest says what is paused, from when until when and why. Without Tasks and Tags
// everything is paused. Without From it is paused now, and without For and Until until somebody
// ends it.
type PauseRequest struct {
	Tasks  stringList `json:"tasks,omitempty"`
	Tags   stringList `json:"tags,omitempty"`
	From   string     `json:"from,omitempty"`  // a time as commands take it
	For    *float64   `json:"for,omitempty"`   // seconds
	Until  string     `json:"until,omitempty"` // a time as commands take it
	Stop   bool       `json:"stop,omitempty"`  // the runs that go on when it begins are stopped
	Reason string     `json:"reason,omitempty"`
}

// A Pausing is a pause with the id by which it is ended.
type Pausing struct {
	// The name of the task, or everything; a planned one has @ and its beginning behind it. It is
	// empty for a pause of the schedule.
	ID string `json:"id"`
	view.TaskPause
}

// PauseID returns the id of a pause that is not planned: the name of the task, or everything. A
// task may be called everything, too.
func PauseID(name string) string {
	switch name {
	case pause.Everything:
		return everything
	case everything:
		return taskEverything
	}
	return name
}

const everything, taskEverything = "everything", "task everything"

// pausedBy returns the name that PauseID made an id of.
func pausedBy(id string) string {
	switch id {
	case everything:
		return pause.Everything
	case taskEverything:
		return everything
	}
	return id
}

func getPauses(r *Visit) (any, error) { return pageOf(r.Pauses(), cursor{}), nil }

// Pauses returns the pauses in effect, and then those that are planned.
func (r *Visit) Pauses() (all []Pausing) {
	paused, planned := view.PausesNow(r.Schedule, r.View.Pauses(), view.InSchedule(r.Schedule), r.server.Now())
	for _, p := range append(paused, planned...) {
		id := PauseID(cmp.Or(p.Task, pause.Everything))
		switch {
		case p.Raw.InFile:
			id = ""
		case p.Raw.Planned:
			id = plannedID(id, p.Raw)
		}
		all = append(all, Pausing{id, p})
	}
	return all
}

// plannedID is the id of a planned pause of the task with an id, or of everything.
func plannedID(id string, p pause.Pause) string {
	return id + "@" + p.Since.UTC().Format(time.RFC3339)
}

func postPause(r *Visit, body PauseRequest) (any, error) {
	paused, err := r.Pause(body)
	return pageOf(paused, cursor{}), err
}

// Pause pauses tasks, and returns their pauses.
func (r *Visit) Pause(body PauseRequest) (paused []Pausing, err error) {
	actor := r.actor()
	p, err := r.pausing(actor, body)
	if err != nil {
		return nil, err
	}
	if (body.Tasks != nil || body.Tags != nil) && len(body.Tasks)+len(body.Tags) == 0 {
		return nil, badRequest("leave out tasks and tags to pause everything", "the list of what to pause is empty")
	}
	names, err := actor.ChooseTasks(nil, body.Tasks, body.Tags)
	if err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	var targets []string
	for _, name := range names {
		targets = append(targets, PauseID(name))
	}
	if err := checkReason(body.Reason); err != nil {
		return nil, err
	}
	err = r.audit("pause", strings.Join(targets, ", "), p.LogReason(r.Schedule.Location), func() error {
		made, _, err := actor.Pause(names, p)
		for _, id := range targets {
			if made.Planned {
				id = plannedID(id, made)
			}
			ids[id] = true
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(r.Pauses(), func(p Pausing) bool { return !ids[p.ID] }), nil
}

// pausing returns the pause that the request asks for.
func (r *Visit) pausing(actor control.Actor, body PauseRequest) (asked control.PauseWish, err error) {
	asked = control.PauseWish{Stop: body.Stop, Reason: body.Reason}
	from, planned, err := r.readFuture(nil, "from", body.From, "from")
	if err != nil {
		return asked, err
	}
	until, bounded, err := r.readFuture(body.For, "for", body.Until, "until")
	if err != nil {
		return asked, err
	}
	if planned {
		asked.From = from.UTC().Truncate(time.Second)
	}
	if planned && body.For != nil {
		d, _ := readDuration("for", *body.For) // readFuture has seen it
		until = asked.From.Add(d)
	}
	if bounded {
		asked.Until = until.UTC().Truncate(time.Second)
	}
	if planned {
		err = actor.CheckPlanned(asked.From, asked.Until, "")
	}
	return asked, err
}

func deletePause(r *Visit) (any, error) {
	return nil, r.Resume(r.PathValue("id"), r.Header.Get("Sched-Reason"))
}

// Resume ends a pause, or takes back a planned one.
func (r *Visit) Resume(id, reason string) error {
	short, begins, planned := strings.Cut(id, "@")
	name := pausedBy(short)
	actor := r.actor()
	read, err := actor.Controls.Read()
	if err != nil {
		return err
	}
	isMeant := actor.InEffect
	if planned {
		isMeant = func(p pause.Pause) bool {
			return (actor.InEffect(p) || actor.ToCome(p)) && p.Planned && plannedID("", p) == "@"+begins
		}
	}
	i := slices.IndexFunc(read.Pauses[name], isMeant)
	if i < 0 {
		return view.Fail(view.NotFound, "GET "+prefix+"/pauses lists what is paused", "%s is not paused", id)
	}
	if err := checkReason(reason); err != nil {
		return err
	}
	if actor.ToCome(read.Pauses[name][i]) {
		reason = control.Because(control.PlannedEnded, reason)
	}
	return r.audit("resume", id, reason, func() error {
		_, err := actor.Resume([]string{name}, isMeant)
		return err
	})
}
