package mutex

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// The scripts are what a server does in one step. Each answers with words, of which the first says
// what is the case. KEYS[1] is the mutex or the claim.

// onTime begins every script: one that was held up in a paused server or in the network, until
// nobody waits for it any more, does nothing. ARGV[1] is the deadline by the clock of the server.
// It needs Redis 5, where a script may ask for the time and then write.
const onTime = `
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local function text(number) return string.format('%.0f', number) end
if now > tonumber(ARGV[1]) then return {'late', text(now)} end
local has = redis.call('GET', KEYS[1])
`

// takeScript takes a mutex that is free. The fence is the time in microseconds, or more if it was
// more before. KEYS: mutex, holder, fence. ARGV: deadline, run, lease in ms, holder, least fence.
var takeScript = redis.NewScript(onTime + `
local last = redis.call('GET', KEYS[3]) or '0'
if has then return {'held', has, redis.call('GET', KEYS[2]) or '', last} end
local fence = text(math.max(now, tonumber(ARGV[5]), last + 1))
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
redis.call('SET', KEYS[2], ARGV[4], 'PX', ARGV[3])
redis.call('SET', KEYS[3], fence, 'EX', 31536000)
return {'ours', fence}`)

// raiseScript sees to it that the next fence is larger than this one. KEYS: fence. ARGV: deadline, fence.
var raiseScript = redis.NewScript(onTime + `
if tonumber(has or '0') < tonumber(ARGV[2]) then redis.call('SET', KEYS[1], ARGV[2], 'EX', 31536000) end
return {'ours'}`)

// renewScript begins the lease of a run anew, and takes the mutex again where it is gone and nobody
// broke it. KEYS: mutex, holder, fence, broken. ARGV: deadline, run, lease in ms, holder, fence.
var renewScript = redis.NewScript(onTime + `
if redis.call('GET', KEYS[4]) == ARGV[2] then return {'broken', has or '', redis.call('GET', KEYS[2]) or ''} end
if has and has ~= ARGV[2] then return {'held', has, redis.call('GET', KEYS[2]) or '', redis.call('GET', KEYS[3]) or ''} end
if has then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  if redis.call('PEXPIRE', KEYS[2], ARGV[3]) == 0 then redis.call('SET', KEYS[2], ARGV[4], 'PX', ARGV[3]) end
  return {'ours'}
end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
redis.call('SET', KEYS[2], ARGV[4], 'PX', ARGV[3])
if tonumber(redis.call('GET', KEYS[3]) or '0') < tonumber(ARGV[5]) then redis.call('SET', KEYS[3], ARGV[5], 'EX', 31536000) end
return {'again'}`)

// describeScript replaces the holder that people see. KEYS: mutex, holder. ARGV: deadline, run, holder.
var describeScript = redis.NewScript(onTime + `
local left = redis.call('PTTL', KEYS[1])
if has == ARGV[2] and left > 0 then redis.call('SET', KEYS[2], ARGV[3], 'PX', left) end
return {'ours'}`)

// breakScript frees a mutex and notes whose it was for a day, so that its renewals end.
// KEYS: mutex, holder, fence, broken. ARGV: deadline.
var breakScript = redis.NewScript(onTime + `
if not has then return {'free'} end
local holder = redis.call('GET', KEYS[2]) or ''
redis.call('DEL', KEYS[1], KEYS[2])
redis.call('SET', KEYS[4], has, 'EX', 86400)
return {'held', has, holder, redis.call('GET', KEYS[3]) or ''}`)

// claimScript makes a claim: the run, a space, and the owner. It is kept until the given time by the
// clock of the server, or for as long as that is away by the clock of the claimer, whichever is
// later: a wrong clock should not end it early. ARGV: deadline, run, claim, for ms, until ms.
var claimScript = redis.NewScript(onTime + `
if has and string.sub(has, 1, #ARGV[2] + 1) ~= ARGV[2] .. ' ' then
  local run, owner = string.match(has, '^(%S*) ?(.*)$')
  return {'held', run, owner}
end
if not has then
  redis.call('SET', KEYS[1], ARGV[3], 'PX', text(math.max(tonumber(ARGV[4]), ARGV[5] - now / 1000)))
end
return {'ours'}`)

// A request is a script with what it needs besides the deadline.
type request struct {
	way    way
	script *redis.Script
	keys   []string
	args   []any
	sent   int // how often it was sent, or may have been, where it is for one server
}

// run puts the request to the server. An answer that says that it is late, though we still wait,
// comes when a clock was set, and we know now by how much, or when the server turned out to be one
// that gives nothing away: then the second attempt says so.
func (s *server) run(end time.Time, q *request) (words []string, err error) {
	ctx, cancel := context.WithDeadline(context.Background(), end)
	defer cancel()
	for range 2 {
		err = s.reach(ctx, q.way, true, func(ctx context.Context, c *redis.Client) error {
			q.sent++
			words, err = q.script.Run(ctx, c, q.keys, append([]any{notAfter{s, q.way, end}}, q.args...)...).StringSlice()
			return err
		})
		if err != nil || words[0] != "late" {
			return words, err
		}
		s.clockWas(words[1])
	}
	return nil, s.failed("does not answer in time", "does its clock jump?")
}

// notAfter is a deadline by the clock of the server, in microseconds. It becomes text when it is
// written to a connection: then we have met the server that is at the other end now.
type notAfter struct {
	server *server
	way    way
	end    time.Time
}

func (n notAfter) MarshalBinary() ([]byte, error) {
	n.server.mu.Lock()
	defer n.server.mu.Unlock()
	switch {
	case n.way == take && n.server.forgetful() != nil:
		return []byte("0"), nil
	case !n.server.clock:
		return []byte("9e15"), nil // the user may not ask for the time
	}
	return strconv.AppendInt(nil, n.end.Add(n.server.ahead).UnixMicro(), 10), nil
}

// clockWas notes what the clock of the server was a moment ago: it is ahead of ours by that much at
// least, so that nothing is done there after we have given up.
func (s *server) clockWas(microseconds string) {
	if n, err := strconv.ParseInt(microseconds, 10, 64); err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.clock, s.ahead = true, time.Until(time.UnixMicro(n))
	}
}

func milliseconds(d time.Duration) string { return fmt.Sprint(max(1, d.Milliseconds())) }
