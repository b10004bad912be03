package serve

import (
	"strings"
	"time"

	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/run"
	"sched/schedule/view"
)

// A Config says what a Server serves, and to whom.
type Config struct {
	Schedules Schedules
	StateDir  string // absolute; tokens and the audit log are kept there
	Version   string
	Now       func() time.Time
	Problem   func(format string, args ...any) // reports problems that no answer can tell

	ReadOnly    bool     // there are no routes that change anything
	Edit        string   // the folder, absolute, into which tasks are written; "" for none
	Approve     bool     // proposals may be approved here
	BasePath    string   // "" or a path like /sched, under which all routes are
	Mount       string   // the end of BasePath that is this schedule's, one of several: /s/shop; or ""
	Hosts       []string // the names by which the server is called, besides localhost and its address
	BehindProxy bool     // the last address of X-Forwarded-For is the client
	Secure      bool     // browsers reach it by https

	HeaderSignIn *HeaderSignIn // nil: no proxy says who asks
}

// SitePath is the path of all that the process serves: see Site.
func (c Config) SitePath() string { return strings.TrimSuffix(c.BasePath, c.Mount) }

// offers reports whether the server has the routes of a scope. With --read-only, or without --edit,
// they are not there at all.
func (c Config) offers(scope Scope) bool {
	switch scope {
	case ScopeOperate, ScopeHook:
		return !c.ReadOnly
	case ScopeApprove:
		return !c.ReadOnly && c.Approve
	case ScopeEdit:
		return !c.ReadOnly && c.Edit != ""
	}
	return true
}

// Schedules is how a Server reads the schedule and acts on it. The functions must be safe for
// concurrent use.
type Schedules struct {
	// Load returns the schedule. If the file is wrong, it returns the schedule that runs in its
	// place, and in invalid what is wrong.
	Load func() (valid *schedule.Schedule, invalid, err error)
	// Check reads the schedule as if the files, by path, had these texts. A nil text means that the
	// file is not there.
	Check func(files map[string][]byte) (*schedule.Schedule, error)
	// View returns a Source that only reads.
	View func(*schedule.Schedule) view.Source
	// Actor leaves requests of somebody for ticks: triggers, retries, pauses.
	Actor func(s *schedule.Schedule, by string) control.Actor
	// Runs returns what stops runs.
	Runs func(*schedule.Schedule) run.Caller
}
