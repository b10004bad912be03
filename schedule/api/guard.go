package api

import (
	"net"
	"net/http"
	"slices"
	"strings"
)

// mostBody is the most bytes of a request's body.
const mostBody = 64 << 10

// policy is what pages may load: what this server serves, and nothing inline.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; font-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// guard is what comes before every route: headers for browsers, and what is refused whoever asks.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if p := s.unwelcome(r); p != nil {
			writeProblem(w, p)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, mostBody)
		next.ServeHTTP(w, r)
	})
}

// unwelcome returns why a request is refused before it is looked at; nil for most.
func (s *Server) unwelcome(r *http.Request) *Problem {
	switch {
	case !s.calledByName(r):
		return problem(http.StatusForbidden, "start `sched serve` with --host and that name, if it is right",
			"this server is not called %q", shortened(r.Host))
	case strings.Contains(r.URL.Path+"?"+r.URL.RawQuery, tokenStart):
		return problem(http.StatusBadRequest, "revoke it, since URLs are written to logs, and send `Authorization: Bearer TOKEN`", "a token is in the URL")
	case r.ContentLength > mostBody:
		return problem(http.StatusRequestEntityTooLarge, "", "the body is larger than %d KiB", mostBody>>10)
	}
	if err := s.cross.Check(r); err != nil {
		return problem(http.StatusForbidden, "", "a page of another site has sent this")
	}
	return nil
}

// calledByName reports whether the request names this server. A page of another site may have the browser look up its own name, and get
// our address: DNS rebinding. Such a request has that name. A socket has no name that can be looked up.
func (s *Server) calledByName(r *http.Request) bool {
	if _, ok := peerOf(r.Context()); ok {
		return true
	}
	name := r.Host
	if host, _, err := net.SplitHostPort(r.Host); err == nil {
		name = host
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if name == "localhost" || slices.ContainsFunc(s.Hosts, func(host string) bool { return strings.EqualFold(host, name) }) {
		return true
	}
	ip := net.ParseIP(name)
	if ip == nil {
		return false
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return ip.IsLoopback()
	}
	host, _, _ := net.SplitHostPort(local.String())
	return ip.Equal(net.ParseIP(host)) || ip.IsLoopback()
}

// refuse answers somebody who was not let in.
func (s *Server) refuse(w http.ResponseWriter, _ *http.Request, err error) {
	if err == nil {
		err = problem(http.StatusForbidden, "", "it is not allowed")
	}
	writeProblem(w, problemOf(err))
}
