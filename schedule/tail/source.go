package tail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/state"
	"sched/schedule/statedir"
)

// longestLine is the longest that is printed in one piece.
const longestLine = 16 << 10

// A source is one file that a run prints to.
type source struct {
	task, run, path string
	hooks           bool

	file  *os.File
	at    int64
	line  []byte // the beginning of one whose end was not printed yet
	found time.Time
	quit  time.Time
	known bool // the database had the run
}

// lookForEnd is how often a run that prints nothing is looked at whether it has ended.
const lookForEnd = time.Second

// unknownFor is how long a run is followed that is not in the database: its output is opened before
// its row is written, and a tick that cannot write never writes it.
const unknownFor = time.Minute

// ended reports whether the run is over, so that nothing more will be printed. It looks once in
// lookForEnd.
func (s *source) ended() bool {
	if now := time.Now(); now.Before(s.quit) {
		return false
	} else {
		s.quit = now.Add(lookForEnd)
	}
	db, err := state.OpenRead(stateDir(s.path), state.Patience)
	if err != nil {
		return false
	}
	defer db.Close()
	row, err := db.Runs().Row(context.Background(), s.run)
	if errors.Is(err, state.ErrNotFound) {
		return s.known || time.Since(s.found) > unknownFor
	}
	s.known = s.known || err == nil
	return err == nil && row.Phase == state.Ended
}

// read prints the whole lines that came since the last time. A file is opened when it holds
// something.
func (s *source) read(print func(Line)) {
	if s.file == nil {
		if info, err := os.Stat(s.path); err != nil || info.Size() == 0 {
			return
		}
		file, err := statedir.OpenPlain(s.path, os.O_RDONLY)
		if err != nil {
			return
		}
		s.file = file
	}
	room := make([]byte, 64<<10)
	for {
		n := s.piece(room, print)
		if n == 0 {
			return
		}
		s.lines(room[:n], print)
	}
}

// piece reads the next bytes, over what was cut already (output.limit).
func (s *source) piece(room []byte, print func(Line)) int {
	info, err := s.file.Stat()
	if err != nil || s.at >= info.Size() {
		return 0
	}
	from, to := statedir.DataAt(s.file, s.at, info.Size())
	if from > s.at && from < to {
		s.rest(print)
		print(s.made(fmt.Sprintf("sched: %s are cut here: output.limit", humanize.Bytes(from-s.at))))
	}
	n, _ := s.file.ReadAt(room[:min(int64(len(room)), to-from)], from)
	s.at = from + int64(n)
	return n
}

// lines prints the whole lines among the bytes, and keeps the rest.
func (s *source) lines(bytesRead []byte, print func(Line)) {
	for {
		i := bytes.IndexByte(bytesRead, '\n')
		if i < 0 {
			break
		}
		print(s.made(string(s.line) + string(bytesRead[:i])))
		s.line, bytesRead = s.line[:0], bytesRead[i+1:]
	}
	s.line = append(s.line, bytesRead...)
	for len(s.line) > longestLine {
		print(s.made(string(s.line[:longestLine])))
		s.line = append(s.line[:0], s.line[longestLine:]...)
	}
}

// rest prints a line that has no end.
func (s *source) rest(print func(Line)) {
	if len(s.line) > 0 {
		print(s.made(string(s.line)))
		s.line = s.line[:0]
	}
}

func (s *source) made(line string) Line { return Line{s.task, s.run, s.hooks, clock.Now(), line} }

func (s *source) close() {
	if s.file != nil {
		s.file.Close()
	}
}
