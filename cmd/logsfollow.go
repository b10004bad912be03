package cmd

import (
	"errors"
	"io"
	"os"
	"time"

	"sched/schedule"
	"sched/schedule/outcome"
	"sched/schedule/statedir"
)

// follow prints what a live run prints, as it comes, and returns how the run ended. The record has no outcome
// where no process supervised the run to its end. It catches no signals: ^C ends it as it ends tail -f.
func (a *app) follow(s *schedule.Schedule, begun outcome.Record) (outcome.Record, error) {
	tail := &tail{path: begun.Output}
	defer tail.close()
	for {
		text, err := tail.read()
		if err != nil {
			return begun, err
		}
		// A file in which nothing was printed is used again for another run. So what was read is of this
		// run only if it still lives, or has ended with an output.
		record, again, err := a.view(s).Poll(ctx, begun)
		if err != nil {
			return begun, err
		}
		if record.Outcome == "" || record.Output != "" {
			if _, err := a.out.Write(text); err != nil {
				return begun, err
			}
		}
		switch {
		case again == 0 && (len(text) == 0 || record.Outcome != "" && record.Output == ""):
			return record, nil
		case len(text) == 0:
			time.Sleep(again)
		}
	}
}

// A tail reads a file that grows, piece by piece. It reads nothing as long as the file does not exist.
type tail struct {
	path string
	file *os.File
	room [64 << 10]byte
}

func (t *tail) read() ([]byte, error) {
	if t.file == nil {
		file, err := statedir.OpenPlain(t.path, os.O_RDONLY)
		if errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		t.file = file
	}
	n, err := t.file.Read(t.room[:])
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return t.room[:n], err
}

func (t *tail) close() {
	if t.file != nil {
		t.file.Close()
	}
}
