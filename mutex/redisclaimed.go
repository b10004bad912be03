package mutex

import (
	"context"
	"strings"
	"time"

	"sched/mutex/redisserver"
)

// slotTime is how the key of a claim ends, after a "@": the instant of its slot in UTC.
const slotTime = "20060102T150405Z"

// SlotKey is the key of the claim of a slot of a task. A claim with such a key that is to be kept for long takes little memory on Redis.
func SlotKey(task string, at time.Time) string { return task + "@" + at.UTC().Format(slotTime) }

// A claimedBit is where Redis keeps that a slot was claimed when the claim itself is over, or was lost (RememberClaims): a bit of a
// string, for each task and day. A task every minute takes 180 bytes a day for it, and 24 hours of claims 400 kB.
type claimedBit struct {
	slot   time.Time
	key    string // of the string
	offset int64
}

// longClaim is how long a claim is to be kept at least so that a bit replaces it after claimAtLeast.
const longClaim = 2 * claimAtLeast

// bit returns the bit for the key of a claim; false for a key that SlotKey did not make. Slots of whole minutes have strings of their
// own: most tasks have no others.
func (r *Redis) bit(claim string) (b claimedBit, ok bool) {
	at := strings.LastIndexByte(claim, '@')
	slot, err := time.Parse(slotTime, claim[at+1:])
	if at < 0 || err != nil {
		return b, false
	}
	return r.bitOf(claim[:at], slot), true
}

// bitOf returns the bit of a slot.
func (r *Redis) bitOf(task string, slot time.Time) claimedBit {
	slot = slot.UTC()
	day := slot.Truncate(24 * time.Hour)
	if slot.Second() == 0 {
		return claimedBit{slot, r.Key("claimed", task, day.Format("20060102")), int64(slot.Sub(day) / time.Minute)}
	}
	return claimedBit{slot, r.Key("claimed", task, day.Format("20060102"), "s"), int64(slot.Sub(day) / time.Second)}
}

// setIn reports whether the bit is set in the value of its key.
func (b claimedBit) setIn(value string) bool {
	i := int(b.offset / 8)
	return i < len(value) && value[i]&(0x80>>(b.offset%8)) != 0
}

// keepAsBit replaces a claim by its bit, after claimAtLeast. It is not waited for: where it does not come to be, the claim itself is kept
// for as long.
func (r *Redis) keepAsBit(claim redlock, b claimedBit, until time.Time) {
	q := redisserver.Request{Script: &keepAsBitScript, Keys: []string{claim.key, b.key},
		Args: []any{claim.run, b.offset, milliseconds(claimAtLeast), milliseconds(time.Until(until))}}
	answers := r.send(deadline(context.Background()), q, nil)
	r.inFlight.Go(func() { r.tally(answers, nil) })
}

// keepAsBitScript sets the bit of a claim that the run has, and lets the claim end sooner. KEYS: claim, string.
// ARGV: deadline, run, offset, ms for the claim, ms for the bit.
var keepAsBitScript = redisserver.Script{Text: `
if not has or string.sub(has, 1, #ARGV[2] + 1) ~= ARGV[2] .. ' ' then return {'free'} end
redis.call('SETBIT', KEYS[2], ARGV[3], 1)
if redis.call('PTTL', KEYS[2]) < tonumber(ARGV[5]) then redis.call('PEXPIRE', KEYS[2], ARGV[5]) end
if redis.call('PTTL', KEYS[1]) > tonumber(ARGV[4]) then redis.call('PEXPIRE', KEYS[1], ARGV[4]) end
return {'ours'}`}
