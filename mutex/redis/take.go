package redis

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	mathrand "math/rand/v2"
	"time"

	"github.com/go-redsync/redsync/v4"
	goredis "github.com/redis/go-redis/v9"

	"sched/mutex"
)

// A value is what a lock or a claim has as the value of its key. The nonce is one of each attempt:
// redsync undoes a failed attempt by its value, and must not undo an earlier one of the same run.
type value struct {
	mutex.Holder
	Nonce string `json:"nonce"`
}

func newValue(holder mutex.Holder) string {
	text, _ := json.Marshal(value{holder, rand.Text()}) // of texts and numbers: this cannot fail
	return string(text)
}

// holderOf reads a value. Of garbage nobody knows the holder.
func holderOf(text string) mutex.Holder {
	v, _ := mutex.Decode[value]([]byte(text))
	return v.Holder
}

// Between two attempts a run that got a server pauses for a random time, shortPause at most, doubled
// with each attempt. A run that got none pauses for longPause more, and looks before it tries again:
// so few runs compete in the next round, and soon one has a majority. Both pauses grow with the time
// that an attempt takes.
const (
	shortPause = 10 * time.Millisecond
	longPause  = 150 * time.Millisecond
)

// take sets a key for a holder, and returns its value. An attempt ends in one of four ways:
//
//   - redsync set the key on a majority of the servers.
//   - Another run has a majority: *HeldError with that key as its name.
//   - Our run has a majority: an answer was lost, or the run has it from before. That value counts.
//   - Nobody has one. Then the next attempt follows, until the deadline: *SplitError.
//
// Any other error means that this is unknown.
func (s *Store) take(ctx context.Context, key string, holder mutex.Holder, keep time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for attempt := 0; ; attempt++ {
		if err := cancelled(ctx); err != nil {
			return "", err
		}
		mine := newValue(holder)
		r := s.newRound(ctx)
		r.takes, r.queue = true, attempt < 3
		if r.mutexOf(key, mine, keep, redsync.WithFailFast(true)).TryLockContext(ctx) == nil {
			return mine, nil
		}
		text, err := "", r.outage()
		if err == nil {
			text, err = s.look(ctx, key, holder.Run)
		}
		took := time.Since(r.begun)
		pause := mathrand.N(max(shortPause<<attempt, 2*took))
		gotNone := r.count(true) == 0
		if gotNone {
			pause += max(longPause, 2*took)
		}
		left := time.Until(r.end)
		switch {
		case text != "", errors.As(err, new(*mutex.HeldError)), err != nil && (attempt == 0 || left > grace):
			return text, err
		case err != nil, left < longPause: // the time is over, and the servers answered before
			return "", &mutex.SplitError{Name: key}
		}
		time.Sleep(min(pause, left-longPause))
		if gotNone {
			if text, err := s.look(ctx, key, holder.Run); text != "" || err != nil {
				return text, err
			}
		}
	}
}

// look returns the value of the run when a majority has it, and *HeldError when a majority has one
// of another run. Otherwise it removes what the run has on a minority, and returns "".
func (s *Store) look(ctx context.Context, key, run string) (string, error) {
	found, err := s.read(ctx, key)
	if err != nil {
		return "", err
	}
	text, servers := most(found)
	holder := holderOf(text)
	switch {
	case servers >= s.majority() && holder.Run != run:
		return "", &mutex.HeldError{Name: key, Holder: holder}
	case servers >= s.majority() && !s.isUndone(text):
		return text, nil
	}
	return "", s.releaseOf(ctx, key, run, found)
}

// read returns the value that each server has for a key, "" where there is none.
func (s *Store) read(ctx context.Context, key string) ([]string, error) {
	return query(ctx, s, func(ctx context.Context, c goredis.UniversalClient) (string, error) {
		text, err := c.Get(ctx, key).Result()
		if err == nil && text == "" || goredis.HasErrorPrefix(err, "WRONGTYPE") {
			return "garbage", nil
		}
		return text, err
	})
}

// most returns the value that most servers have, and how many have it.
func most(found []string) (text string, servers int) {
	count := map[string]int{}
	for _, v := range found {
		count[v]++
		if v != "" && (count[v] > servers || count[v] == servers && v < text) {
			text, servers = v, count[v]
		}
	}
	return text, servers
}

// releaseOf removes those of the values that are of the run.
func (s *Store) releaseOf(ctx context.Context, key, run string, found []string) error {
	var first error
	done := map[string]bool{}
	for _, text := range found {
		if text == "" || done[text] || holderOf(text).Run != run {
			continue
		}
		done[text] = true
		if err := s.release(ctx, key, text); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// release removes a key where it has the value. The error says that this is unknown.
func (s *Store) release(ctx context.Context, key, text string) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r := s.newRound(ctx)
	r.mutexOf(key, text, s.lease, redsync.WithFailFast(true)).UnlockContext(ctx) //nolint: the round has the errors
	return r.outage()
}

// isUndone reports whether a value is of a failed attempt of this process.
func (s *Store) isUndone(text string) bool {
	for _, server := range s.servers {
		if _, found := server.undos.Load(text); found {
			return true
		}
	}
	return false
}

// claimAtLeast is how long a claim is kept whatever the clocks say, also one of a slot long gone.
const claimAtLeast = time.Hour

// Claim takes key for the run of the holder: a lock that is never released.
func (s *Store) Claim(ctx context.Context, key string, until time.Time, holder mutex.Holder) error {
	_, err := s.take(ctx, s.key("claim", key), holder, max(time.Until(until), claimAtLeast))
	return named(err, key)
}

// named gives an error of take the name that callers know.
func named(err error, name string) error {
	switch err := err.(type) {
	case *mutex.HeldError:
		err.Name = name
	case *mutex.SplitError:
		err.Name = name
	}
	return err
}

// Claimed returns who has claimed a key; until does not matter here.
func (s *Store) Claimed(ctx context.Context, key string, _ time.Time) (holder mutex.Holder, claimed bool, err error) {
	claims, err := s.Claims(ctx, key)
	holder, claimed = claims[key]
	return holder, claimed, err
}

// Claims returns the holders of those claims that are taken.
func (s *Store) Claims(ctx context.Context, keys ...string) (map[string]mutex.Holder, error) {
	return s.holders(ctx, "claim", keys)
}

// Held returns the holders of those mutexes that are held.
func (s *Store) Held(ctx context.Context, names ...string) (map[string]mutex.Holder, error) {
	return s.holders(ctx, "lock", names)
}

// holders returns the holders of keys of one kind on which a majority agrees, with one request.
func (s *Store) holders(ctx context.Context, kind string, names []string) (map[string]mutex.Holder, error) {
	if len(names) == 0 {
		return nil, nil
	}
	var keys []string
	for _, name := range names {
		keys = append(keys, s.key(kind, name))
	}
	answers, err := query(ctx, s, func(ctx context.Context, c goredis.UniversalClient) ([]any, error) {
		return c.MGet(ctx, keys...).Result()
	})
	if err != nil {
		return nil, err
	}
	found := map[string]mutex.Holder{}
	for i, name := range names {
		var texts []string
		for _, values := range answers {
			if text, ok := values[i].(string); ok {
				texts = append(texts, text)
			}
		}
		if text, servers := most(texts); servers >= s.majority() {
			found[name] = holderOf(text)
		}
	}
	return found, nil
}
