package servers

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"sched/mutex"
	"sched/schedule/history"

	"sched/schedule/outcome"
)

const (
	// kept is how many finished runs the stream keeps, of all servers together.
	kept = 10_000

	// page is how many of them are read at a time.
	page = 500
)

// publish puts runs on the stream that are not there yet, and makes each the last of its task unless
// one that began later is. Ids of runs sort by the time at which they began.
//
// The stream comes before the set that says what is on it. A script that has begun to write is not
// stopped half-way (https://redis.io/docs/latest/develop/programmability/eval-intro/).
var publish = redis.NewScript(`
local stream, ended, lasts, kept = KEYS[1], KEYS[2], KEYS[3], tonumber(ARGV[1])
local now = redis.call('TIME')[1]
for i = 2, #ARGV, 3 do
	local run, task, record = ARGV[i], ARGV[i + 1], ARGV[i + 2]
	if not redis.call('ZSCORE', ended, run) then
		redis.call('XADD', stream, 'MAXLEN', '~', kept, '*', 'record', record)
		redis.call('ZADD', ended, now, run)
	end
	local last = redis.call('HGET', lasts, task)
	if not last or string.match(last, '^[^ ]*') < run then
		redis.call('HSET', lasts, task, run .. ' ' .. record)
	end
end
redis.call('ZREMRANGEBYRANK', ended, 0, -1 - kept)
return 0`)

// Publish tells the others of finished runs. Publishing a run again changes nothing, and so does one
// that comes late, but that it is on the stream then. Snapshots and outputs stay where they are; the path
// of an output is one on the run's own server.
func Publish(ctx context.Context, r *mutex.Redis, records []outcome.Record) error {
	if len(records) == 0 {
		return nil
	}
	args := []any{kept}
	for _, record := range records {
		record.Snapshot, record.Locks = nil, ""
		args = append(args, record.Run, record.Task, text(record))
	}
	keys := []string{r.Key("runs"), r.Key("ended"), r.Key("last")}
	return r.Do(ctx, func(ctx context.Context, _ int, c *redis.Client) error {
		return publish.Run(ctx, c, keys, args...).Err()
	})
}

// Recent returns the finished runs of all servers that q asks for, in the order of DB.Find, as far
// back as the stream goes. Slots that were skipped or missed are in the histories of their servers alone.
func Recent(ctx context.Context, r *mutex.Redis, q history.Query) ([]outcome.Record, error) {
	var answers collected[map[string]outcome.Record]
	err := r.Do(ctx, func(ctx context.Context, server int, c *redis.Client) error {
		runs, err := recent(ctx, c, r.Key("runs"), q)
		answers.set(server, runs)
		return err
	})
	if err != nil {
		return nil, err
	}
	runs := map[string]outcome.Record{}
	for _, some := range answers.values() {
		maps.Copy(runs, some)
	}
	return Newest(runs, q.Limit), nil
}

// Newest returns the runs in the order of DB.Find: at most limit, 0 for all.
func Newest(runs map[string]outcome.Record, limit int) []outcome.Record {
	all := slices.SortedFunc(maps.Values(runs), func(a, b outcome.Record) int {
		return cmp.Or(b.Slot.Compare(a.Slot), strings.Compare(b.Run, a.Run))
	})
	if limit > 0 {
		all = all[:min(limit, len(all))]
	}
	return all
}

// recent reads the stream of one Redis backwards until there can be nothing more that q asks for.
func recent(ctx context.Context, c *redis.Client, stream string, q history.Query) (map[string]outcome.Record, error) {
	runs := map[string]outcome.Record{}
	for next := "+"; ; {
		messages, err := c.XRevRangeN(ctx, stream, next, "-", page).Result()
		if err != nil {
			return nil, err
		}
		for _, message := range messages {
			next = previous(message.ID)
			if record, ok := decode(message.Values["record"]); ok && q.Matches(record) {
				runs[record.Run] = record
			}
		}
		if len(messages) < page || enough(q, runs, timeOf(next)) {
			return runs, nil
		}
	}
}

// enough reports whether the runs that were published before that time are older than what q asks
// for. Copies may come late, but never before their slot; the clocks are less than an hour apart.
func enough(q history.Query, runs map[string]outcome.Record, before time.Time) bool {
	before = before.Add(time.Hour)
	newer := 0
	for _, record := range runs {
		if record.Slot.After(before) {
			newer++
		}
	}
	return q.Limit > 0 && newer >= q.Limit || before.Before(q.Since)
}

// timeOf is when an entry was put on the stream: its id begins with the milliseconds since 1970.
func timeOf(id string) time.Time {
	text, _, _ := strings.Cut(id, "-")
	ms, _ := strconv.ParseInt(text, 10, 64)
	return time.UnixMilli(ms)
}

// previous is the greatest id before another. Redis has a sign for it, "(", from 6.2 on.
func previous(id string) string {
	ms, text, _ := strings.Cut(id, "-")
	if n, _ := strconv.ParseUint(text, 10, 64); n > 0 {
		return fmt.Sprintf("%s-%d", ms, n-1)
	}
	return strconv.FormatInt(timeOf(id).UnixMilli()-1, 10) // the last one of that millisecond
}

// Last returns, for each of the tasks that has one, the run of all servers that began last, of those
// that are finished.
func Last(ctx context.Context, r *mutex.Redis, tasks []string) (map[string]outcome.Record, error) {
	last := map[string]outcome.Record{}
	if len(tasks) == 0 {
		return last, nil
	}
	var answers collected[[]any]
	err := r.Do(ctx, func(ctx context.Context, server int, c *redis.Client) error {
		runs, err := c.HMGet(ctx, r.Key("last"), tasks...).Result()
		answers.set(server, runs)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, runs := range answers.values() {
		for i, run := range runs {
			record, ok := decode(run)
			if ok && record.Run > last[tasks[i]].Run {
				last[tasks[i]] = record
			}
		}
	}
	return last, nil
}

// decode reads a record that another sched wrote, maybe after the id of its run. One that it cannot read
// is left out.
func decode(value any) (record outcome.Record, ok bool) {
	text, _ := value.(string)
	start := strings.IndexByte(text, '{')
	return record, start >= 0 && json.Unmarshal([]byte(text[start:]), &record) == nil && record.Run != ""
}
