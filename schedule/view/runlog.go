package view

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"slices"

	"sched/schedule/outcome"
	"sched/schedule/output"
	"sched/schedule/past"
	"sched/schedule/redact"
	"sched/schedule/state"
	"sched/schedule/statedir"
)

// A Log is a part of what a run printed, with ••• for secrets.
type Log struct {
	Text   []byte
	Offset int64 // of Text in the whole output; larger than asked for if that part was cut
	Next   int64 // the offset behind Text: while a run lives, ••• has another length than a secret
	Size   int64 // of all that was printed so far
}

// ReadLog returns at most limit bytes that a run of this machine printed, from offset on. If tail
// is not 0, it begins tail bytes before the end instead. With hooks it returns what the run's hooks
// printed. If nothing was printed, the Log is empty. The offset may be past the end.
func ReadLog(s Source, r Run, hooks bool, offset, tail, limit int64) (Log, error) {
	if err := r.Elsewhere("logs"); err != nil {
		return Log{}, err
	}
	secrets, err := redact.Of(r.Row, s.Environ, false) // first: the file of a run that ends meanwhile is masked
	if err != nil {
		return Log{}, err
	}
	path := OutputOf(s.Schedule.StateDir, r.Row)
	if hooks {
		path = output.HooksPath(path)
	}
	file, err := statedir.OpenPlain(path, os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return Log{}, nil
	}
	if err != nil {
		return Log{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return Log{}, err
	}
	log := Log{Size: info.Size()}
	if tail > 0 {
		offset = log.Size - tail
	}
	log.Offset = max(0, min(offset, log.Size))
	from, to := statedir.NextData(file, log.Offset, log.Size) // skips what was cut already
	context := int64(secrets.Longest())                       // a value may begin before the part, and end behind it
	begin, end := max(0, from-context), min(from+limit, to)
	isCut := from > log.Offset
	if isCut {
		begin = from
	}
	log.Offset = from
	text, err := io.ReadAll(io.NewSectionReader(file, begin, min(end+context, to)-begin))
	text, next := secrets.Part(text, int(from-begin), int(end-begin), isCut, to < log.Size)
	log.Text, log.Next = text, begin+int64(next)
	return log, err
}

// A Hit is a line of a log that fits a search.
type Hit struct {
	Offset int64
	Line   int // from 1
	Text   string
}

// MaxSearched is how many bytes of a log Search reads at most.
const MaxSearched = 16 << 20

// Search returns the first lines that fit of what a run of this machine printed, at most limit;
// more says that there are others. It reads at most MaxSearched bytes.
func Search(s Source, r Run, limit int, fits func(line []byte) bool) (hits []Hit, more bool, err error) {
	for hit, err := range Hits(s, r, MaxSearched, fits) {
		if err != nil {
			return hits, false, err
		}
		if len(hits) == limit {
			return hits, true, nil
		}
		hits = append(hits, hit)
	}
	return hits, false, nil
}

// Hits yields the lines that fit of the first upTo bytes that a run of this machine printed. An
// error comes last. A line that is longer than a part of the log is judged in parts.
func Hits(s Source, r Run, upTo int64, fits func(line []byte) bool) iter.Seq2[Hit, error] {
	const part = 1 << 20
	return func(yield func(Hit, error) bool) {
		line := 1
		for at := int64(0); at < upTo; {
			log, err := ReadLog(s, r, false, at, 0, part)
			if err != nil {
				yield(Hit{}, err)
			}
			if err != nil || len(log.Text) == 0 {
				return
			}
			text, next := log.Text, log.Next
			if end := bytes.LastIndexByte(text, '\n'); end >= 0 && next < log.Size {
				next -= int64(len(text) - end - 1) // the next part begins with a line
				text = text[:end+1]
			}
			at = log.Offset
			for printed := range bytes.Lines(text) {
				if fits(printed) && !yield(Hit{at, line, string(bytes.TrimRight(printed, "\r\n"))}, nil) {
					return
				}
				at += int64(len(printed))
				line++
			}
			at = next
		}
	}
}

// RunsOf yields the runs of some tasks of this machine, or of all if none is named: the runs that
// live, then those that ended, each the newest slot first. It reads the history in parts. The State
// of a live run is left empty. An error comes last.
func RunsOf(ctx context.Context, s Source, q past.Query, tasks ...string) iter.Seq2[Run, error] {
	return func(yield func(Run, error) bool) {
		all, err := s.Records(ctx)
		if err != nil {
			yield(Run{}, err)
			return
		}
		defer all.Close()
		isAsked := func(row state.Row) bool { return len(tasks) == 0 || slices.Contains(tasks, row.Task) }
		live := slices.DeleteFunc(slices.Concat(all.Lost, all.Live), func(row state.Row) bool {
			return row.Pending() || !q.Matches(row) || !isAsked(row)
		})
		slices.SortFunc(live, past.NewestFirst)
		seen := map[string]bool{} // a live run may end meanwhile
		for _, row := range live {
			seen[row.ID] = true
			if !yield(runOf(s.Schedule.StateDir, row.WithoutOutcome()), nil) {
				return
			}
		}
		if len(tasks) == 1 {
			q.Task = tasks[0]
		}
		for row, err := range endedRows(ctx, all, q) {
			if err != nil {
				yield(Run{}, err)
				return
			}
			if isAsked(row) && !seen[row.ID] && !yield(EndedRun(s, row), nil) {
				return
			}
		}
	}
}

// endedRows yields the rows of runs that ended, the newest slot first. It reads them in pages. An
// error comes last.
func endedRows(ctx context.Context, records *Records, q past.Query) iter.Seq2[state.Row, error] {
	const pageSize = 500
	q.Limit, q.Outcomes = pageSize, outcome.Ran
	return func(yield func(state.Row, error) bool) {
		page := q
		for {
			rows, err := records.Find(ctx, page)
			if err != nil {
				yield(state.Row{}, err)
				return
			}
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
			if len(rows) < pageSize {
				return
			}
			last := rows[len(rows)-1]
			page.Below = past.Position{Slot: last.Slot, ID: last.ID}
		}
	}
}
