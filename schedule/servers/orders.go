package servers

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"sched/mutex"

	"sched/schedule/controls"
)

// interruptField is the field of the last interrupt, beside those of tasks: it is no name of one.
const interruptField = "!"

// order sets those fields that a server has in no newer version, and notes its time of an interrupt. A
// pause is kept behind its version, an interrupt behind the milliseconds of the server's own clock.
var order = redis.NewScript(`
for i = 1, #ARGV, 3 do
	local field, version, value = ARGV[i], ARGV[i + 1], ARGV[i + 2]
	if field == '!' then
		local now = redis.call('TIME')
		redis.call('HSET', KEYS[1], field, string.format('%.0f %s', now[1] * 1000 + math.floor(now[2] / 1000), value))
	else
		local old = redis.call('HGET', KEYS[1], field)
		if not old or tonumber(string.match(old, '^%d*') or '') < tonumber(version) then
			redis.call('HSET', KEYS[1], field, version .. ' ' .. value)
		end
	end
end
return 0`)

// Pause tells all servers of pauses, each with a version that is larger than the one it replaces. An older
// one changes nothing.
func Pause(ctx context.Context, r *mutex.Redis, pauses controls.Pauses) error {
	var args []any
	for name, pause := range pauses {
		args = append(args, name, strconv.FormatInt(pause.Version, 10), text(pause))
	}
	return give(ctx, r, args)
}

// Interrupt tells the ticks of all servers to end early.
func Interrupt(ctx context.Context, r *mutex.Redis, i controls.Interrupt) error {
	return give(ctx, r, []any{interruptField, "0", text(i)})
}

func give(ctx context.Context, r *mutex.Redis, args []any) error {
	if len(args) == 0 {
		return nil
	}
	return r.Do(ctx, func(ctx context.Context, _ int, c *redis.Client) error {
		return order.Run(ctx, c, []string{r.Key("orders")}, args...).Err()
	})
}

// Orders returns what a majority of the Redis servers has been told: of each pause the newest version that any of
// them has. Known is what the caller knew before, from them, which they may have forgotten since: what one of
// them does not have it is told again. Slow ones are not waited for when a majority has answered.
func Orders(ctx context.Context, r *mutex.Redis, known controls.Pauses) (controls.Controls, error) {
	n := len(r.Config().Servers)
	var answers collected[controls.Controls]
	answered, all := make(chan struct{}, n), make(chan error, 1)
	go func() {
		all <- r.Do(ctx, func(ctx context.Context, server int, c *redis.Client) error {
			o, err := orders(ctx, c, r.Key("orders"))
			if err == nil {
				answers.set(server, o)
				answered <- struct{}{}
			}
			return err
		})
	}()
	for range n/2 + 1 {
		select {
		case <-answered:
		case err := <-all:
			if err != nil {
				return controls.Controls{}, err
			}
			all <- nil // they had all answered
		}
	}
	given := answers.values()
	newest := controls.Controls{Of: r.Config().Namespace}
	newest.Pauses.Add(known)
	for _, o := range given {
		newest.Pauses.Add(o.Pauses)
		if i := newest.Interrupt; o.Interrupt.By != "" && (i.By == "" || o.Interrupt.Age < i.Age) {
			newest.Interrupt = o.Interrupt
		}
	}
	for _, o := range given {
		if o.Pauses.Add(newest.Pauses) {
			Pause(ctx, r, newest.Pauses) // a later tick tries again
			break
		}
	}
	return newest, nil
}

// orders reads what one Redis has been told.
func orders(ctx context.Context, c *redis.Client, key string) (o controls.Controls, err error) {
	var fields *redis.MapStringStringCmd
	var clock *redis.TimeCmd
	if _, err = c.Pipelined(ctx, func(p redis.Pipeliner) error {
		fields, clock = p.HGetAll(ctx, key), p.Time(ctx)
		return nil
	}); err != nil {
		return o, err
	}
	o.Pauses = controls.Pauses{}
	for field, value := range fields.Val() {
		head, body, _ := strings.Cut(value, " ")
		if field == interruptField {
			ms, _ := strconv.ParseInt(head, 10, 64)
			if err := json.Unmarshal([]byte(body), &o.Interrupt); err == nil {
				o.Interrupt.Age = clock.Val().Sub(time.UnixMilli(ms))
			}
			continue
		}
		var p controls.Pause
		if json.Unmarshal([]byte(body), &p) == nil { // or it was nobody of us who wrote it
			o.Pauses[field] = p
		}
	}
	return o, nil
}
