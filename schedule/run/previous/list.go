package previous

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sched/schedule/boot"
	"sched/schedule/outcome"
)

// An outcomeList is what the file of a task says.
type outcomeList struct {
	boot  string
	since string // of runs with an id that is not greater, the file may lack some; empty: it lacks none
	ended map[string]outcome.Outcome
}

var errUnusable = errors.New("the file is of another boot, or half a file")

// kept is how many runs are left in a file that is cut, the newest by their ids.
const kept = 30

// text is the whole file, with the newest runs alone.
func (l outcomeList) text() (lines []byte) {
	ids := slices.Sorted(maps.Keys(l.ended))
	if len(ids) > kept {
		ids = ids[len(ids)-kept:]
		l.since = max(l.since, ids[0])
	}
	lines = fmt.Appendf(nil, "%s %s\n", l.boot, l.since)
	for _, id := range ids {
		lines = appendLine(lines, id, l.ended[id])
	}
	return lines
}

func appendLine(lines []byte, run string, o outcome.Outcome) []byte {
	return fmt.Appendf(lines, "%s %s\n", run, o)
}

// parse reads a file. The error is errUnusable for one of another boot, and one that a kill or a full disk has left
// half written.
func parse(text []byte) (outcomeList, error) {
	first, rest, whole := strings.Cut(string(text), "\n")
	list := outcomeList{ended: map[string]outcome.Outcome{}}
	list.boot, list.since, _ = strings.Cut(first, " ")
	if !whole || list.boot == "" || list.boot != boot.ID() {
		return list, errUnusable
	}
	for line := range strings.Lines(rest) {
		run, word, _ := strings.Cut(line, " ")
		word, whole := strings.CutSuffix(word, "\n")
		if !whole || !slices.Contains(outcome.Ran, outcome.Outcome(word)) {
			return list, errUnusable
		}
		list.ended[run] = outcome.Outcome(word)
	}
	return list, nil
}

// before returns the outcome of the newest run whose id is smaller; false where the file does not know.
func (l outcomeList) before(run string) (last outcome.Outcome, ok bool) {
	newest := ""
	for id, o := range l.ended {
		if id < run && id > newest {
			newest, last = id, o
		}
	}
	return last, newest != "" && run > l.since
}
