package remote

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"sched/mutex"
)

// takeScript marks a request as one that its server is at. KEYS: the hash. ARGV: id, milliseconds.
const takeScript = `
local value = redis.call('HGET', KEYS[1], ARGV[1])
if not value then return 'gone' end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local finish, body = string.match(value, '^(%d+) %a+ (.*)$')
if not finish or tonumber(finish) <= now then
	redis.call('HDEL', KEYS[1], ARGV[1])
	return 'gone'
end
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f taken %s', now + ARGV[2], body))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 'taken'`

// answerScript leaves an answer in the place of its request. KEYS: the hash, the answer. ARGV: id, answer, milliseconds.
const answerScript = `
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
redis.call('HDEL', KEYS[1], ARGV[1])
return 'answered'`

// Take marks a request as one that this server is at, from when on nobody takes it back. It is false for one that was withdrawn, was
// answered, or is over. A server may take a request again: after a kill it does not know how far it was.
func Take(ctx context.Context, r *mutex.Redis, server, id string) (bool, error) {
	words, err := each(ctx, r, func(ctx context.Context, c *redis.Client) (string, error) {
		return redis.NewScript(takeScript).Run(ctx, c, []string{askedKey(r, server)}, id, TakenFor.Milliseconds()).Text()
	})
	return count(words, "taken") >= quorum(r), err
}

// Reply leaves the answer to a request, which does not stand any more then.
func Reply(ctx context.Context, r *mutex.Redis, server string, a Answer) error {
	a.Text, a.Hint = line(a.Text), line(a.Hint)
	body, err := json.Marshal(a)
	if err != nil {
		return err
	}
	_, err = each(ctx, r, func(ctx context.Context, c *redis.Client) (string, error) {
		keys := []string{askedKey(r, server), answerKey(r, a.ID)}
		return redis.NewScript(answerScript).Run(ctx, c, keys, a.ID, string(body), answerFor.Milliseconds()).Text()
	})
	return err
}

// An Inbox reads what is asked of a server, as a part of pipelines that are sent anyway. Safe for concurrent use.
type Inbox struct {
	key string

	mu    sync.Mutex
	found map[string]Request
}

// NewInbox returns the inbox of a server, which has read nothing yet.
func NewInbox(r *mutex.Redis, server string) *Inbox {
	return &Inbox{key: askedKey(r, server), found: map[string]Request{}}
}

// Read adds a command to the pipeline. When that was sent, and all of it was answered, read takes in what was found, at the time of
// that Redis.
func (i *Inbox) Read(ctx context.Context, p redis.Pipeliner) (read func(now time.Time)) {
	fields := p.HGetAll(ctx, i.key)
	return func(now time.Time) {
		i.mu.Lock()
		defer i.mu.Unlock()
		for id, value := range fields.Val() {
			q, ok := parseRequest(id, value, now)
			if ok && (len(i.found) < Most || i.found[id].ID != "") {
				q.Taken = q.Taken || i.found[id].Taken
				i.found[id] = q
			}
		}
	}
}

// Also is Read for announcements: see servers.Also.
func (i *Inbox) Also(ctx context.Context, p redis.Pipeliner, now time.Time) (read func()) {
	found := i.Read(ctx, p)
	return func() { found(now) }
}

// Requests returns what was found since the last call, in the order of their ids, which is that in which they were made.
func (i *Inbox) Requests() (all []Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, q := range i.found {
		all = append(all, q)
	}
	clear(i.found)
	slices.SortFunc(all, func(a, b Request) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// each returns what ask returns for the Redis servers: for a majority at least, unless there is an error.
func each[T any](ctx context.Context, r *mutex.Redis, ask func(context.Context, *redis.Client) (T, error)) ([]T, error) {
	var mu sync.Mutex
	var all []T
	err := r.Do(ctx, func(ctx context.Context, _ int, c *redis.Client) error {
		one, err := ask(ctx, c)
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, one)
		}
		return err
	})
	mu.Lock()
	defer mu.Unlock()
	return slices.Clone(all), err
}

func quorum(r *mutex.Redis) int { return len(r.Config().Servers)/2 + 1 }

func count(words []string, word string) (n int) {
	for _, w := range words {
		if w == word {
			n++
		}
	}
	return n
}
