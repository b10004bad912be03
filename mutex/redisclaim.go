package mutex

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// claimAtLeast is how long a claim is kept whatever the clocks say, also that of a slot long gone.
const claimAtLeast = time.Hour

// Claim takes key with a value that names the run and stays.
func (r *Redis) Claim(ctx context.Context, key string, until time.Time, holder Holder) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	keep := max(time.Until(until), claimAtLeast)
	name := r.Key("claim", key)
	value := holder.Run + " " + holderText(holder)
	e := election{redis: r, key: name, value: value, run: holder.Run, keep: keep, end: deadline(ctx)}
	_, err := e.hold(request{way: take, script: claimScript, keys: []string{name},
		args: []any{holder.Run, value, milliseconds(keep), fmt.Sprint(until.UnixMilli())}})
	var held *HeldError
	if errors.As(err, &held) {
		held.Name = key
	}
	return err
}

// Claimed asks who has claimed key.
func (r *Redis) Claimed(ctx context.Context, key string, _ time.Time) (holder Holder, claimed bool, err error) {
	holders, err := r.look(ctx, []string{r.Key("claim", key)}, func(values []string) map[string]Holder {
		if values[0] == "" {
			return nil
		}
		run, text, _ := strings.Cut(values[0], " ")
		return map[string]Holder{key: answer{words: []string{"held", run, text}}.holder()}
	})
	holder, claimed = holders[key]
	return holder, claimed, err
}

// Held returns the owners of those of the mutexes that are held.
func (r *Redis) Held(ctx context.Context, names ...string) (map[string]Holder, error) {
	if len(names) == 0 {
		return nil, nil
	}
	var keys []string
	for _, name := range names {
		keys = append(keys, r.lock(name, Holder{}).keys()[:3]...)
	}
	return r.look(ctx, keys, func(values []string) map[string]Holder {
		held := map[string]Holder{}
		for i, name := range names {
			if run := values[3*i]; run != "" {
				held[name] = answer{words: []string{"held", run, values[3*i+1], values[3*i+2]}}.holder()
			}
		}
		return held
	})
}

// look reads keys from all servers, and returns the owners on which a majority agrees.
func (r *Redis) look(ctx context.Context, keys []string, read func(values []string) map[string]Holder) (map[string]Holder, error) {
	seen := make([]map[string]Holder, len(r.servers))
	err := r.Do(ctx, func(ctx context.Context, server int, c *redis.Client) error {
		reply, err := c.MGet(ctx, keys...).Result()
		if err != nil {
			return err
		}
		values := make([]string, len(keys))
		for i := range reply {
			values[i], _ = reply[i].(string)
		}
		seen[server] = read(values)
		return nil
	})
	if err != nil {
		return nil, err
	}
	votes, agreed := map[[2]string]int{}, map[string]Holder{}
	for _, holders := range seen {
		for name, holder := range holders {
			vote := [2]string{name, holder.Run}
			if votes[vote]++; votes[vote] == r.quorum() {
				agreed[name] = holder
			}
		}
	}
	return agreed, nil
}
