package redisserver

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Request is a script with its arguments.
type Request struct {
	Script *Script
	Keys   []string
	Args   []any     // those that follow the deadline
	End    time.Time // after which the server does nothing any more, and nobody waits for its answer

	EvenIfDown bool      // it is sent also while the server is down
	EvenLate   bool      // the server does it after the end, too
	Grants     bool      // its script counts what it grants (see Script): not sent to a server that may have forgotten what it granted
	Slot       time.Time // of a claim that such a server may have known; zero for anything else
}

// An Answer is what a server says to a request: the words of its script, or why there are none.
type Answer struct {
	Words []string // at least one, unless there is an Err
	Err   error    // an *Error: it is not known whether the server did it
	Sent  int      // how often the request was sent: more than once, and an earlier one may have been done
}

// Word returns a word of the answer, "" where it has fewer.
func (a Answer) Word(i int) string {
	if i < len(a.Words) {
		return a.Words[i]
	}
	return ""
}

// A sendRule says in which state of a server a request is sent; otherwise it fails at once.
type sendRule int

const (
	ifUp       sendRule = iota // while the server is up
	evenIfDown                 // always
	ifTrusted                  // while it is up and cannot have forgotten locks by a restart
)

func (q *Request) rule() sendRule {
	switch {
	case q.Grants:
		return ifTrusted
	case q.EvenIfDown:
		return evenIfDown
	}
	return ifUp
}

// arguments are those that the server gets.
func (q *Request) arguments(s *Server) []any {
	all := append([]any{serverDeadline{s, q}}, q.Args...)
	if q.Grants {
		all = append(all, serverInstance{s})
	}
	return all
}

// A serverInstance is the instance at the other end of the connection to which it is written, empty where that is not known.
type serverInstance struct{ server *Server }

func (i serverInstance) MarshalBinary() ([]byte, error) {
	i.server.mu.Lock()
	defer i.server.mu.Unlock()
	return []byte(i.server.instance), nil
}

// A serverDeadline is a deadline by the clock of the server, in microseconds. It becomes text when it
// is written to a connection: then onConnect has seen the instance and the clock at the other end.
type serverDeadline struct {
	server  *Server
	request *Request
}

// neverLate is a deadline that no clock passes.
const neverLate = "9000000000000000"

func (d serverDeadline) MarshalBinary() ([]byte, error) {
	d.server.mu.Lock()
	defer d.server.mu.Unlock()
	switch {
	case d.request.rule() == ifTrusted && d.server.mayHaveForgotten(d.request.Slot) != nil:
		return []byte("0"), nil // it is late
	case d.request.EvenLate, !d.server.clockKnown:
		return []byte(neverLate), nil // where its clock is not known, the user may not see it
	}
	return strconv.AppendInt(nil, d.request.End.Add(d.server.ahead).UnixMicro(), 10), nil
}

// setClock notes what the clock of the server was a moment ago: it is ahead of ours by that much at
// least, so nothing is done there after its sender has given up.
func (s *Server) setClock(microseconds string) {
	if n, err := strconv.ParseInt(microseconds, 10, 64); err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.clockKnown, s.ahead = true, time.Until(time.UnixMicro(n))
	}
}

// sendRestore sends the requests of RestoreWith on a connection, in one round trip. A server that refuses them is as one that is sent
// none: its user may lack a command.
func (s *Server) sendRestore(ctx context.Context, c *redis.Conn) error {
	if s.restore == nil {
		return nil
	}
	pipe := c.Pipeline()
	for _, q := range s.restore() {
		q.Script.get().Eval(ctx, pipe, q.Keys, q.arguments(s)...)
	}
	if pipe.Len() == 0 {
		return nil
	}
	if _, err := pipe.Exec(ctx); err != nil {
		if _, unreachable := s.explain(err); unreachable {
			return err
		}
	}
	return nil
}
