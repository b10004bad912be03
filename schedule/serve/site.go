package serve

import (
	"net/http"
	"strings"
)

// A Service is what a process serves: one schedule, or a Site.
type Service struct {
	Names     []string // of the schedules
	Handler   http.Handler
	LoginPath func(Scope) string
}

// A Site is several schedules behind one address. Each has a Server of its own, with a Mount. A
// browser signs in once: it gets a session of each schedule whose tokens have its token.
type Site struct {
	Members []*Server
	Broken  []string // schedules that cannot be served, and why: a line each

	handlers []http.Handler
	siteMux  *http.ServeMux // of the addresses that belong to no schedule
}

// A Sighting is a schedule that the caller may read, with the request for its Visit.
type Sighting struct {
	*Server
	Who     Who
	Request *http.Request
}

// An Overview answers with the first page of a site. It shows one schedule or more, at which the
// visitor may look.
type Overview func(http.ResponseWriter, *Site, []Sighting)

// NewSite returns the site of one server or more, which have the same SitePath. broken are the
// files that could not be loaded; pages makes the pages of one server.
func NewSite(members []*Server, broken []string, overview Overview, pages func(*Server) http.Handler) *Site {
	s := &Site{Members: members, Broken: broken, siteMux: http.NewServeMux()}
	var all []*access
	for _, m := range members { // schedules with one state folder have one keyring
		for _, other := range all {
			if other.StateDir == m.StateDir {
				m.access.tokens = other.tokens
			}
		}
		all = append(all, m.access)
	}
	for _, m := range members {
		m.access.all = all
		s.handlers = append(s.handlers, m.Handler(pages(m)))
	}
	first, base := members[0], members[0].SitePath()
	first.access.SignIn(s.siteMux)
	showOverview := func(w http.ResponseWriter, _ *http.Request, seen []Sighting) { overview(w, s, seen) }
	s.siteMux.HandleFunc("GET "+base+"/{$}", s.forReaders(showOverview))
	s.siteMux.HandleFunc("GET "+base+prefix+"/events", s.forReaders(streamChanges))
	s.siteMux.HandleFunc("GET "+base+Assets+"{file}", func(w http.ResponseWriter, r *http.Request) {
		r = r.Clone(r.Context())
		r.URL.Path = first.BasePath + strings.TrimPrefix(r.URL.Path, base)
		s.handlers[0].ServeHTTP(w, r)
	})
	s.siteMux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeProblem(w, notFound("each schedule is below "+base+"/s/NAME/",
			"there is nothing at %s", Shortened(r.URL.Path)))
	})
	return s
}

// ServeHTTP passes a request on to the schedule below whose path it is.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for i, m := range s.Members {
		if r.URL.Path == m.BasePath {
			http.Redirect(w, r, m.BasePath+"/", http.StatusPermanentRedirect)
			return
		}
		if strings.HasPrefix(r.URL.Path, m.BasePath+"/") {
			s.handlers[i].ServeHTTP(w, r)
			return
		}
	}
	s.Members[0].access.Guard(s.siteMux).ServeHTTP(w, r)
}

// forReaders lets callers through who may look at one of the schedules at least. Others go to the
// form. A token of another schedule of the site is not counted as a wrong attempt.
func (s *Site) forReaders(show func(http.ResponseWriter, *http.Request, []Sighting)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var seen []Sighting
		var denied error
		for _, m := range s.Members {
			who, _, err := m.access.identify(r)
			if err == nil {
				seen = append(seen, Sighting{m, who, r.WithContext(withWho(r.Context(), who))})
			} else if denied == nil || ProblemOf(err).Status != http.StatusUnauthorized {
				denied = err
			}
		}
		if len(seen) > 0 {
			show(w, r, seen)
			return
		}
		if p := ProblemOf(denied); p.Status != http.StatusUnauthorized || r.Header.Get("Authorization") != "" {
			s.Members[0].access.slowDown(r, s.Members[0].access.Address(r))
			writeProblem(w, p)
			return
		}
		http.Redirect(w, r, s.Members[0].SitePath()+"/login", http.StatusSeeOther)
	}
}

// streamChanges sends what changes in all schedules that the caller sees: their page loads itself
// again then.
func streamChanges(w http.ResponseWriter, r *http.Request, seen []Sighting) {
	var all []*Server
	for _, sighting := range seen {
		all = append(all, sighting.Server)
	}
	stream(w, r, func(e *eventStream) { followChanges(e, r.Header.Get("Last-Event-ID"), all...) })
}
