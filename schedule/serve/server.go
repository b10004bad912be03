package serve

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"sched/schedule"
	"sched/schedule/control"
	"sched/schedule/forecast"
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

// A Server answers HTTP requests about one schedule.
type Server struct {
	Config
	current        current
	access         *access
	watcher        *watcher
	forecasts      chan *forecast.Cache
	forecastTurns  turns
	hooks          hookThrottle
	stopping       chan struct{} // bounds the runs that are being stopped at the same time
	forecastPlaces chan struct{} // bounds the requests for forecasts that wait or are answered
	places         chan struct{} // bounds the requests that are answered at the same time
	process        string        // tells a restarted server from this one

	bodyTimeout time.Duration // maxBodyTime, but for tests
	mux         *http.ServeMux
	openapi     []byte
}

// maxPlaces is how many requests are answered at the same time: each may have a history open, with
// a cache of its own.
const maxPlaces = 4

// maxStopping is how many runs are being stopped at the same time: each is followed to its end,
// also when nobody waits for the answer.
const maxStopping = 64

// maxForecastPlaces is how many requests for forecasts wait or are answered at the same time: an
// answer may have half a megabyte.
const maxForecastPlaces = 8

// New returns a server that serves nothing yet: see Handler.
func New(c Config) (*Server, error) {
	s := &Server{
		Config:         c,
		places:         make(chan struct{}, maxPlaces),
		stopping:       make(chan struct{}, maxStopping),
		forecastPlaces: make(chan struct{}, maxForecastPlaces),
		mux:            http.NewServeMux(),
		forecasts:      newForecasts(),
		process:        rand.Text()[:8],
	}
	s.current.load, s.bodyTimeout = c.Schedules.Load, maxBodyTime
	s.access = newAccess(c)
	s.watcher = &watcher{Schedule: s.current.get}
	offered := routesOf(c)
	for _, r := range offered {
		s.mux.Handle(r.method+" "+s.BasePath+prefix+r.path, handlerOf(s, r))
	}
	if c.Mount == "" { // else the site does
		s.access.SignIn(s.mux)
	}
	var err error
	s.openapi, err = document(c, offered)
	return s, err
}

const prefix = "/api/v1"

// Assets is the prefix of the style and the script. They are served to everybody.
const Assets = "/assets/"

// Handler returns the handler of all requests. Requests outside the API go to pages, if the caller
// may look (see whoIs). If pages is nil, only the API is served.
func (s *Server) Handler(pages http.Handler) http.Handler {
	return s.access.Guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, pattern := s.mux.Handler(r)
		switch {
		case pattern != "":
			s.mux.ServeHTTP(w, r)
		case strings.HasPrefix(r.URL.Path, s.BasePath+prefix+"/") || pages == nil:
			s.answerNoRoute(w, r)
		case strings.HasPrefix(r.URL.Path, s.BasePath+Assets):
			pages.ServeHTTP(w, r) // the form for signing in needs the style
		default:
			s.forReaders(pages).ServeHTTP(w, r)
		}
	}))
}

// forReaders lets callers through who may look. It sends browsers without a session to the form for
// signing in.
func (s *Server) forReaders(pages http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, err := s.mayLook(r)
		if err == nil {
			pages.ServeHTTP(w, r.WithContext(withWho(r.Context(), who)))
			return
		}
		unknown := r.Header.Get("Authorization") == "" && ProblemOf(err).Status == http.StatusUnauthorized
		if unknown && r.Method == http.MethodGet {
			http.Redirect(w, r, s.SitePath()+"/login", http.StatusSeeOther)
			return
		}
		writeProblem(w, ProblemOf(err))
	})
}

func (s *Server) mayLook(r *http.Request) (Who, error) {
	who, err := s.access.Caller(r)
	if err == nil && !who.Scope.Allows(ScopeRead) {
		err = forbidden("", "it is not allowed")
	}
	return who, err
}

func (s *Server) answerNoRoute(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := s.mux.Handler(other); pattern != "" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) > 0 {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		writeProblem(w, NewProblem(http.StatusMethodNotAllowed, "it takes "+strings.Join(allowed, ", "),
			"%s is not for %s", r.URL.Path, r.Method))
		return
	}
	writeProblem(w, notFound("the routes are in "+s.BasePath+prefix+"/openapi.json",
		"there is no route %s", Shortened(r.URL.Path)))
}

// current is the schedule as it is now. It is read again when one of its files has changed, and
// from time to time, because a new file may match what it includes.
type current struct {
	load func() (*schedule.Schedule, error, error)

	mu       sync.Mutex
	schedule *schedule.Schedule
	invalid  error
	err      error
	read     time.Time // when the schedule was read
	seen     string    // what its files looked like then (see stampsOf)
}

// readAgainAfter is how old a schedule may be whose files look the same.
const readAgainAfter = 5 * time.Second

// get returns the schedule. If the file is wrong, it returns the schedule that runs in its place,
// and in invalid what is wrong. It returns err if no schedule can run.
func (c *current) get() (valid *schedule.Schedule, invalid, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.read) > readAgainAfter || c.seen != stampsOf(c.schedule) {
		c.schedule, c.invalid, c.err = c.load()
		c.read, c.seen = time.Now(), stampsOf(c.schedule)
	}
	return c.schedule, c.invalid, c.err
}

func (c *current) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = time.Time{}
}

// stampsOf describes the files of the schedule by their sizes and times: it changes when one of
// them does.
func stampsOf(s *schedule.Schedule) (all string) {
	if s == nil {
		return ""
	}
	for _, path := range s.Files() {
		if info, err := os.Stat(path); err == nil {
			all += fmt.Sprintf("%s %d %d\n", path, info.Size(), info.ModTime().UnixNano())
		}
	}
	return all
}
