package serve

import (
	"time"

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

// plannedID is the id of a planned pause of the task with an id, or of everything.
func plannedID(id string, p pause.Pause) string {
	return id + "@" + p.Since.UTC().Format(time.RFC3339)
}
