package mutex

import (
	"strconv"
	"sync"
	"time"

	"sched/mutex/redisserver"
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
	requests := sync.OnceValue(func() []redisserver.Request { return r.tellings(slots()) })
	for _, s := range r.servers {
		s.RestoreWith(requests)
	}
}

// toldAtOnce and bytesAtOnce bound the keys of one request and what is told of them, so that a server is not busy with it for long.
const (
	toldAtOnce  = 50
	bytesAtOnce = 32 << 10
)

// tellings returns what a server is told of the slots: of each string that has bits of them, the bytes from the first that is not zero.
func (r *Redis) tellings(slots []ClaimedSlot) (all []redisserver.Request) {
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
		if size >= bytesAtOnce || len(all[len(all)-1].Keys) == toldAtOnce {
			all, size = append(all, redisserver.Request{Script: &tellScript, EvenLate: true}), 0
		}
		size += len(known[key].bytes)
		b, q, zeros := known[key], &all[len(all)-1], 0
		for b.bytes[zeros] == 0 {
			zeros++
		}
		q.Keys = append(q.Keys, key)
		q.Args = append(q.Args, strconv.Itoa(zeros), b.bytes[zeros:], milliseconds(time.Until(b.until)))
	}
	return all
}

// tellScript sets bits of claims that are not set yet. KEYS: strings. ARGV: deadline, and for each string its first byte, the bytes
// from there, and for how many ms it is kept at least.
var tellScript = redisserver.Script{Text: `
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
