package schedule

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"sched/schedule/cron"
	"sched/schedule/judge"
	"sched/schedule/yamldoc"
)

// A Task is one entry of the schedule: when, what, and under which conditions.
//
// Fields with a JSON name are the snapshot of the task that a run carries: its processes never read
// the schedule file again. The other fields only decide whether the task starts.
type Task struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Tags        []string `json:"tags,omitempty"`

	When              cron.When          `json:"-"`
	TimeValues        []TimeValues       `json:"-"` // in the order of the file; empty: no time has values
	Spread            time.Duration      `json:"-"` // bounds When.Shift from above; 0: no shift
	Enabled           bool               `json:"-"` // false switches the task off
	Environments      []string           `json:"-"` // empty: every environment
	Servers           []string           `json:"-"` // patterns of package placement; empty: every server
	Conditions        Conditions         `json:"-"`
	ConditionCommands []ConditionCommand `json:"-"` // in the order in which they run; all must allow the slot

	EvenInMaintenance bool `json:"even_in_maintenance,omitempty"` // runs while the maintenance file exists
	EvenWhenPaused    bool `json:"even_when_paused,omitempty"`    // runs while everything is paused

	Pauses []*Pause `json:"pauses,omitempty"` // the file plans them for this task

	// StartDeadline is how late after its slot a run may start; 0 for at any time.
	StartDeadline time.Duration `json:"-"`

	// RunMissed: the newest slot that no tick covered runs later (missed: once, after_pause, all).
	RunMissed bool `json:"-"`

	// RunAfterPause: the newest slot of a pause or a maintenance runs later, too (after_pause).
	RunAfterPause bool `json:"run_after_pause,omitempty"`

	// RunAllMissed: not the newest slot alone runs later, but all that no tick covered (all).
	RunAllMissed bool `json:"-"`

	MaxMissed    int           `json:"-"`                    // RunAllMissed runs so many slots of a gap at most
	MissedWithin time.Duration `json:"-"`                    // how old a slot may be that runs later
	CatchesUp    bool          `json:"catches_up,omitempty"` // the task was made by CatchUp

	Expect Expect `json:"-"`

	Command Command           `json:"command"`
	Folder  string            `json:"folder"`        // of the schedule, absolute
	Dir     string            `json:"dir"`           // the working directory of the command, absolute
	Env     map[string]string `json:"env,omitempty"` // merged from the file, the defaults, the group and the task

	// EnvFiles are absolute paths of files with more variables. The variables may be secret, so no
	// snapshot has them.
	EnvFiles     []string `json:"env_file,omitempty"`
	EnvOverrides []string `json:"env_over,omitempty"` // the names in Env that win over EnvFiles
	Secrets      []string `json:"secrets,omitempty"`  // the names of variables that are masked, besides EnvFiles
	Unmasked     bool     `json:"unmasked,omitempty"` // nothing is masked, also not what EnvFiles have
	Params       []Param  `json:"-"`                  // in the order of the file; the row of a run has its values
	As           As       `json:"as,omitzero"`
	Limits       Limits   `json:"limits,omitzero"`

	Background         bool `json:"background,omitempty"`
	WithoutOverlapping bool `json:"without_overlapping,omitempty"`

	// Replace: a run ends the run of the task that has the mutex, and waits until that has ended.
	Replace bool `json:"replace,omitempty"`

	// MaxWait is how long a run waits for a mutex or a seat that others have; 0: it is skipped.
	MaxWait time.Duration `json:"-"`

	// MayQueue: runs of this task may wait, or runs of a task that shares its mutex or its pool.
	MayQueue bool `json:"-"`

	// Maintenance is the maintenance file that counts when a waiting run gets its turn; "" for
	// none.
	Maintenance string `json:"maintenance,omitempty"`

	Mutex     string `json:"mutex"`         // the task's name unless the file says otherwise
	Pool      Pool   `json:"pool,omitzero"` // without a name: none
	OneServer bool   `json:"one_server,omitempty"`

	// Prefer names the servers that come first. The other servers leave a slot to them for a second
	// (one_server).
	Prefer []string `json:"-"`

	// Without the store a run is skipped, unless one of these fields is true (store_down).
	RunWhenStoreDown  bool `json:"run_when_store_down,omitempty"`
	WaitWhenStoreDown bool `json:"-"`

	StopOnLostLease bool `json:"stop_on_lost_lease,omitempty"` // false: the run goes on (on_lost_lease)

	Timeout      time.Duration `json:"timeout,omitempty"` // of one attempt; 0: none
	KillAfter    time.Duration `json:"kill_after"`        // between TERM and KILL
	Retry        Retry         `json:"retry"`
	SuccessCodes []int         `json:"success_codes"`
	WarnCodes    []int         `json:"warn_codes,omitempty"`  // exit codes of a success with a warning
	Judge        judge.Rules   `json:"judge,omitzero"`        // what else decides whether a run succeeded
	PauseAfter   int           `json:"pause_after,omitempty"` // so many failures in a row pause the task; 0: never
	Output       Output        `json:"output"`
	Hooks        Hooks         `json:"hooks"`
	OTLP         string        `json:"otlp,omitempty"` // the URL of a collector of traces, unexpanded; empty for none

	// Sender is set if the task has notifications, traces or triggers, needs locks or may wait.
	Sender ScheduleRef `json:"sender,omitzero"`

	// Lacks says that the entry names a variable or a file that is not there, and where. No slot
	// of such a task starts, and its other fields may lack values. Empty if nothing is missing.
	Lacks string `json:"-"`

	Place   Place           `json:"-"` // its place in the file
	Origins yamldoc.Origins `json:"-"` // the origins of its values; nil unless load.Options.Origins asks for them
}

