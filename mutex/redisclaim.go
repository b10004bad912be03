package mutex

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sched/mutex/redisserver"
)

// claimAtLeast is how long a claim is kept whatever the clocks say, also that of a slot long gone.
const claimAtLeast = time.Hour

// Claim takes key for the run, once for all servers. Its value is the run, a space, and the holder. Of a slot it keeps but a bit after
// an hour.
func (r *Redis) Claim(ctx context.Context, key string, until time.Time, holder Holder) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	claim := redlock{redis: r, key: r.Key("claim", key), value: holder.Run + " " + holderText(holder), run: holder.Run,
		keep: max(time.Until(until), claimAtLeast), end: deadline(ctx)}
	name, value, keep := claim.key, claim.value, claim.keep
	q := redisserver.Request{Grants: true, Script: &claimScript, Keys: []string{name, r.Key("granted")},
		Args: []any{holder.Run, value, milliseconds(keep), fmt.Sprint(until.UnixMilli())}}
	bit, slot := r.bit(key)
	if slot {
		q.Script, q.Keys, q.Args, q.Slot = &slotClaimScript, append(q.Keys, bit.key), append(q.Args, bit.offset), bit.slot
	}
	_, err := claim.acquire(q)
	if err == nil && slot && keep > longClaim {
		r.keepAsBit(claim, bit, until)
	}
	var held *HeldError
	if errors.As(err, &held) {
		held.Name = key
	}
	return err
}

// Claimed asks all servers who has claimed key; until does not matter here. Of a claim that is over, and kept as a bit, nobody knows
// the holder.
func (r *Redis) Claimed(ctx context.Context, key string, _ time.Time) (holder Holder, claimed bool, err error) {
	holders, err := r.Claims(ctx, key)
	holder, claimed = holders[key]
	if bit, ok := r.bit(key); ok && !claimed && err == nil {
		holders, err = r.read(ctx, []string{bit.key}, func(values []string) map[string]Holder {
			if bit.setIn(values[0]) {
				return map[string]Holder{key: {}}
			}
			return nil
		})
		holder, claimed = holders[key]
	}
	return holder, claimed, err
}

// Claims returns the holders of those of the keys that are claimed, all with one request.
func (r *Redis) Claims(ctx context.Context, claims ...string) (map[string]Holder, error) {
	if len(claims) == 0 {
		return nil, nil
	}
	var keys []string
	for _, claim := range claims {
		keys = append(keys, r.Key("claim", claim))
	}
	return r.read(ctx, keys, func(values []string) map[string]Holder {
		claimed := map[string]Holder{}
		for i, claim := range claims {
			if values[i] != "" {
				run, text, _ := strings.Cut(values[i], " ")
				claimed[claim] = parseHolder(run, text)
			}
		}
		return claimed
	})
}
