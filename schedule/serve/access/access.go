// Package access decides who may do what: by token, session, key in a path, or user of a socket.
// Guard comes before every route; Who and Key say who asks. docs/serve.md has the threats.
package access

import (
	"net/http"
	"time"
)

// A Config says how a server is called, and where its tokens are.
type Config struct {
	StateDir    string   // absolute
	BasePath    string   // "" or a path like /sched, under which all routes are
	Hosts       []string // the names by which the server is called, besides localhost and its address
	BehindProxy bool     // the last address of X-Forwarded-For is who asks
	Secure      bool     // browsers reach it by https
	Now         func() time.Time
}

// An Access decides who may do what. It may be used by several goroutines.
type Access struct {
	Config
	tokens   tokens
	sessions sessions
	attempts attempts
	cross    *http.CrossOriginProtection
}

// New returns the access to one server.
func New(c Config) *Access {
	return &Access{
		Config: c, tokens: tokens{dir: c.StateDir}, sessions: sessions{now: c.Now}, attempts: attempts{now: c.Now},
		cross: http.NewCrossOriginProtection(),
	}
}
