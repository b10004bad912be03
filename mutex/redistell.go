package mutex

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A ClaimedSlot is a slot that this machine knows to be claimed, by itself or by another.
type ClaimedSlot struct {
	Task      string
	At, Until time.Time // Until is when the claim need not be kept any more
}

// RememberClaims has each server that may have forgotten claims be told of these slots, on each new connection until it is trusted
// again, before anything is claimed on it: their bits are set (claimedBit). The slots are asked for once, and only then. Call it
// before the first request, as RememberInstances, without which nothing is noticed.
func (r *Redis) RememberClaims(slots func() []ClaimedSlot) {
	tellings := sync.OnceValue(func() []telling { return r.tellings(slots()) })
	for _, s := range r.servers {
		s.tellings = tellings
	}
}

// tellWithin is how long after its start a server that has forgotten claims gets none for slots that it may have known: by then each
// machine that ticks every minute has told it what it knows.
const tellWithin = 2 * time.Minute

// A telling is the keys and arguments of tellScript, without the deadline.
type telling struct {
	keys []string
	args []any
}

// toldAtOnce and bytesAtOnce bound the keys of one telling and what is told of them, so that a server is not busy with it for long.
const (
	toldAtOnce  = 50
	bytesAtOnce = 32 << 10
)

// tellings returns what a server is told of the slots: of each string that has bits of them, the bytes from the first that is not zero.
func (r *Redis) tellings(slots []ClaimedSlot) (all []telling) {
	type bits struct {
		bytes []byte
		until time.Time
	}
	known, order := map[string]*bits{}, []string(nil)
	for _, slot := range slots {
		at := r.bitOf(slot.Task, slot.At)
		b := known[at.key]
		if b == nil {
			b = &bits{}
			known[at.key], order = b, append(order, at.key)
		}
		for int64(len(b.bytes)) <= at.offset/8 {
			b.bytes = append(b.bytes, 0)
		}
		b.bytes[at.offset/8] |= 0x80 >> (at.offset % 8)
		if slot.Until.After(b.until) {
			b.until = slot.Until
		}
	}
	size := bytesAtOnce
	for _, key := range order {
		if size >= bytesAtOnce || len(all[len(all)-1].keys) == toldAtOnce {
			all, size = append(all, telling{}), 0
		}
		size += len(known[key].bytes)
		b, t, zeros := known[key], &all[len(all)-1], 0
		for b.bytes[zeros] == 0 {
			zeros++
		}
		t.keys = append(t.keys, key)
		t.args = append(t.args, strconv.Itoa(zeros), b.bytes[zeros:], milliseconds(time.Until(b.until)))
	}
	return all
}

// tell sends all tellings on a connection, in one round trip. A server that refuses them is as one that is told nothing: its user may
// lack a command.
func (s *server) tell(ctx context.Context, c *redis.Conn) error {
	if s.tellings == nil {
		return nil
	}
	pipe := c.Pipeline()
	for _, t := range s.tellings() {
		tellScript.get().Eval(ctx, pipe, t.keys, append([]any{neverLate}, t.args...)...)
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

// tellScript sets bits of claims that are not set yet. KEYS: strings. ARGV: deadline, and for each string its first byte, the bytes
// from there, and for how many ms it is kept at least.
var tellScript = script{text: `
for i, key in ipairs(KEYS) do
  local first, told, keep = tonumber(ARGV[3 * i - 1]), ARGV[3 * i], tonumber(ARGV[3 * i + 1])
  local known = redis.call('GET', key) or ''
  for n = 1, #told do
    local want, have, place = string.byte(told, n), string.byte(known, first + n) or 0, 128
    for bit = 0, want == have and -1 or 7 do
      local lacks = want >= place and have < place
      if want >= place then want = want - place end
      if have >= place then have = have - place end
      if lacks then redis.call('SETBIT', key, (first + n - 1) * 8 + bit, 1) end
      place = place / 2
    end
  end
  if redis.call('PTTL', key) < keep then redis.call('PEXPIRE', key, keep) end
end
return {'ours'}`}