// An Origin is the place at which a value in effect was set.
type Origin = yamldoc.Origin

// A Setting is a key of a task with the value in effect.
type Setting struct {
	Key string // as in the file; a key inside of another with a dot: retry.attempts, env.PATH

	// Value is nil for no value, or a bool, Word, string, int, float64, time.Duration, []string,
	// []int, Command, Param or []Hook. A variable of env, any text that has ${file:…} in it, and
	// notifications stand as in the file. In all other values ${VAR} is expanded.
	Value any

	From  Origin
	IsSet bool // false: the value is the one of a task that sets nothing, and From is empty
}

// A Word is one of the words that a key accepts.
type Word string

// PlaceOf returns the place at which a key of the task was set. If the key was not set, or its
// place is not known, PlaceOf returns the place of the task.
func (t *Task) PlaceOf(key string) Place {
	if from, ok := t.Origins[key]; ok {
		return from.Place
	}
	return t.Place
}

// Problem returns a problem, or a warning, about a key of the task.
func (t *Task) Problem(key, hint, format string, args ...any) Problem {
	return Problem{Place: t.PlaceOf(key), Task: t.Name, Text: fmt.Sprintf(format, args...), Hint: hint}
}

// NeedsLocks reports whether a run of the task must hold a mutex or a seat, or take its slot for
// all servers.
func (t *Task) NeedsLocks() bool { return t.OneServer || t.HoldsWhileRunning() }

// HoldsWhileRunning reports whether a run of the task must hold a mutex, or a seat of a pool, while
// it goes on.
func (t *Task) HoldsWhileRunning() bool { return t.WithoutOverlapping || t.Pool.Name != "" }

// Retry says how often a failed attempt is tried again. The wait before attempt n+1 is Delay ×
// Backoff^(n-1), at most MaxDelay if that is not 0.
type Retry struct {
	Attempts int           `json:"attempts"` // at least 1
	Delay    time.Duration `json:"delay,omitempty"`
	Backoff  float64       `json:"backoff,omitempty"` // at least 1
	MaxDelay time.Duration `json:"max_delay,omitempty"`

	// Jitter is the part of a wait, from 0 to 1, by which the wait may be shorter or longer.
	Jitter float64 `json:"jitter,omitempty"`

	// Lost: a lost run counts as a failed attempt. The tick that finds the run tries it again.
	Lost bool `json:"lost,omitempty"`
}

// Wait returns how long to wait after attempt n (from 1) has failed: at most a year if there is no
// MaxDelay.
func (r Retry) Wait(n int) time.Duration {
	if r.Delay == 0 {
		return 0
	}
	d := float64(r.Delay) * math.Pow(r.Backoff, float64(n-1))
	const maxWait = 365 * 24 * time.Hour // more might not fit a Duration
	return time.Duration(min(d, float64(cmp.Or(r.MaxDelay, maxWait))))
}

// WaitOf is Wait with jitter. The jitter of one run is always the same. Runs that failed together
// do not come back together.
func (r Retry) WaitOf(run string, n int) time.Duration {
	fraction := float64(hash(fmt.Sprint(run, "\x00", n))>>11) / (1 << 53) // in [0, 1)
	return r.stretched(n, r.Jitter*(2*fraction-1))
}

// stretched returns the wait after attempt n, longer by a part of it: at most MaxDelay.
func (r Retry) stretched(n int, part float64) time.Duration {
	d := time.Duration(float64(r.Wait(n)) * (1 + part))
	if r.MaxDelay > 0 {
		return min(d, r.MaxDelay)
	}
	return d
}

