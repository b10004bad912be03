package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sched/schedule"
	"sched/schedule/forecast"
	"sched/schedule/state"
	"sched/schedule/statedir"
	"sched/schedule/view"
)

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
	following      chan struct{} // bounds the answers that wait for the end of a run
	forecastPlaces chan struct{} // bounds the requests for forecasts that wait or are answered
	places         chan struct{} // bounds the requests that are answered at the same time
	process        string        // tells a restarted server from this one

	bodyTimeout time.Duration // maxBodyTime, but for tests
	mux         *http.ServeMux
	withheld    *http.ServeMux // the routes that the server would have if it was started otherwise
	openapi     []byte
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
		case strings.HasPrefix(r.URL.Path, s.BasePath+"/api/") || pages == nil:
			s.answerNoRoute(w, r)
		case strings.HasPrefix(r.URL.Path, s.BasePath+Assets):
			pages.ServeHTTP(w, r) // the form for signing in needs the style
		default:
			s.serveReader(w, r, pages)
		}
	}))
}

// serveReader lets a caller through who may look. It sends browsers without a session to the form
// for signing in.
func (s *Server) serveReader(w http.ResponseWriter, r *http.Request, pages http.Handler) {
	who, err := s.access.Admit(r, ScopeRead)
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
	}
	_, withheld := s.withheld.Handler(r)
	switch {
	case withheld != "":
		writeProblem(w, s.notOffered(withheld, len(allowed) > 0))
		return
	case len(allowed) > 0:
		writeProblem(w, NewProblem(http.StatusMethodNotAllowed, "it takes "+strings.Join(allowed, ", "),
			"%s is not for %s", Shortened(r.URL.Path), r.Method))
		return
	}
	writeProblem(w, notFound("the routes are in "+s.BasePath+prefix+"/openapi.json",
		"there is no route %s", Shortened(r.URL.Path)))
}

// notOffered answers a request for a route that a server has only if it is started otherwise.
// pattern is of the route, and isPath says that the path has other methods.
func (s *Server) notOffered(pattern string, isPath bool) *Problem {
	status := http.StatusNotFound
	if isPath {
		status = http.StatusMethodNotAllowed
	}
	if s.ReadOnly {
		return NewProblem(status, "start `sched serve` without --read-only", "this server changes nothing")
	}
	if strings.Contains(pattern, "/proposals/") {
		return NewProblem(status, "start `sched serve` as the user of the tasks, or say `sched approve`",
			"this server decides about no proposals")
	}
	return NewProblem(status, "start `sched serve` with --edit and a folder that the schedule includes, "+
		"or edit the schedule's file", "this server writes no tasks")
}

// LoginPath returns the path of a new login link with the scope. It signs in to all schedules of a
// site.
func (s *Server) LoginPath(scope Scope) string {
	code := newSecret()
	for _, member := range s.access.all {
		member.links.Store(tokenHash(code), link{scope, s.Now().Add(linkLasts)})
	}
	return s.SitePath() + "/login/" + code
}

// takePlace waits for a place among the requests that do such work. If it returns no error, the
// caller must call giveBack.
func (s *Server) takePlace(ctx context.Context, work Work, caller string) (giveBack func(), err error) {
	switch work {
	case Waiting:
		return func() {}, nil
	case Quick:
		return take(ctx, s.places)
	}
	endTurn, err := s.forecastTurns.take(ctx, caller)
	if err != nil {
		return nil, err
	}
	giveBackPlace, err := take(ctx, s.forecastPlaces)
	if err != nil {
		endTurn()
		return nil, err
	}
	return func() { giveBackPlace(); endTurn() }, nil
}

// Changes returns up to limit changes below an id ("" for all), newest first, and if more exist.
func (s *Server) Changes(below string, limit int) (changes []view.Change, more bool, err error) {
	var id int64
	if below != "" {
		if id, err = strconv.ParseInt(below, 10, 64); err != nil {
			return nil, false, badCursor()
		}
	}
	return view.ChangesBelow(context.Background(), s.StateDir, id, limit)
}

