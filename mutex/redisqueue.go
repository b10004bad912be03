package mutex

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// A queued is a request that waits for its turn on one server, or for its answer.
type queued struct {
	request request
	answer  answer        // once done is closed
	done    chan struct{} // closed when it was answered, or cannot be
}

// run sends the request to this server, and returns the words of the answer. Requests that come while one is under way wait, and
// then go together, in one round trip: however many locks and claims a tick takes, they cost a few. So no request waits for a
// connection of its own, and one that was answered late waited for nothing else.
func (s *server) run(end time.Time, q *request) (words []string, err error) {
	one := &queued{request: *q, done: make(chan struct{})}
	one.request.end = end
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
		q.sent = one.request.sent
		return one.answer.words, one.answer.err
	default:
	}
	over := time.NewTimer(time.Until(end) + lateAtLeast) // the request itself should say why it has no answer
	defer over.Stop()
	select {
	case <-one.done:
		q.sent = one.request.sent
		return one.answer.words, one.answer.err
	case <-over.C:
		q.sent++ // maybe
		return nil, s.whyNoAnswer()
	}
}

// begin sends what is in the queue: here where that is soon done, and what comes meanwhile in the background.
func (s *server) begin() {
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
func (s *server) sendQueue() {
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
func (s *server) sendNext() bool {
	next := s.nextInQueue()
	requests := make([]*request, len(next))
	for i, one := range next {
		requests[i] = &one.request
	}
	for i, a := range s.runAll(requests) {
		if next[i].request.grants && a.word(0) == "ours" {
			s.noteGranted(a.word(4))
		}
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
func (s *server) nextInQueue() (next []*queued) {
	now, over := time.Now(), []*queued(nil)
	defer func() {
		for _, one := range over {
			one.answer.err = s.whyNoAnswer()
			close(one.done)
		}
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	rest := s.queue[:0:0]
	for _, one := range s.queue {
		switch {
		case now.After(one.request.end):
			over = append(over, one)
		case len(next) == 0, one.request.rule == next[0].request.rule && len(next) < mostAtOnce:
			next = append(next, one)
		default:
			rest = append(rest, one)
		}
	}
	s.queue = rest
	return next
}

// runAll sends requests with one rule in one round trip, and returns their answers in the same order. A first answer "late" may mean that the
// clock of the server was set, which is corrected here, or that the server turned out to be one that is not trusted: the second
// attempt succeeds in the one case, and fails with the reason in the other.
func (s *server) runAll(requests []*request) []answer {
	if len(requests) == 0 {
		return nil
	}
	rule, end := requests[0].rule, requests[0].end
	for _, q := range requests {
		if q.end.After(end) {
			end = q.end
		}
	}
	ctx, cancel := context.WithDeadline(context.Background(), end)
	defer cancel()
	answers := make([]answer, len(requests))
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
				answers[i] = answer{err: err}
			case answers[i].word(0) == "late":
				late = append(late, i)
				s.setClock(answers[i].word(1))
			}
		}
		if open = late; len(open) == 0 {
			return answers
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range open {
		answers[i] = answer{err: s.mayHaveForgotten(requests[i].slot)}
		if answers[i].err == nil || rule != ifTrusted {
			answers[i].err = s.failed("does not answer in time", "does its clock jump?")
		}
	}
	return answers
}

// pipeline sends the requests at the places, and reads their answers. The error is that of all of them.
func (s *server) pipeline(ctx context.Context, c *redis.Client, requests []*request, places []int, answers []answer) error {
	if len(places) == 1 { // most scripts of most ticks: the server knows them by their digests
		q := requests[places[0]]
		q.sent++
		words, err := q.script.Run(ctx, c, q.keys, q.arguments(s)...).StringSlice()
		answers[places[0]] = answer{words: words}
		return err
	}
	known := map[*redis.Script]bool{} // by this server, from the same pipeline
	pipe := c.Pipeline()
	commands := make([]*redis.Cmd, len(places))
	for n, i := range places {
		q := requests[i]
		q.sent++
		send := q.script.Eval
		if known[q.script] {
			send = q.script.EvalSha
		}
		known[q.script] = true
		commands[n] = send(ctx, pipe, q.keys, q.arguments(s)...)
	}
	pipe.Exec(ctx) //nolint: each command has its error
	failed := 0
	for n, i := range places {
		words, err := commands[n].StringSlice()
		answers[i] = answer{words: words}
		if err == nil {
			continue
		}
		explained, unreachable := s.explain(err)
		if failed++; unreachable || failed == len(places) {
			return err
		}
		answers[i] = answer{err: explained}
	}
	return nil
}
