package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
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
	// maxRuns is how many finished runs the stream keeps at least, of all servers together. Redis trims it now and then, so
	// there may be some more.
	maxRuns = 10_000

	// pageSize is how many of them are read at a time.
	pageSize = 500
)

// addRuns puts those runs on the stream that are not there yet, and makes each the last of its task unless
// one that began later is. Ids of runs sort by the time at which they began.
//
// The stream is written before the set that says what is on it. A script that has begun to write is not
// stopped half-way (https://redis.io/docs/latest/develop/programmability/eval-intro/).
const addRuns = `
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
return 0`

// Publish publishes finished runs to the other servers (docs/decisions.md#other-servers-see-runs-not-skips). To
// publish a run again changes nothing. One that comes late is put on the stream, and does not replace a later run of
// its task in Last. Snapshots, which may hold secrets, and outputs stay on the run's own server.
func Publish(ctx context.Context, r *mutex.Redis, records []outcome.Record) error {
	if len(records) == 0 {
		return nil
	}
	args := []any{maxRuns}
	for _, record := range records {
		args = append(args, record.Run, record.Task, toJSON(shared(record)))
	}
	keys := []string{r.Key("runs"), r.Key("ended"), r.Key("last")}
	return r.Do(ctx, func(ctx context.Context, _ int, c *redis.Client) error {
		return redis.NewScript(addRuns).Run(ctx, c, keys, args...).Err()
	})
}

// Recent returns the finished runs of all servers that q says, in the order of history.DB.Find, as far
// back as the stream goes. Skipped and missed slots are in the histories of their servers only.
func Recent(ctx context.Context, r *mutex.Redis, q history.Query) ([]outcome.Record, error) {
	return read(ctx, r, q, math.MaxInt)
}

// mostLatest is how many runs Latest looks at.
const mostLatest = 2 * pageSize

// Latest is Recent for who must not wait long: it looks only at the runs that were published last, a thousand.
func Latest(ctx context.Context, r *mutex.Redis, q history.Query) ([]outcome.Record, error) {
	return read(ctx, r, q, mostLatest)
}

// read returns the runs that q says among so many of the stream that were published last.
func read(ctx context.Context, r *mutex.Redis, q history.Query, among int) ([]outcome.Record, error) {
	var answers collection[map[string]outcome.Record]
	err := r.Do(ctx, func(ctx context.Context, server int, c *redis.Client) error {
		runs, err := recent(ctx, c, r.Key("runs"), q, among)
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

// Newest returns the runs, which are keyed by their id, in the order of history.DB.Find: at most limit of them, 0 for all.
func Newest(runs map[string]outcome.Record, limit int) []outcome.Record {
	all := slices.SortedFunc(maps.Values(runs), outcome.NewestFirst)
	if limit > 0 {
		all = all[:min(limit, len(all))]
	}
	return all
}

// recent reads the stream of one Redis from its end until nothing more that q says can come, or so many runs were looked at. It
// returns all that it found on the way, which may be more than the limit.
func recent(ctx context.Context, c *redis.Client, stream string, q history.Query, among int) (map[string]outcome.Record, error) {
	runs := map[string]outcome.Record{}
	for next, seen := "+", 0; ; {
		entries, err := c.XRevRangeN(ctx, stream, next, "-", pageSize).Result()
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			next = idBefore(entry.ID)
			if record, ok := decode(entry.Values["record"]); ok && q.Matches(record) {
				runs[record.Run] = record
			}
		}
		seen += len(entries)
		if len(entries) < pageSize || enough(q, runs, timeOf(next)) || seen >= among {
			return runs, nil
		}
	}
}

// enough reports whether all runs that were published before that time are older than what q
// says. A run may be published long after its slot, but never before it; clocks are taken to be less than an hour apart.
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

// idBefore is the greatest id of an entry before another. Redis has a sign for it, "(", from 6.2 on only.
func idBefore(id string) string {
	ms, text, _ := strings.Cut(id, "-")
	if n, _ := strconv.ParseUint(text, 10, 64); n > 0 {
		return fmt.Sprintf("%s-%d", ms, n-1)
	}
	return strconv.FormatInt(timeOf(id).UnixMilli()-1, 10) // the last one of that millisecond
}

// Last returns the finished run that began last on any server, by task
// (docs/decisions.md#the-last-run-is-the-one-that-began-last). Tasks that have none are left out.
func Last(ctx context.Context, r *mutex.Redis, tasks []string) (map[string]outcome.Record, error) {
	last := map[string]outcome.Record{}
	if len(tasks) == 0 {
		return last, nil
	}
	var answers collection[[]any]
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

// shared is a record without what means something only on its own server: it names no file and no lock.
func shared(r outcome.Record) outcome.Record {
	r.Snapshot, r.Output, r.Locks, r.Seat = nil, "", "", outcome.Seat{}
	return r
}

// decode reads a record, which may stand behind the id of its run. It is not ok when no sched wrote it. Whoever can write to the
// Redis may have written it, so it is the record of a run that has ended, its id has the form of ids, and it names no file.
func decode(value any) (record outcome.Record, ok bool) {
	text, _ := value.(string)
	start := strings.IndexByte(text, '{')
	if start < 0 || json.Unmarshal([]byte(text[start:]), &record) != nil {
		return record, false
	}
	return shared(record), outcome.IsID(record.Run) && record.Server != "" && slices.Contains(outcome.Ran, record.Outcome)
}