// writeAudit opens the log for a write.
func (s *Server) writeAudit(write func(state.Audit) error) error {
	db, err := state.Open(s.StateDir, state.Patience)
	if err != nil {
		return err
	}
	err = errors.Join(write(db.Audit()), db.Close())
	if path := db.SetAside(); path != "" {
		s.Problem("the database was damaged; it is now %s, and a new one was begun", path)
	}
	return err
}

// CheckEdit returns why tasks cannot be written into the folder: the schedule does not read the
// folder, or would read drafts, too.
func (s *Server) CheckEdit() error {
	const name = "sched-serve-tries-this"
	path := s.taskFile(name)
	now, err := s.Schedules.Check(map[string][]byte{
		path:          taskText(name, []byte("every: year\ncommand: [\"true\"]\n")),
		path + ".new": []byte("{"), // the draft that statedir.Replace writes before it renames it
	})
	folder := filepath.Base(s.Config.Edit)
	if err != nil {
		if _, without := s.Schedules.Check(nil); without != nil {
			return without
		}
		return view.Fail(view.Invalid, "let include read only what ends in .yaml: `include: ["+folder+"/*.yaml]`",
			"the schedule cannot be read with a task in the folder of --edit: %w", err)
	}
	if _, err := view.FindTask(now, name); err != nil {
		return view.Fail(view.Invalid, "add `include: ["+folder+"/*.yaml]` to "+filepath.Base(now.File),
			"the schedule does not read the folder of --edit, %s", s.Config.Edit)
	}
	return nil
}

// edit does something while no other request, of this server or of another one, writes into the
// folder.
func (s *Server) edit(do func() error) error {
	err := statedir.Exclusively(s.Config.Edit, do)
	if errors.Is(err, statedir.ErrLocked) {
		return tryAgain(1, "try again", "another server is writing into the folder of --edit")
	}
	return err
}

// taskFile is the file of a task. No name has a +.
func (s *Server) taskFile(name string) string {
	return filepath.Join(s.Config.Edit, strings.ReplaceAll(name, "/", "+")+".yaml")
}

// keysAndTag returns the keys of a task of the schedule, as its file has them now, and the ETag of
// just this text; "" for a task that cannot be edited here.
func (s *Server) keysAndTag(now *schedule.Schedule, t *schedule.Task) (keys []byte, tag string) {
	if s.Config.Edit == "" || fileOf(now, t.Place) != s.taskFile(t.Name) {
		return nil, ""
	}
	text, err := statedir.ReadFile(s.taskFile(t.Name))
	keys, strangeLine := keysIn(text, t.Name)
	if err != nil || strangeLine > 0 {
		return nil, ""
	}
	return keys, tagOf(text)
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

// clockStep is more than the step in which file systems count the times of files.
const clockStep = 20 * time.Millisecond

// readAgainAfter is how old a schedule may be whose files look the same.
const readAgainAfter = 5 * time.Second

// get returns the schedule. If the file is wrong, it returns the schedule that runs in its place,
// and in invalid what is wrong. It returns err if no schedule can run.
func (c *current) get() (valid *schedule.Schedule, invalid, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.read) > readAgainAfter || c.seen != stampsOf(c.schedule) {
		began := time.Now()
		c.schedule, c.invalid, c.err = c.load()
		c.read, c.seen = time.Now(), stampsOf(c.schedule)
		if changedSince(c.schedule, began.Add(-clockStep)) {
			c.seen = "" // nobody knows which text was read: another change may have the same stamps
		}
	}
	return c.schedule, c.invalid, c.err
}

func (c *current) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = time.Time{}
}

// changedSince reports whether one of the files of the schedule was changed between since and now.
func changedSince(s *schedule.Schedule, since time.Time) bool {
	return s != nil && slices.ContainsFunc(s.Files(), func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && info.ModTime().After(since) && !info.ModTime().After(time.Now())
	})
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
