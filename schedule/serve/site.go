package serve

import (
	"net/http"
	"strings"
)

// A Service is what a process serves: one schedule, or a Site.
type Service struct {
	Names     string // for the greeting: "shop is", "shop, mail are"
	Handler   http.Handler
	LoginPath func(Scope) string
}

// A Site is several schedules behind one address. Each has a Server of its own, with a Mount. A
// browser signs in once: it gets a session of each schedule whose tokens have its token.
type Site struct {
	Members []*Server
	Broken  []string // schedules that cannot be served, and why: a line each

	handlers []http.Handler
	own      *http.ServeMux // of the addresses that belong to no schedule
}

// NewSite returns the site of servers, which are at least one and have the same SitePath. Overview
// shows them all, and pages makes the pages of one.
func NewSite(members []*Server, broken []string, overview func(*Site) http.Handler, pages func(*Server) http.Handler) *Site {
	s := &Site{Members: members, Broken: broken, own: http.NewServeMux()}
	var all []*access
	for _, m := range members {
		for _, other := range all {
			if other.StateDir == m.StateDir {
				m.access.tokens = other.tokens // one file
			}
		}
		all = append(all, m.access)
	}
	for _, m := range members {
		m.access.all = all
		s.handlers = append(s.handlers, m.Handler(pages(m)))
	}
	first, base := members[0], members[0].SitePath()
	first.access.SignIn(s.own)
	s.own.Handle("GET "+base+"/{$}", s.shown(overview(s)))
	s.own.HandleFunc("GET "+base+Assets+"{file}", func(w http.ResponseWriter, r *http.Request) {
		r = r.Clone(r.Context())
		r.URL.Path = first.BasePath + strings.TrimPrefix(r.URL.Path, base)
		s.handlers[0].ServeHTTP(w, r)
	})
	s.own.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeProblem(w, NewProblem(http.StatusNotFound, "each schedule is below "+base+"/s/NAME/", "there is nothing at %s", Shortened(r.URL.Path)))
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
	s.Members[0].access.Guard(s.own).ServeHTTP(w, r)
}

// shown lets callers through who may look at one of the schedules. Others go to the form.
func (s *Site) shown(overview http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var denied error
		for _, m := range s.Members {
			_, err := m.Seen(r)
			if err == nil {
				overview.ServeHTTP(w, r)
				return
			}
			if denied == nil || ProblemOf(err).Status != http.StatusUnauthorized {
				denied = err
			}
		}
		if p := ProblemOf(denied); p.Status != http.StatusUnauthorized || r.Header.Get("Authorization") != "" {
			s.Members[0].access.slowDown(r, s.Members[0].access.Address(r))
			writeProblem(w, p)
			return
		}
		http.Redirect(w, r, s.Members[0].SitePath()+"/login", http.StatusSeeOther)
	})
}

// LoginPath returns the path of a new login link, which signs in to all schedules.
func (s *Site) LoginPath(scope Scope) string { return s.Members[0].LoginPath(scope) }

// Seen returns a request for Visit, if its sender may look at the schedule. A token of another
// schedule of the site counts as no attempt.
func (s *Server) Seen(r *http.Request) (*http.Request, error) {
	who, _, err := s.access.identify(r)
	if err != nil {
		return nil, err
	}
	return r.WithContext(withWho(r.Context(), who)), nil
}
