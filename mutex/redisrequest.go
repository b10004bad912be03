package mutex

import (
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// A request is a script with its arguments, without the deadline.
type request struct {
	rule   sendRule
	script *redis.Script
	keys   []string
	args   []any
	grants bool      // its script counts what it grants: the last argument is the instance
	slot   time.Time // of a claim that the server may have forgotten; zero for anything else
	always bool      // a server does it after the end, too
	end    time.Time // after which a server does nothing any more
	sent   int       // how often it was sent to one server, or may have been
}

// send sends a request to every server at the same time, and returns the answers in the order in
// which they come: one for each server, by the end at the latest. In a sequence, each server gets it
// after what is in there before.
func (r *Redis) send(end time.Time, q request, in *sequence) <-chan answer {
	answers := make(chan answer, len(r.servers))
	for i, s := range r.servers {
		own, done := q, make(chan struct{})
		before := in.add(i, done)
		r.inFlight.Go(func() {
			defer close(done)
			<-before
			words, err := s.run(end, &own)
			answers <- answer{words, err}
		})
	}
	return answers
}

// A sequence keeps the requests about one lock in order on each server: what a majority has answered
// may still be on its way to the others, and must not be done after a later request. A nil sequence
// keeps no order.
type sequence []<-chan struct{} // for each server: closed when its last request is done

func newSequence(servers int) sequence {
	s := make(sequence, servers)
	for i := range s {
		s[i] = atOnce
	}
	return s
}

// add puts a request to a server at the end, which closes done when it is done. The request may begin
// when the result is closed.
func (s *sequence) add(server int, done <-chan struct{}) (before <-chan struct{}) {
	if s == nil {
		return atOnce
	}
	before, (*s)[server] = (*s)[server], done
	return before
}

// atOnce is closed.
var atOnce = func() <-chan struct{} { c := make(chan struct{}); close(c); return c }()

// arguments are those that the server gets.
func (q *request) arguments(s *server) []any {
	all := append([]any{serverDeadline{s, q}}, q.args...)
	if q.grants {
		all = append(all, serverInstance{s})
	}
	return all
}

// A serverInstance is the instance at the other end of the connection to which it is written, empty where that is not known.
type serverInstance struct{ server *server }

func (i serverInstance) MarshalBinary() ([]byte, error) {
	i.server.mu.Lock()
	defer i.server.mu.Unlock()
	return []byte(i.server.instance), nil
}

// A serverDeadline is a deadline by the clock of the server, in microseconds. It becomes text when it
// is written to a connection: then onConnect has seen the instance and the clock at the other end.
type serverDeadline struct {
	server  *server
	request *request
}

// neverLate is a deadline that no clock passes.
const neverLate = "9000000000000000"

func (d serverDeadline) MarshalBinary() ([]byte, error) {
	d.server.mu.Lock()
	defer d.server.mu.Unlock()
	switch {
	case d.request.rule == ifTrusted && d.server.mayHaveForgotten(d.request.slot) != nil:
		return []byte("0"), nil // it is late
	case d.request.always, !d.server.clockKnown:
		return []byte(neverLate), nil // where its clock is not known, the user may not see it
	}
	return strconv.AppendInt(nil, d.request.end.Add(d.server.ahead).UnixMicro(), 10), nil
}

// setClock notes what the clock of the server was a moment ago: it is ahead of ours by that much at
// least, so nothing is done there after its sender has given up.
func (s *server) setClock(microseconds string) {
	if n, err := strconv.ParseInt(microseconds, 10, 64); err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.clockKnown, s.ahead = true, time.Until(time.UnixMicro(n))
	}
}

func milliseconds(d time.Duration) string { return fmt.Sprint(max(1, d.Milliseconds())) }
