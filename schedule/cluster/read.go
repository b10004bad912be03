package cluster

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"sched/mutex"
	"sched/schedule/outcome"
)

// mostServers bounds how many servers are looked at: thousands of forged names delay nobody.
const mostServers = 2000

// readServers returns at most mostServers servers by key, first those whose keys begin with first.
func readServers(ctx context.Context, store mutex.Board, first string) (map[string]Server, error) {
	values, err := store.All(ctx, tableServers)
	keys := slices.SortedFunc(maps.Keys(values), func(a, b string) int {
		if is := strings.HasPrefix(a, first); is != strings.HasPrefix(b, first) {
			return map[bool]int{true: -1, false: 1}[is]
		}
		return strings.Compare(a, b)
	})
	all := map[string]Server{}
	for _, key := range keys[:min(mostServers, len(keys))] {
		if s, ok := mutex.Decode[Server](values[key]); ok && s.Name != "" && !s.Seen.IsZero() && !s.Said.IsZero() {
			all[key] = s.checked()
		}
	}
	return all, err
}

// checked leaves out runs whose ids no sched made, and more runs than a server tells.
func (s Server) checked() Server {
	s.Running = slices.DeleteFunc(s.Running, func(r Running) bool { return !outcome.IsID(r.Run) || r.Task == "" })
	s.Running = s.Running[:min(maxRunning, len(s.Running))]
	s.More = max(0, s.More)
	return s
}

// A published is a value of the log runs: a record, and when it was published, by the
// clock of its server.
type published struct {
	outcome.Record
	Published time.Time `json:"published"`
}

// foreign reads a record of another server than self, without what could do harm here: snapshots,
// locks and paths.
func foreign(value []byte, self string) (p published, ok bool) {
	p, ok = mutex.Decode[published](value)
	r := p.Record
	if !ok || !outcome.IsID(r.Run) || r.Task == "" || r.Slot.IsZero() || !slices.Contains(outcome.Ran, r.Outcome) ||
		r.Server == "" || r.Server == self {
		return published{}, false
	}
	p.Record = outcome.Record{
		Run: r.Run, Task: r.Task, Mutex: r.Mutex, Slot: r.Slot, Origin: r.Origin, Background: r.Background,
		Server: r.Server, Started: r.Started, Ended: r.Ended, Outcome: r.Outcome, Reason: r.Reason,
		ExitCode: r.ExitCode, Notes: r.Notes, Attempts: max(0, r.Attempts), UserCPU: max(0, r.UserCPU), SystemCPU: max(0, r.SystemCPU),
		PeakMemory: max(0, r.PeakMemory), Waited: max(0, r.Waited),
	}
	if cause := r.Cause; cause != nil && outcome.IsID(cause.Run) {
		p.Cause = cause
	}
	for _, triggered := range r.Triggered {
		if outcome.IsID(triggered.Run) {
			p.Triggered = append(p.Triggered, triggered)
		}
	}
	return p, true
}