// Longest returns the longest wait between two attempts, jitter included.
func (r Retry) Longest() time.Duration {
	if r.Attempts < 2 {
		return 0
	}
	return r.stretched(r.Attempts-1, r.Jitter)
}

// Longest returns how long a run can take with all its attempts and waits; 0 if unbounded.
func (t *Task) Longest() time.Duration {
	const maxAttempts = 1000 // nobody waits for the end of more
	if t.Timeout == 0 || t.Retry.Attempts > maxAttempts {
		return 0
	}
	total := time.Duration(t.Retry.Attempts) * (t.Timeout + t.KillAfter)
	for n := 1; n < t.Retry.Attempts; n++ {
		total += t.Retry.stretched(n, t.Retry.Jitter)
	}
	return total
}

// Expect says when a task counts as overdue.
type Expect struct {
	Within time.Duration // the longest time from the start of a run to its end; 0: no bound
	Every  time.Duration // the longest time without a success; 0: no bound
}

// Output is how much of the captured output is kept, and where a copy of it goes. An empty File
// means nowhere.
type Output struct {
	Limit  int64  `json:"limit,omitempty"` // in bytes
	File   string `json:"file,omitempty"`  // absolute
	Append bool   `json:"append,omitempty"`
}

// A Pool limits how many runs of its tasks go on at once.
type Pool struct {
	Name  string `json:"name"`
	Seats int    `json:"seats"` // how many, at least 1
}

// As says as whom the commands and hooks of a task run, and with what umask and priority. A field
// that is empty or nil is inherited from the process of sched. Whether a user exists depends on the
// machine, so nothing is looked up here.
type As struct {
	User  string `json:"user,omitempty"`  // a name or a uid
	Group string `json:"group,omitempty"` // a name or a gid; empty: the group of the user
	Umask *int   `json:"umask,omitempty"` // 0 to 0o777
	Nice  *int   `json:"nice,omitempty"`  // -20 to 19, as getpriority(2) counts
}

// Limits are how much the command of a run may use, all of its processes together. A field that is
// 0 sets no limit.
type Limits struct {
	Memory int64 `json:"memory,omitempty"` // bytes
	CPU    int   `json:"cpu,omitempty"`    // percent of one processor
	Files  int   `json:"files,omitempty"`  // that each process may have open
}

// NeedsCgroup reports whether a cgroup keeps the limits better than the processes themselves.
func (l Limits) NeedsCgroup() bool { return l.Memory > 0 || l.CPU > 0 }

// Bounds says between which times the task has slots: "from 2026-12-01", "until 2027-01-06 18:00";
// "" for a task without such bounds.
func (t *Task) Bounds() string {
	var words []string
	if from := t.When.From; !from.IsZero() {
		words = append(words, "from "+MomentText(from, t.When.Location))
	}
	if until := t.When.Until; !until.IsZero() {
		words = append(words, "until "+MomentText(until, t.When.Location))
	}
	return strings.Join(words, " ")
}

// Shift returns by how many whole minutes, less than the spread, a task is due later on a server.
// The names of task and server give the same number in every version of sched. The server is empty
// for one_server, which needs the same shift everywhere.
func (t *Task) Shift(server string) time.Duration {
	minutes := uint64(t.Spread / time.Minute)
	if minutes == 0 {
		return 0
	}
	seed := "spread\x00" + t.Name
	if server != "" {
		seed += "\x00" + server
	}
	return time.Duration(hash(seed)%minutes) * time.Minute
}

// hash spreads seeds evenly over all numbers.
func hash(seed string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(seed))
	sum := h.Sum64()
	sum ^= sum >> 32
	sum *= 0x9e3779b97f4a7c15 // FNV alone leaves short seeds close to each other
	return sum ^ sum>>29
}

// MaxLateness returns the age up to which a slot still runs that could not start in its minute: no
// tick came, or the store did not answer.
func (t *Task) MaxLateness() time.Duration {
	if t.StartDeadline > 0 && !t.RunMissed {
		return min(t.MissedWithin, t.StartDeadline)
	}
	return t.MissedWithin
}

// GivesWay reports whether a slot is one of several of its minute. Such a slot does not wait,
// because the next slot is near.
func (t *Task) GivesWay(at time.Time) bool { return len(t.When.Slots(at)) > 1 }

// WaitsForPause reports whether a slot of the task waits for the end of a pause or a maintenance.
func (t *Task) WaitsForPause(at time.Time) bool { return t.RunAfterPause && !t.GivesWay(at) }

