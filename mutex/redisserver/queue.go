package redisserver

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// A queued is a request that waits for its turn on one server, or for its answer.
type queued struct {
	request Request
	answer  Answer        // once done is closed
	done    chan struct{} // closed when it was answered, or cannot be
}

// Run sends a request, and returns the answer, at its End or a moment later at the latest. Requests that come while one is under way
// wait, and then go together, in one round trip: however many locks and claims a tick takes, they cost a few. So no request waits for a
// connection of its own, and one that was answered late waited for nothing else.
func (s *Server) Run(q Request) Answer {
	one := &queued{request: q, done: make(chan struct{})}
	s.mu.Lock()
	s.queue = append(s.queue, one)
	idle := !s.sending
	s.sending = true
	s.mu.Unlock()
	if idle {
		s.begin()
	}
	select {
	case <-one.done: // by begin
		return one.answer
	default:
	}
	over := time.NewTimer(time.Until(q.End) + toExplain)
	defer over.Stop()
	select {
	case <-one.done:
		return one.answer
	case <-over.C:
		return Answer{Err: s.whyNoAnswer()}
	}
}

// toExplain is how long a request that has no answer may take after its end to say why.
const toExplain = 25 * time.Millisecond

// begin sends what is in the queue: here where that is soon done, and what comes meanwhile in the background.
func (s *Server) begin() {
	s.mu.Lock()
	near := s.roundTrip > 0 && s.roundTrip <= farAway && s.whyDown == nil
	s.mu.Unlock()
	if !near {
		go s.sendQueue()
		return
	}
	if s.sendNext() {
		go s.sendQueue()
	}
}

// farAway is the round trip from which the first request of a stream waits for a moment, a twentieth of it: alone it would cost the
// others a whole one.
const farAway = 4 * time.Millisecond

// sendQueue sends what is in the queue, until that is empty.
func (s *Server) sendQueue() {
	s.mu.Lock()
	far := s.roundTrip
	s.mu.Unlock()
	if far > farAway {
		time.Sleep(far / 20)
	}
	for s.sendNext() {
	}
}

// sendNext sends the requests that go together next, and reports whether there may be more: then the caller goes on.
func (s *Server) sendNext() bool {
	next := s.nextInQueue()
	requests := make([]Request, len(next))
	for i, one := range next {
		requests[i] = one.request
	}
	for i, a := range s.RunAll(requests) {
		next[i].answer = a
		close(next[i].done)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sending = len(s.queue) > 0
	return s.sending
}

// mostAtOnce bounds the requests of one round trip: a server is busy with them for a few milliseconds.
const mostAtOnce = 500

// nextInQueue takes the requests from the queue that go together: those with the rule of the first. What nobody waits for any more is never
// sent: a server that has too much to do is not asked for it, and it comes after nothing that was asked since.
func (s *Server) nextInQueue() (next []*queued) {
	now, over := time.Now(), []*queued(nil)
	defer func() {
		for _, one := range over {
			one.answer.Err = s.whyNoAnswer()
			close(one.done)
		}
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	rest := s.queue[:0:0]
	for _, one := range s.queue {
		switch {
		case now.After(one.request.End):
			over = append(over, one)
		case len(next) == 0, one.request.rule() == next[0].request.rule() && len(next) < mostAtOnce:
			next = append(next, one)
		default:
			rest = append(rest, one)
		}
	}
	s.queue = rest
	return next
}

// RunAll sends requests in one round trip, which waits for no others, and returns their answers in the same order. All must have the same
// EvenIfDown and Grants.
func (s *Server) RunAll(requests []Request) []Answer {
	answers := s.runAll(requests)
	for i, a := range answers {
		if requests[i].Grants && a.Word(0) == "ours" {
			s.noteGranted(a.Word(4))
		}
	}
	return answers
}

// runAll is RunAll that notes no grants. A first answer "late" may mean that the clock of the server was set, which is corrected here,
// or that the server turned out to be one that is not trusted: the second attempt succeeds in the one case, and fails with the reason
// in the other.
func (s *Server) runAll(requests []Request) []Answer {
	if len(requests) == 0 {
		return nil
	}
	rule, end := requests[0].rule(), requests[0].End
	for _, q := range requests {
		if q.End.After(end) {
			end = q.End
		}
	}
	ctx, cancel := context.WithDeadline(context.Background(), end)
	defer cancel()
	answers := make([]Answer, len(requests))
	open := make([]int, len(requests)) // the places of those without an answer
	for i := range open {
		open[i] = i
	}
	for range 2 {
		err := s.do(ctx, rule, true, func(ctx context.Context, c *redis.Client) error {
			return s.pipeline(ctx, c, requests, open, answers)
		})
		var late []int
		for _, i := range open {
			switch {
			case err != nil:
				answers[i] = Answer{Err: err}
			case answers[i].Word(0) == "late":
				late = append(late, i)
				s.setClock(answers[i].Word(1))
			}
		}
		if open = late; len(open) == 0 {
			return answers
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range open {
		answers[i] = Answer{Err: s.mayHaveForgotten(requests[i].Slot)}
		if answers[i].Err == nil || rule != ifTrusted {
			answers[i].Err = s.failed("does not answer in time", "does its clock jump?")
		}
	}
	return answers
}

// pipeline sends the requests at the places, and reads their answers. The error is that of all of them.
func (s *Server) pipeline(ctx context.Context, c *redis.Client, requests []Request, places []int, answers []Answer) error {
	if len(places) == 1 { // most scripts of most ticks: the server knows them by their digests
		q, a := &requests[places[0]], &answers[places[0]]
		a.Sent++
		words, err := q.Script.get().Run(ctx, c, q.Keys, q.arguments(s)...).StringSlice()
		a.Words = words
		return err
	}
	known := map[*Script]bool{} // by this server, from the same pipeline
	pipe := c.Pipeline()
	commands := make([]*redis.Cmd, len(places))
	for n, i := range places {
		q := &requests[i]
		answers[i].Sent++
		send := q.Script.get().Eval
		if known[q.Script] {
			send = q.Script.get().EvalSha
		}
		known[q.Script] = true
		commands[n] = send(ctx, pipe, q.Keys, q.arguments(s)...)
	}
	_, refused := pipe.Exec(ctx)
	failed := 0
	for n, i := range places {
		words, err := commands[n].StringSlice()
		answers[i].Words, answers[i].Err = words, nil
		if err == nil {
			continue
		}
		if commands[n].Err() == nil && refused != nil {
			err = refused // of the connection: go-redis leaves the commands without an error then
		}
		explained, unreachable := s.explain(err)
		if failed++; unreachable || failed == len(places) {
			return err
		}
		answers[i].Err = explained
	}
	return nil
}
