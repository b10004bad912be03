package api

import (
	"context"
	"net"
	"net/http"
	"strings"
	"time"

	"sched/schedule/text"
)

// A Who is somebody who asks.
type Who struct {
	Name  string // for the history, the pauses and the audit log
	From  string // the address, or that it came by the socket
	Scope Scope
}

type whoKey struct{}

// WhoIs returns who asks for a page.
func WhoIs(ctx context.Context) Who {
	who, _ := ctx.Value(whoKey{}).(Who)
	return who
}

// whoIs returns who asks. The error is a *Problem.
func (s *Server) whoIs(r *http.Request) (Who, error) {
	if user, ok := peerOf(r.Context()); ok {
		return Who{user, "socket", Edit}, nil // the socket has mode 0600
	}
	from := s.address(r)
	given := false
	if header := r.Header.Get("Authorization"); header != "" {
		given = true
		if token, ok := strings.CutPrefix(header, "Bearer "); ok {
			found, ok, err := s.tokens.find(token)
			if err != nil {
				return Who{}, problemOf(err)
			}
			if ok && found.Scope.allows(Read) {
				return Who{found.Name, from, found.Scope}, s.rightToken(from, found.Hash)
			}
		}
	} else if cookie, err := r.Cookie(cookieName); err == nil {
		given = true
		if one, ok := s.sessions.find(cookie.Value); ok && s.stillValid(one) {
			one.who.From = from
			return one.who, nil
		}
	}
	if given {
		return Who{}, s.wrongToken(from)
	}
	return Who{}, problem(http.StatusUnauthorized, "send `Authorization: Bearer TOKEN`; `sched serve token --scope read` makes one", "a token is needed")
}

// stillValid reports whether the token with which a session was begun was not revoked since.
func (s *Server) stillValid(one session) bool {
	if one.token == "" {
		return true
	}
	found, ok, err := s.tokens.findHash(one.token)
	return err == nil && ok && found.Scope == one.who.Scope
}

// rightToken refuses a right token of an address from which too many wrong ones came, or it could go on to guess. A token that was
// right before from there is let in: nobody locks out others who have the same address, as all users of this machine have.
func (s *Server) rightToken(from, hash string) error {
	if left := s.attempts.exhausted(from); left > 0 && !s.attempts.knows(from, hash) {
		return tooMany(from, left)
	}
	s.attempts.right(from, hash)
	return nil
}

// wrongToken counts a wrong token, and is the answer to it.
func (s *Server) wrongToken(from string) error {
	if left := s.attempts.exhausted(from); left > 0 {
		return tooMany(from, left)
	}
	s.attempts.wrong(from)
	return problem(http.StatusUnauthorized, "make one with `sched serve token --scope read`", "the token is not one of this server, or was revoked")
}

func tooMany(from string, left time.Duration) error {
	p := problem(http.StatusTooManyRequests, "wait for "+text.Duration(left), "there were too many wrong tokens from %s", from)
	p.retryAfter = int(left.Seconds()) + 1
	return p
}

// address is where a request comes from. Behind a proxy it is the address that the proxy added.
func (s *Server) address(r *http.Request) string {
	if s.BehindProxy {
		all := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		if ip := net.ParseIP(strings.TrimSpace(all[len(all)-1])); ip != nil {
			return ip.String()
		}
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
