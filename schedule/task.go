package schedule

import (
	"math"
	"time"

	"sched/schedule/cron"
	"sched/schedule/document"
)

// A Task is one entry of the schedule: when, what, and under which conditions.
//
// The fields with a JSON name are the task's snapshot: a run carries them with it, so that the
// processes that supervise and finish the run never read the schedule file again. A field without a
// JSON name decides whether the task starts, and is of no use after that.
type Task struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Tags        []string `json:"tags,omitempty"`

	When              cron.When          `json:"-"`
	Enabled           bool               `json:"-"` // false switches the task off
	Environments      []string           `json:"-"` // empty: every environment
	Conditions        Conditions         `json:"-"`
	ConditionCommands []ConditionCommand `json:"-"` // all must allow it; in the order in which they run

	EvenInMaintenance bool `json:"even_in_maintenance,omitempty"` // it runs while the maintenance file exists
	EvenWhenPaused    bool `json:"even_when_paused,omitempty"`    // it runs while everything is paused

	StartDeadline time.Duration `json:"-"` // how late after its slot it may start; 0: at any time
	RunMissed     bool          `json:"-"` // missed: once, so the newest slot that no tick covered runs later
	MissedWithin  time.Duration `json:"-"` // how old such a slot may be

	Command Command           `json:"command"`
	Folder  string            `json:"folder"`        // of the schedule, absolute
	Dir     string            `json:"dir"`           // where the command runs, absolute
	Env     map[string]string `json:"env,omitempty"` // of the file, the defaults, the group and the task, merged

	// EnvFiles hold more variables, absolute. They are read when a command starts: what is in them may be
	// secret, so it must never be in a snapshot.
	EnvFiles []string `json:"env_file,omitempty"`
	EnvOver  []string `json:"env_over,omitempty"` // the variables of Env that win over those files
	As       As       `json:"as,omitzero"`

	Background         bool   `json:"background,omitempty"`
	WithoutOverlapping bool   `json:"without_overlapping,omitempty"`
	Mutex              string `json:"mutex"` // the task's name unless the file says otherwise
	OneServer          bool   `json:"one_server,omitempty"`
	RunWhenStoreDown   bool   `json:"run_when_store_down,omitempty"` // store_down: run; else it is skipped then
	StopOnLostLease    bool   `json:"stop_on_lost_lease,omitempty"`  // on_lost_lease: stop; else it runs on

	Timeout      time.Duration `json:"timeout,omitempty"` // of one attempt; 0: none
	KillAfter    time.Duration `json:"kill_after"`        // between TERM and KILL
	Retry        Retry         `json:"retry"`
	SuccessCodes []int         `json:"success_codes"`
	Output       Output        `json:"output"`
	Hooks        Hooks         `json:"hooks"`
	Sender       Sender        `json:"sender,omitzero"` // of its notifications, where it has any

	Place   Place            `json:"-"` // where the file defines it
	origins document.Origins // where its values come from; nil unless LoadOptions.Origins asks for it
}

// Retry says how often a failed attempt is tried again, and how long to wait in between.
// The wait before attempt n+1 is Delay × Backoff^(n-1), at most MaxDelay where that is not 0.
type Retry struct {
	Attempts int           `json:"attempts"` // at least 1
	Delay    time.Duration `json:"delay,omitempty"`
	Backoff  float64       `json:"backoff,omitempty"` // at least 1
	MaxDelay time.Duration `json:"max_delay,omitempty"`
}

// Wait returns how long to wait after attempt n (from 1) has failed: at most a year where there is no MaxDelay.
func (r Retry) Wait(n int) time.Duration {
	if r.Delay == 0 {
		return 0
	}
	d := float64(r.Delay) * math.Pow(r.Backoff, float64(n-1))
	const longest = 365 * 24 * time.Hour // more might not fit a Duration
	if r.MaxDelay > 0 {
		return time.Duration(min(d, float64(r.MaxDelay)))
	}
	return time.Duration(min(d, float64(longest)))
}

// Longest returns the longest wait between two attempts.
func (r Retry) Longest() time.Duration {
	if r.Attempts < 2 {
		return 0
	}
	return r.Wait(r.Attempts - 1)
}

// Output is how much of the captured output is kept, and where a copy of it goes. An empty File means nowhere.
type Output struct {
	Limit  int64  `json:"limit,omitempty"` // in bytes; 0 in the snapshots of older versions, which had none
	File   string `json:"file,omitempty"`  // absolute
	Append bool   `json:"append,omitempty"`
}

// Hooks are what a task does around its command, each list in order.
type Hooks struct {
	Before     []Hook `json:"before,omitempty"`
	After      []Hook `json:"after,omitempty"`
	OnSuccess  []Hook `json:"on_success,omitempty"`
	OnFailure  []Hook `json:"on_failure,omitempty"`
	OnRecovery []Hook `json:"on_recovery,omitempty"`
	OnSkip     []Hook `json:"on_skip,omitempty"`
}

// A Hook is a command that runs around that of a task, or a notification where Notify is not nil.
type Hook struct {
	Run    Command       `json:"run,omitzero"`
	Notify *Notification `json:"notify,omitempty"`
}

// notify reports whether there is a notification among the hooks.
func (h Hooks) notify() bool {
	for _, hooks := range [][]Hook{h.Before, h.After, h.OnSuccess, h.OnFailure, h.OnRecovery, h.OnSkip} {
		for _, hook := range hooks {
			if hook.Notify != nil {
				return true
			}
		}
	}
	return false
}
