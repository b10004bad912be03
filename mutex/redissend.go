package mutex

import (
	"fmt"
	"time"

	"sched/mutex/redisserver"
)

// send sends a request to every server at the same time, and returns the answers in the order in
// which they come: one for each server, by the end at the latest. In a sequence, each server gets it
// after what is in there before.
func (r *Redis) send(end time.Time, q redisserver.Request, in *sequence) <-chan redisserver.Answer {
	q.End = end
	answers := make(chan redisserver.Answer, len(r.servers))
	for i, s := range r.servers {
		done := make(chan struct{})
		before := in.add(i, done)
		r.inFlight.Go(func() {
			defer close(done)
			<-before
			answers <- s.Run(q)
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

func milliseconds(d time.Duration) string { return fmt.Sprint(max(1, d.Milliseconds())) }
