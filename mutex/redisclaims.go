package mutex

import (
	"context"
	"strings"
)

// Config returns what the store was dialed with.
func (r *Redis) Config() Config { return r.config }

// Claims returns the owners of those of the keys that are claimed, all with one request.
func (r *Redis) Claims(ctx context.Context, claims ...string) (map[string]Holder, error) {
	if len(claims) == 0 {
		return nil, nil
	}
	var keys []string
	for _, claim := range claims {
		keys = append(keys, r.Key("claim", claim))
	}
	return r.look(ctx, keys, func(values []string) map[string]Holder {
		claimed := map[string]Holder{}
		for i, claim := range claims {
			if run, text, some := strings.Cut(values[i], " "); some {
				claimed[claim] = answer{words: []string{"held", run, text}}.holder()
			}
		}
		return claimed
	})
}
