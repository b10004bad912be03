package mutex

import (
	"context"
	"encoding/json"
	"time"

	"sched/mutex/redisserver"
)

// A Ticket is the place of a run in the queue for a mutex, or, without a Run, that of one that would come last.
type Ticket struct {
	Holder               // the run that waits; Since is when it began to
	Waited time.Duration // for so long, by the clocks of the machine that it waits on
}

// ticketScript keeps the place of a run in a queue for ten seconds, after which nobody has asked for it again: the server of the run has
// died, or stands still. It answers who is first in it. Places are by the clock of the server: when a run
// comes back whose place was lost it gets the same again. KEYS: lock, queue, kept. ARGV: deadline, member or "", waited in microseconds.
var ticketScript = redisserver.Script{Text: `
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', text(now - 10000000))) do
  redis.call('ZREM', KEYS[2], gone)
  redis.call('ZREM', KEYS[3], gone)
end
if ARGV[2] ~= '' then
  redis.call('ZADD', KEYS[2], 'NX', text(now - ARGV[3]), ARGV[2])
  redis.call('ZADD', KEYS[3], text(now), ARGV[2])
  redis.call('PEXPIRE', KEYS[2], 60000)
  redis.call('PEXPIRE', KEYS[3], 60000)
end
return {'ours', redis.call('ZRANGE', KEYS[2], 0, 0)[1] or ''}`}

// leaveScript gives a place back. KEYS: lock, queue, kept. ARGV: deadline, member.
var leaveScript = redisserver.Script{Text: `
redis.call('ZREM', KEYS[2], ARGV[2])
redis.call('ZREM', KEYS[3], ARGV[2])
return {'ours'}`}

// Queue keeps a place in the queues for mutexes, for ten seconds from now on, and returns for each name who is first in its queue: a
// holder without a Run where nobody waits. It asks all of them in one round trip. On several servers that is who is first for most of
// them; what an error leaves open is only the order.
func (r *Redis) Queue(ctx context.Context, names []string, of Ticket) (first map[string]Holder, err error) {
	member := ""
	if of.Run != "" {
		of.Holder.PID = 0 // it is the same in each process that waits for the run
		member = holderText(of.Holder)
	}
	end := deadline(ctx)
	answers := make([]<-chan redisserver.Answer, len(names))
	for i, name := range names {
		answers[i] = r.send(end, redisserver.Request{Script: &ticketScript, Keys: r.queueKeys(name), Args: []any{member, of.Waited.Microseconds()}}, nil)
	}
	first = map[string]Holder{}
	for i, name := range names {
		holder, ferr := r.firstOf(answers[i])
		if ferr != nil {
			err = ferr
		}
		first[name] = holder
	}
	return first, err
}

// LeaveQueue gives the places of a run back.
func (r *Redis) LeaveQueue(ctx context.Context, names []string, of Holder) error {
	of.PID = 0
	end := deadline(ctx)
	answers := make([]<-chan redisserver.Answer, len(names))
	for i, name := range names {
		answers[i] = r.send(end, redisserver.Request{Script: &leaveScript, Keys: r.queueKeys(name), Args: []any{holderText(of)}}, nil)
	}
	var failed []error
	for _, each := range answers {
		t := r.tally(each, nil)
		failed = append(failed, t.failed...)
	}
	return r.outage(failed)
}

// queueKeys returns the keys of the queue for a mutex: its lock, the places, and when each was kept last.
func (r *Redis) queueKeys(name string) []string {
	return []string{r.Key("lock", name), r.Key("queue", name), r.Key("queue-kept", name)}
}

// firstOf returns the run that most servers name as the first of a queue.
func (r *Redis) firstOf(answers <-chan redisserver.Answer) (first Holder, err error) {
	votes, most := map[string]int{}, ""
	var failed []error
	for range r.servers {
		a := <-answers
		if a.Err != nil {
			failed = append(failed, a.Err)
			continue
		}
		votes[a.Word(1)]++
	}
	for member, n := range votes {
		if n > votes[most] || n == votes[most] && member < most {
			most = member
		}
	}
	_ = json.Unmarshal([]byte(most), &first) // "" is nobody
	return first, r.outage(failed)
}
