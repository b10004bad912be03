package machine

import (
	"cmp"
	"slices"
	"time"

	"sched/schedule/crontab"
	"sched/schedule/humanize"
)

// A Kind says what starts a job.
type Kind string

const (
	Cron     Kind = "cron"      // a line of a crontab
	RunParts Kind = "run-parts" // a file in a folder that such a line, or a line of anacrontab, names
	Anacron  Kind = "anacron"   // a line of anacrontab
	Timer    Kind = "timer"     // a timer of systemd
	At       Kind = "at"        // a job of at or batch
)

func (k Kind) order() int { return slices.Index([]Kind{Cron, RunParts, Anacron, Timer, At}, k) }

// EachUser stands for the user of a timer that the manager of each user has.
const EachUser = "each user"

// A Job is a command that the machine starts at some time.
type Job struct {
	Kind    Kind               `json:"kind"`
	Place   string             `json:"place"` // /etc/cron.d/php:14, a file, or the name of a timer
	File    string             `json:"file"`  // the file with its times
	Line    int                `json:"line"`  // in the file; 0 if the whole file is about this job
	User    string             `json:"user"`  // who runs it
	When    string             `json:"when"`  // as it is written there
	Next    *humanize.JSONTime `json:"next"`  // nil if it never comes, or is not known
	Last    *humanize.JSONTime `json:"last"`  // when it was last started; nil if that is not known
	LastBy  string             `json:"last_by"`
	Command string             `json:"command"`
	Off     string             `json:"off"` // why it does not start; "" if it does
	LineOff string             `json:"-"`   // why the line does not start that names its folder
	Skipped bool               `json:"-"`   // run-parts never starts the file, whatever its mode becomes
	Anacron *AnacronLine       `json:"-"`   // the line of anacrontab from which it comes

	next func(after time.Time) time.Time // nil: not known; the zero time: never
	line string                          // the command as cron logs it, up to a %; "" for no crontab
	path string                          // where a shell looks for programs; "" if that is not known
}

// setOff notes why the job does not start, unless a reason stands there already.
func (j *Job) setOff(why string) { j.Off = cmp.Or(j.Off, why) }

// SetLast notes when the job was last started, and what says so, unless a later start is known.
func (j *Job) SetLast(at time.Time, by string) {
	if !at.IsZero() && (j.Last == nil || at.After(j.Last.Time)) {
		j.Last, j.LastBy = humanize.UTCOrNil(at), by
	}
}

// IsSched reports whether the job is a tick of sched.
func (j Job) IsSched() bool { return crontab.IsTick(j.Command) }

// An AnacronLine is a line of anacrontab.
type AnacronLine struct {
	Days     int // its period, or one of the periods below
	Delay    time.Duration
	Random   time.Duration // RANDOM_DELAY: up to so much later
	From, To int           // START_HOURS_RANGE: the hours in which it starts
	First    time.Time     // when anacron starts first tomorrow; zero if nothing starts it
	Name     string
	Stamp    string    // the file that has the day of the last run
	Last     time.Time // that day; zero if it has never run
	Command  string
}

// The periods of anacron that are no number of days.
const (
	Monthly   = 0
	Yearly    = -1
	EachStart = -2 // anacron says that it skips the line, and runs it each time
)

// An Oddity is something that is hardly meant.
type Oddity struct {
	Place string `json:"place"` // of a job, or a file without jobs; "" for the whole machine
	User  string `json:"user"`  // whose job it is; "" for the whole machine
	Text  string `json:"text"`
	Hint  string `json:"hint"`
}

// A List is everything that is scheduled on a machine.
type List struct {
	Jobs    []Job    `json:"jobs"`
	Odd     []Oddity `json:"odd"`
	LeftOut []string `json:"left_out"` // what this user may not see
	Users   []string `json:"-"`        // of the machine, and of the jobs
	Debian  bool     `json:"-"`        // its cron is Debian's, which does not know CRON_TZ
}

// Until returns the jobs that are due before a time, the next one first.
func (l *List) Until(end time.Time) (due []Job) {
	for _, j := range l.Jobs {
		if j.Next != nil && j.Next.Before(end) {
			due = append(due, j)
		}
	}
	slices.SortStableFunc(due, func(a, b Job) int { return a.Next.Compare(b.Next.Time) })
	return due
}

// Of keeps what concerns a user alone.
func (l *List) Of(user string) {
	l.Jobs = slices.DeleteFunc(l.Jobs, func(j Job) bool { return j.User != user && j.User != EachUser })
	l.Odd = slices.DeleteFunc(l.Odd, func(o Oddity) bool { return o.User != user && o.User != "" })
}
