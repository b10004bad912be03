package serve

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"time"

	"sched/cmd/app"
	"sched/cmd/exit"
	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/doctor"
	"sched/schedule/load"
	"sched/schedule/run"
	"sched/schedule/serve"
	"sched/schedule/statedir"
	"sched/schedule/view"
)

// newConfig returns the config of the server of a schedule. The server reads the schedule anew
// when it has changed, so its functions get the schedule of the moment.
func newConfig(a *app.App, s *schedule.Schedule, o options, signIn *serve.HeaderSignIn) serve.Config {
	live := &liveStore{app: a}
	viewOf := func(s *schedule.Schedule) (source view.Source) {
		live.use(s, func() { source = a.View(s) })
		return source
	}
	environment := app.OwnEnvironment()
	config := serve.Config{
		StateDir:     s.StateDir,
		Version:      app.Version,
		Now:          a.Now,
		Problem:      a.Warn,
		ReadOnly:     o.readOnly,
		BasePath:     o.basePath,
		Hosts:        o.hosts,
		BehindProxy:  o.behindProxy,
		Secure:       o.cert != "" || o.behindProxy,
		HeaderSignIn: signIn,
		Schedules: serve.Schedules{
			Load: a.LoadLastValid,
			Check: func(files map[string][]byte) (*schedule.Schedule, error) {
				return checkAfterEdit(a, files)
			},
			View: func(s *schedule.Schedule) view.Source {
				source := viewOf(s)
				source.Controls.ReadOnly = true
				return source
			},
			Actor: func(s *schedule.Schedule, by string) control.Actor {
				actor := control.Actor{Source: viewOf(s), By: by}
				actor.Environ, actor.OnlyTicks = app.TickEnviron(s, environment)
				return actor
			},
			Runs: func(s *schedule.Schedule) (caller run.Caller) {
				live.use(s, func() { caller = a.Caller(s) })
				return caller
			},
		},
	}
	if o.edit != "" {
		config.Edit, _ = filepath.Abs(o.edit)
	}
	return config
}

// checkAfterEdit reads the schedule as if its files had these texts. It refuses a schedule that is
// invalid, or that does not fit this machine.
func checkAfterEdit(a *app.App, files map[string][]byte) (*schedule.Schedule, error) {
	file, err := a.FindConfig()
	if err != nil {
		return nil, err
	}
	options := a.Options()
	options.Texts = files
	s, err := load.File(file, options)
	if err != nil {
		return nil, err
	}
	if problems, _ := doctor.Unfit(s, os.Environ()); len(problems) > 0 {
		return nil, &load.InvalidError{Problems: problems, StateDir: s.StateDir}
	}
	return s, nil
}

// loadWithStateDir loads the schedule as LoadToChange does, and makes its state folder if that is
// missing.
func loadWithStateDir(a *app.App) (*schedule.Schedule, error) {
	s, err := a.LoadToChange()
	if err == nil {
		err = statedir.MakeDir(s.StateDir)
	}
	if errors.Is(err, os.ErrPermission) {
		err = exit.Failed("", "%w", err) // exit code 1: the call is right, the folder is not
	}
	return s, err
}

// A liveStore connects the app with the store and the database of the current schedule. An edit may
// change both while requests are answered.
type liveStore struct {
	app *app.App

	mu        sync.Mutex
	connected schedule.Schedule // app.connections are for this one; the zero value before the first use
}

// use calls read when the app has the connections of s. Only one read runs at a time.
func (l *liveStore) use(s *schedule.Schedule, read func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &l.connected
	if c.Name != s.Name || c.StateDir != s.StateDir || !reflect.DeepEqual(c.Store, s.Store) {
		time.AfterFunc(maxUse, l.app.Connections.Close)
		l.connected, l.app.Connections = *s, app.Connections{}
	}
	read()
}

// maxUse is how long requests may use the earlier connections after an edit. A stop takes that long
// only if the kill_after of its task does.
const maxUse = time.Hour