// WaitUntil returns when a run of a slot that begins to wait at from stops waiting: after MaxWait,
// or at the slot's StartDeadline if that comes first.
func (t *Task) WaitUntil(slot, from time.Time) time.Time {
	until := from.Add(t.MaxWait)
	if latest := slot.Add(t.StartDeadline); t.StartDeadline > 0 && latest.Before(until) {
		return latest
	}
	return until
}

// UnmetCondition says which condition keeps the task from running, or what it lacks, without
// condition commands.
func (t *Task) UnmetCondition(at time.Time) string {
	if t.Lacks != "" {
		return t.Lacks
	}
	return cmp.Or(t.When.Skips(at), t.Conditions.FirstUnmet(at.In(t.When.Location)))
}

// NextRun returns the first slot after the given time whose conditions of time are met; false if no
// such slot comes within maxSteps. Condition commands, pauses, maintenance and locks do not count.
func (t *Task) NextRun(after time.Time) (time.Time, bool) {
	if t.Lacks != "" {
		return time.Time{}, false
	}
	for range maxSteps {
		next, ok := t.When.Next(after)
		if !ok {
			return time.Time{}, false
		}
		if t.UnmetCondition(next) == "" {
			return next, true
		}
		local := next.In(t.When.Location)
		isUnmetAllDay := !t.Conditions.Days.Contains(local.Weekday()) || t.Conditions.Holidays.On(local) != "" ||
			t.When.Shift == 0 && t.When.Skips(next) != ""
		if isUnmetAllDay { // go on at the next midnight
			year, month, day := local.Date()
			after = time.Date(year, month, day+1, 0, 0, 0, 0, t.When.Location).Add(-1)
		} else { // go on at the next minute
			after = next.Truncate(time.Minute).Add(time.Minute - 1)
		}
		if after.Before(next) { // clocks that skip midnight
			after = next
		}
	}
	return time.Time{}, false
}

// Triggers returns the hooks of the task that start other tasks, in the order of TriggerKeys.
func (t *Task) Triggers() (triggers []Trigger) {
	for key, hook := range t.Hooks.All() {
		if hook.Trigger != "" {
			triggers = append(triggers, Trigger{From: t.Name, Key: key, Task: hook.Trigger, Place: hook.Place})
		}
	}
	return triggers
}

// ValuesAt returns the values that the file gives to the run of a slot; nil for none. If several
// entries are due at that instant, the last one counts.
func (t *Task) ValuesAt(at time.Time) map[string]string {
	when := t.When
	for _, times := range slices.Backward(t.TimeValues) {
		when.Crons = times.Crons
		if slices.ContainsFunc(when.Slots(at), at.Equal) {
			return times.Params
		}
	}
	return nil
}

// GivesValue reports whether each time of the task has a value for the param.
func (t *Task) GivesValue(param string) bool {
	return len(t.TimeValues) > 0 && !slices.ContainsFunc(t.TimeValues, func(times TimeValues) bool {
		_, given := times.Params[param]
		return !given
	})
}

// OnlyByHand reports whether only a person can start the task, because a param has no value
// otherwise.
func (t *Task) OnlyByHand() bool {
	return slices.ContainsFunc(t.Params, func(p Param) bool { return p.Default == nil && !t.GivesValue(p.Name) })
}

// Param returns the param with the name; nil if the task has none.
func (t *Task) Param(name string) *Param {
	i := slices.IndexFunc(t.Params, func(p Param) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &t.Params[i]
}

// CheckValues returns why no run of the task can have these values of its params; nil if a run can.
// The hint is for commands, and may be empty.
func (t *Task) CheckValues(values map[string]string) (hint string, problem error) {
	var names []string
	for _, p := range t.Params {
		names = append(names, p.Name)
		value, given := values[p.Name]
		if !given && p.Default == nil {
			return "`--env " + p.Name + "=…` sets one", &MissingValueError{t.Name, p.Name}
		}
		if problem := p.Refuses(value); given && problem != "" {
			return "", fmt.Errorf("%s of %s: %s", p.Name, t.Name, problem)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if slices.Contains(names, name) {
			continue
		}
		hint = "name it under `params` of the task"
		if len(names) > 0 {
			hint = "its params are " + strings.Join(names, ", ")
		}
		return hint, fmt.Errorf("%s has no param %s", t.Name, yamldoc.Quote(name))
	}
	return "", nil
}

// Obeys reports whether the pause is for the task.
func (t *Task) Obeys(p *Pause) bool {
	if p.Everything {
		return !t.EvenWhenPaused
	}
	hasTag := func(tag string) bool { return slices.Contains(p.Tags, tag) }
	return slices.Contains(p.Tasks, t.Name) || slices.ContainsFunc(t.Tags, hasTag)
}
