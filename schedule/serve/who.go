package serve

import (
	"context"
	"net"
	"net/http"
	"strings"
	"time"

	"sched/schedule/view"
)

// A Who is a caller.
type Who struct {
	Name  string // for the history, the pauses and the audit log
	From  string // the address, or that it came by the socket
	Scope Scope
	Task  string // for which a key is good; "" for other callers

	ByHeader bool // the proxy has signed them in
}

type whoKey struct{}

// withWho returns a context that names the caller who was let in.
func withWho(ctx context.Context, who Who) context.Context {
	return context.WithValue(ctx, whoKey{}, who)
}

// whoIs returns the caller who was let in.
func whoIs(ctx context.Context) Who {
	who, _ := ctx.Value(whoKey{}).(Who)
	return who
}

// Caller identifies the caller. Wrong tokens may be answered later. The error is a *Problem.
func (a *access) Caller(r *http.Request) (Who, error) {
	who, isWrong, err := a.identify(r)
	if isWrong {
		a.slowDown(r, a.Address(r))
	}
	return who, err
}

// identify is Caller, but it says if a wrong token or session was given, and does not wait.
func (a *access) identify(r *http.Request) (who Who, isWrong bool, err error) {
	if user, ok := peerOf(r.Context()); ok {
		return Who{Name: user, From: "socket", Scope: ScopeEdit}, false, nil // the socket has mode 0600
	}
	from := a.Address(r)
	header := r.Header.Get("Authorization")
	if a.HeaderSignIn != nil && header == "" { // a token decides alone, and a header before a cookie
		if who, ok, err := a.HeaderSignIn.who(r, from, a.Problem); ok || err != nil {
			return who, false, err
		}
	}
	if header != "" {
		isWrong = true
		if token, ok := strings.CutPrefix(header, "Bearer "); ok {
			found, ok, err := a.tokens.find(token)
			if err != nil {
				return Who{}, false, ProblemOf(err)
			}
			if ok && found.Scope.Allows(ScopeRead) {
				return Who{Name: found.Name, From: from, Scope: found.Scope}, false, nil
			}
		}
	} else {
		for _, cookie := range r.CookiesNamed(a.cookieName(r)) { // another port may have set one, too
			isWrong = true
			if session, ok := a.session(r, cookie.Value); ok {
				return Who{Name: session.Session.By, From: from, Scope: session.Scope}, false, nil
			}
		}
	}
	if isWrong {
		return Who{}, true, NewProblem(http.StatusUnauthorized, "make one with `sched serve token --scope read`",
			"the token is not one of this server, or was revoked")
	}
	return Who{}, false, NewProblem(http.StatusUnauthorized,
		"send `Authorization: Bearer TOKEN`; `sched serve token --scope read` makes one", "a token is needed")
}

// Key returns who has a key of the scope, with the task of the key. The error is a *Problem.
func (a *access) Key(r *http.Request, scope Scope, key string) (Who, error) {
	found, ok, err := a.tokens.find(key)
	if err != nil {
		return Who{}, ProblemOf(err)
	}
	from := a.Address(r)
	if peer, isPeer := peerOf(r.Context()); isPeer {
		from = peer
	}
	if !ok || found.Scope != scope {
		a.slowDown(r, from)
		return Who{}, notFound("`sched serve token --"+string(scope)+" TASK` makes one", "there is no such key")
	}
	return Who{Name: found.Name, From: from, Scope: scope, Task: found.Task}, nil
}

// slowDown delays the answer to a wrong token, key or link, when many came from its address lately.
// The delayed connection takes no place among the answers, and makes room for other connections.
func (a *access) slowDown(r *http.Request, from string) {
	delay := a.attempts.wrong(from)
	if delay == 0 {
		return
	}
	makeWay(r.Context())
	select {
	case <-time.After(delay):
	case <-r.Context().Done():
	}
}

// Address is the address of the client. Behind a proxy it is the address that the proxy added.
func (a *access) Address(r *http.Request) string {
	if a.BehindProxy {
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

type peerKey struct{}

// peerOf returns the user at the other end of a socket; false for a connection by TCP.
func peerOf(ctx context.Context) (user string, ok bool) {
	user, ok = ctx.Value(peerKey{}).(string)
	return user, ok
}

// peerName returns the name of the user at the other end of a socket, if the system knows it.
func peerName(socket *net.UnixConn) string {
	uid, cerr := 0, error(nil)
	raw, err := socket.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { uid, cerr = peerCredentials(int(fd)) })
	}
	if err != nil || cerr != nil {
		return "socket"
	}
	return view.UserName(uid)
}
