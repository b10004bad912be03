package controls

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"sched/mutex"
)

// controlsKey is below the schedule's name.
const controlsKey = "orders"

// interruptField is the field of the last interrupt, beside those of tasks: no task can have that name.
const interruptField = "!"

// setControls sets those fields of which a Redis has no newer version. Its arguments are triples of field, version and
// value. A pause is kept behind its version, an interrupt behind the milliseconds of Redis's own clock.
//
// Which version is newer is what Pause.newer says.
func setControls() string {
	return "local versions = " + strconv.FormatInt(versions, 10) + `
local function numbered(v) return v and v >= 0 and v < versions end
local function newer(v, old)
	if not numbered(v) or not numbered(old) then return numbered(v) end
	local ahead = (v - old) % versions
	return ahead > 0 and ahead < versions / 2
end
for i = 1, #ARGV, 3 do
	local field, version, value = ARGV[i], ARGV[i + 1], ARGV[i + 2]
	if field == '!' then
		local now = redis.call('TIME')
		redis.call('HSET', KEYS[1], field, string.format('%.0f %s', now[1] * 1000 + math.floor(now[2] / 1000), value))
	else
		local old = redis.call('HGET', KEYS[1], field)
		if not old or newer(tonumber(version), tonumber(string.match(old, '^%d+') or '-1')) then
			redis.call('HSET', KEYS[1], field, version .. ' ' .. value)
		end
	end
end
return 0`
}

// storePauses sets pauses for all servers, by the names of tasks or for everything. Each has a version that is larger
// than that of the one which it replaces; one with an older version changes nothing, so a late caller does not undo a
// newer change.
func storePauses(ctx context.Context, r *mutex.Redis, pauses Pauses) error {
	var args []any
	for name, pause := range pauses {
		encoded, err := json.Marshal(pause)
		if err != nil {
			return err
		}
		args = append(args, name, strconv.FormatInt(pause.Version, 10), string(encoded))
	}
	return writeControls(ctx, r, args)
}

// storeInterrupt makes the ticks of all servers that began before it end early. It replaces the last interrupt; its age is
// counted by Redis's clock from now on, whatever i.At says.
func storeInterrupt(ctx context.Context, r *mutex.Redis, i Interrupt) error {
	encoded, err := json.Marshal(i)
	if err != nil {
		return err
	}
	return writeControls(ctx, r, []any{interruptField, "0", string(encoded)})
}

func writeControls(ctx context.Context, r *mutex.Redis, args []any) error {
	if len(args) == 0 {
		return nil
	}
	return r.Do(ctx, func(ctx context.Context, _ int, c *redis.Client) error {
		return redis.NewScript(setControls()).Run(ctx, c, []string{r.Key(controlsKey)}, args...).Err()
	})
}

// readStore returns what is paused, and the last interrupt: of each pause the newest version that any of the Redis servers
// which answered has, or that the caller remembers from an earlier call. A Redis that lacks one of these, as after
// a restart without its data, gets it again, where mend is true.
//
// It returns as soon as a majority has answered, and does not wait for slower Redis servers.
func readStore(ctx context.Context, r *mutex.Redis, remembered Pauses, mend bool) (Controls, error) {
	answers, err := queryMajority(ctx, r, func(ctx context.Context, c *redis.Client) (Controls, error) {
		return readControls(ctx, c, r.Key(controlsKey))
	})
	if err != nil {
		return Controls{}, err
	}
	newest := Controls{Of: r.Config().Namespace}
	newest.Pauses.Add(remembered)
	for _, answer := range answers {
		newest.Pauses.Add(answer.Pauses)
		if last := newest.Interrupt; answer.Interrupt.By != "" && (last.By == "" || answer.Interrupt.Age < last.Age) {
			newest.Interrupt = answer.Interrupt
		}
	}
	for _, answer := range answers {
		if mend && answer.Pauses.Add(newest.Pauses) {
			storePauses(ctx, r, newest.Pauses) // best effort: a later tick tries again
			break
		}
	}
	return newest, nil
}

// queryMajority calls query for every Redis server at the same time. It returns at least the answers of a majority as soon
// as it has them, while slower calls go on until ctx or mutex.Redis.Do ends them.
func queryMajority[T any](ctx context.Context, r *mutex.Redis, query func(context.Context, *redis.Client) (T, error)) (answers []T, err error) {
	n := len(r.Config().Servers)
	answered, ended := make(chan T, n), make(chan error, 1)
	go func() {
		ended <- r.Do(ctx, func(ctx context.Context, _ int, c *redis.Client) error {
			answer, err := query(ctx, c)
			if err == nil {
				answered <- answer
			}
			return err
		})
	}()
	for len(answers) < n/2+1 {
		select {
		case answer := <-answered:
			answers = append(answers, answer)
		case err := <-ended:
			if err != nil {
				return nil, err
			}
			ended <- nil // a majority has answered: their answers are all there
		}
	}
	return answers, nil
}

// readControls reads what one Redis has. Values that no sched wrote are left out.
func readControls(ctx context.Context, c *redis.Client, key string) (found Controls, err error) {
	var fields *redis.MapStringStringCmd
	var clock *redis.TimeCmd
	if _, err = c.Pipelined(ctx, func(p redis.Pipeliner) error {
		fields, clock = p.HGetAll(ctx, key), p.Time(ctx)
		return nil
	}); err != nil {
		return found, err
	}
	found.Pauses = Pauses{}
	for field, value := range fields.Val() {
		head, body, _ := strings.Cut(value, " ")
		if field == interruptField {
			ms, _ := strconv.ParseInt(head, 10, 64)
			if err := json.Unmarshal([]byte(body), &found.Interrupt); err == nil {
				found.Interrupt.Age = clock.Val().Sub(time.UnixMilli(ms))
			}
			continue
		}
		var p Pause
		if json.Unmarshal([]byte(body), &p) == nil {
			found.Pauses[field] = p
		}
	}
	return found, nil
}
