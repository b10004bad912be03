package view

import (
	"errors"
	"io"
	"os"

	"sched/schedule/run/output"
	"sched/schedule/statedir"
)

// A Log is a part of what a run printed, unchanged.
type Log struct {
	Text   []byte
	Offset int64 // of Text in the whole output; larger than asked for if that part was cut
	Size   int64 // of all that was printed so far
}

// Log returns at most limit bytes that a run of this machine printed, from offset on. If tail is
// not 0, it begins tail bytes before the end instead. With hooks it returns what the run's hooks
// printed. If nothing was printed, the Log is empty. The offset may be past the end.
func (s Source) Log(r Run, hooks bool, offset, tail, limit int64) (Log, error) {
	if err := r.Elsewhere("logs"); err != nil {
		return Log{}, err
	}
	path := outputOf(s.Schedule.StateDir, r.Begin)
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
	from, to := statedir.DataAt(file, log.Offset, log.Size) // skips what was cut already
	log.Offset = from
	log.Text, err = io.ReadAll(io.NewSectionReader(file, from, min(limit, to-from)))
	return log, err
}
