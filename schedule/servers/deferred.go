package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"sched/mutex"
	"sched/schedule/outcome"
	"sched/schedule/text"
)

const (
	// TakeableFor is how long after its time another server may take over a deferred retry.
	TakeableFor = 24 * time.Hour

	// maxDeferred is how many deferred retries one server tells, and allDeferred how many the store keeps; what is more is not told.
	maxDeferred = 50
	allDeferred = 500

	// largestDeferred is how long one is there at most, in bytes: notes are left out before.
	largestDeferred = 4 << 10
)

// A DeferredRetry is a run of a one_server task whose next attempt waits for a tick of its server, as that tells the others: they may take it
// over when that does not tick any more (docs/many-servers.md#retries-that-survive-their-server).
type DeferredRetry struct {
	Server      string         `json:"server"`
	Environment string         `json:"environment,omitempty"`
	Attempt     int            `json:"attempt"` // the number of that attempt
	Until       time.Time      `json:"until"`   // when it is due
	Turn        int            `json:"turn,omitempty"`
	Before      bool           `json:"before,omitempty"`
	Record      outcome.Record `json:"record"` // what the attempts so far came to. No snapshot
	Seen        time.Time      `json:"seen"`   // when its server ticked last, by Redis's clock
}

// field is the field of a deferred retry in the hash: each server writes those with its own name.
func (d DeferredRetry) field() string { return d.Record.Run + " " + d.Server }

// value is the time at which it is due, and until which it may be taken over, in milliseconds; and all of it.
func (d DeferredRetry) value() string {
	all := toJSON(d)
	if len(all) > largestDeferred {
		d.Record.Notes = nil
		all = toJSON(d)
	}
	return fmt.Sprintf("%d %d %s", d.Until.UnixMilli(), d.Until.Add(TakeableFor).UnixMilli(), all)
}

// Deferred tells, with the announcements of a tick, which deferred retries wait on this server, and finds those of others that are due and
// whose servers have not ticked for three minutes, by Redis's clock. Safe for concurrent use.
type Deferred struct {
	hash, servers, self string

	mu    sync.Mutex
	own   []DeferredRetry
	found map[string]DeferredRetry
}

// NewDeferred returns one that tells of nothing yet.
func NewDeferred(r *mutex.Redis, self string) *Deferred {
	return &Deferred{hash: r.Key("deferred"), servers: r.Key("servers"), self: self}
}

// Tell has the next announcement say that these wait on this server, and no others.
func (d *Deferred) Tell(own []DeferredRetry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.own = own[:min(len(own), maxDeferred)]
}

// deferredScript replaces what one server tells, removes what nobody may take over any more, and answers with what another server may take
// over: field, value, and when the server was announced last, empty where that is forgotten.
// KEYS: deferred, servers. ARGV: server, now in ms, before when a server has ticked that does not any more, for how many ms the hash is
// kept at least, how many it holds at most; then field and value of each.
const deferredScript = `
local self, now, silent, keep, most = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local own, there, n, found = {}, {}, 0, {}
for i = 6, #ARGV, 2 do own[ARGV[i]] = true end
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  local field, value = all[i], all[i + 1]
  local server = string.match(field, ' (.*)$')
  local due, ends = string.match(value, '^(%d+) (%d+) ')
  if not server or not due or tonumber(ends) < now or server == self and not own[field] then
    redis.call('HDEL', KEYS[1], field)
  else
    n = n + 1
    there[field] = true
    if server ~= self and tonumber(due) <= now and #found < 300 then
      local seen = redis.call('ZSCORE', KEYS[2], server)
      if not seen or tonumber(seen) < silent then
        found[#found + 1], found[#found + 2], found[#found + 3] = field, value, seen or ''
      end
    end
  end
end
for i = 6, #ARGV, 2 do
  if there[ARGV[i]] or n < most then
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
    if not there[ARGV[i]] then n = n + 1 end
  end
end
if #ARGV > 5 and redis.call('PTTL', KEYS[1]) < keep then redis.call('PEXPIRE', KEYS[1], ARGV[4]) end
return found`

// Also is the command for that. A Redis that has lost its data is told everything again, as each is with each tick.
func (d *Deferred) Also(ctx context.Context, p redis.Pipeliner, now time.Time) (read func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	last, fields := now, []any{}
	for _, one := range d.own {
		one.Seen = now
		if ends := one.Until.Add(TakeableFor); ends.After(now) {
			fields = append(fields, one.field(), one.value())
			if ends.After(last) {
				last = ends
			}
		}
	}
	args := append([]any{d.self, now.UnixMilli(), now.Add(-tickedLately).UnixMilli(), last.Sub(now).Milliseconds(), allDeferred}, fields...)
	answer := p.Eval(ctx, deferredScript, []string{d.hash, d.servers}, args...)
	return func() {
		words, _ := answer.StringSlice() // of a Redis that refuses it there are none
		d.add(words)
	}
}

// add notes what one Redis answered. What no sched wrote is left out.
func (d *Deferred) add(words []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for one := range slices.Chunk(words, 3) {
		if len(one) < 3 || len(one[1]) > 2*largestDeferred {
			continue
		}
		var retry DeferredRetry
		parts := strings.SplitN(one[1], " ", 3)
		if json.Unmarshal([]byte(parts[len(parts)-1]), &retry) != nil || retry.field() != one[0] || !outcome.IsID(retry.Record.Run) ||
			text.Line(retry.Server) != retry.Server {
			continue
		}
		if ms, err := strconv.ParseFloat(one[2], 64); err == nil {
			retry.Seen = time.UnixMilli(int64(ms)).UTC()
		}
		if d.found == nil {
			d.found = map[string]DeferredRetry{}
		}
		if known, ok := d.found[one[0]]; !ok || known.Turn < retry.Turn {
			d.found[one[0]] = retry
		}
	}
}

// Found returns what was found since the last call, the oldest run first.
func (d *Deferred) Found() (all []DeferredRetry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.found {
		all = append(all, one)
	}
	d.found = nil
	slices.SortFunc(all, func(a, b DeferredRetry) int { return strings.Compare(a.field(), b.field()) })
	return all
}

// Withdraw removes what a server told of a deferred retry.
func Withdraw(ctx context.Context, r *mutex.Redis, retry DeferredRetry) error {
	return r.Do(ctx, func(ctx context.Context, _ int, c *redis.Client) error {
		return c.HDel(ctx, r.Key("deferred"), retry.field()).Err()
	})
}

// Ticks reports whether a server was announced in the last three minutes, by Redis's clock.
func Ticks(ctx context.Context, r *mutex.Redis, name string) (bool, error) {
	var found collection[bool]
	err := r.Do(ctx, func(ctx context.Context, server int, c *redis.Client) error {
		pipe := c.Pipeline()
		now, seen := pipe.Time(ctx), pipe.ZScore(ctx, r.Key("servers"), name)
		_, err := pipe.Exec(ctx)
		found.set(server, seen.Err() == nil && now.Val().Sub(time.UnixMilli(int64(seen.Val()))) < tickedLately)
		return err
	})
	return slices.Contains(found.values(), true), err
}
