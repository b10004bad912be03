package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"sched/mutex"
)

// ErrFull says that a server has Most requests already.
var ErrFull = errors.New("too much is asked of it already")

// askScript leaves a request. Of those that are over it makes an end. KEYS: the hash. ARGV: id, milliseconds, request, most.
const askScript = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local all = redis.call('HGETALL', KEYS[1])
local stand = 0
for i = 1, #all, 2 do
	if tonumber(string.match(all[i + 1], '^(%d+) ') or '0') <= now then
		redis.call('HDEL', KEYS[1], all[i])
	elseif all[i] ~= ARGV[1] then
		stand = stand + 1
	end
end
if stand >= tonumber(ARGV[4]) then return 'full' end
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f waiting %s', now + ARGV[2], ARGV[3]))
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 'asked'`

// withdrawScript takes a request back that its server has not taken. KEYS: the hash. ARGV: id.
const withdrawScript = `
local value = redis.call('HGET', KEYS[1], ARGV[1])
if not value then return 'gone' end
if string.match(value, '^%d+ (%a+) ') == 'taken' then return 'taken' end
redis.call('HDEL', KEYS[1], ARGV[1])
return 'withdrawn'`

func askedKey(r *mutex.Redis, server string) string { return r.Key("asked", server) }

func answerKey(r *mutex.Redis, id string) string { return r.Key("answer", id) }

// Ask leaves a request for a server, which stands for Stands. To leave one again that stands changes nothing but its end. The error is
// ErrFull where too many stand; any other means that nobody knows whether it was left.
func Ask(ctx context.Context, r *mutex.Redis, server string, q Request) error {
	body, err := json.Marshal(q)
	if err != nil {
		return err
	}
	if len(body) > mostRequest {
		return fmt.Errorf("the request has %d bytes, and may have %d", len(body), mostRequest)
	}
	words, err := each(ctx, r, func(ctx context.Context, c *redis.Client) (string, error) {
		return redis.NewScript(askScript).Run(ctx, c, []string{askedKey(r, server)}, q.ID, Stands.Milliseconds(), string(body), Most).Text()
	})
	if err == nil && count(words, "asked") < quorum(r) {
		err = ErrFull
	}
	return err
}

// A Withdrawal says what became of a request that was to be taken back.
type Withdrawal int

const (
	Withdrawn Withdrawal = iota // it will not be carried out
	TooLate                     // its server has taken it, or has answered
	Over                        // it does not stand any more: it was answered, or its time is over
)

// Withdraw takes a request back.
func Withdraw(ctx context.Context, r *mutex.Redis, server, id string) (Withdrawal, error) {
	words, err := each(ctx, r, func(ctx context.Context, c *redis.Client) (string, error) {
		return redis.NewScript(withdrawScript).Run(ctx, c, []string{askedKey(r, server)}, id).Text()
	})
	switch {
	case err != nil:
		return TooLate, err
	case count(words, "taken") > 0:
		return TooLate, nil
	case count(words, "gone") >= quorum(r):
		return Over, nil
	}
	return Withdrawn, nil
}

// A State is how far a request is.
type State struct {
	Answer   *Answer // nil while there is none
	Standing bool    // it waits for its server, or that is at it
	Taken    bool
}

// Look returns how far a request is, in one round trip.
func Look(ctx context.Context, r *mutex.Redis, server, id string) (State, error) {
	states, err := each(ctx, r, func(ctx context.Context, c *redis.Client) (s State, err error) {
		var answer, value *redis.StringCmd
		var now *redis.TimeCmd
		_, err = c.Pipelined(ctx, func(p redis.Pipeliner) error {
			answer, value, now = p.Get(ctx, answerKey(r, id)), p.HGet(ctx, askedKey(r, server), id), p.Time(ctx)
			return nil
		})
		if err != nil && !errors.Is(err, redis.Nil) {
			return s, err
		}
		if a, ok := parseAnswer(id, answer.Val()); ok {
			s.Answer = &a
		}
		q, ok := parseRequest(id, value.Val(), now.Val())
		s.Standing, s.Taken = ok, ok && q.Taken
		return s, nil
	})
	var all State
	for _, s := range states {
		if s.Answer != nil {
			all.Answer = s.Answer
		}
		all.Standing, all.Taken = all.Standing || s.Standing, all.Taken || s.Taken
	}
	return all, err
}

// Forget removes an answer that was read: an output may hold what is nobody else's concern.
func Forget(ctx context.Context, r *mutex.Redis, id string) error {
	return r.Do(ctx, func(ctx context.Context, _ int, c *redis.Client) error { return c.Del(ctx, answerKey(r, id)).Err() })
}

// Requests returns what stands for a server.
func Requests(ctx context.Context, r *mutex.Redis, server string) ([]Request, error) {
	inbox := NewInbox(r, server)
	err := r.Do(ctx, func(ctx context.Context, _ int, c *redis.Client) error {
		var read func(time.Time)
		var now *redis.TimeCmd
		_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
			read, now = inbox.Read(ctx, p), p.Time(ctx)
			return nil
		})
		if err == nil {
			read(now.Val())
		}
		return err
	})
	return inbox.Requests(), err
}
