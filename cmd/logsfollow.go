package cmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
	"sched/schedule/outcome"
	"sched/schedule/statedir"
)

// follow prints what a live run prints, as it comes, and returns how the run ended. The record has
// no outcome if no process supervised the run to its end. follow begins with the last lines, or
// with all if lines is 0. It catches no signals: ^C ends it as it ends tail -f.
func (a *app) follow(s *schedule.Schedule, begun outcome.Record, lines int) (outcome.Record, error) {
	tail := &outputReader{path: begun.Output}
	defer tail.close()
	if file, err := statedir.OpenPlain(begun.Output, os.O_RDONLY); err == nil {
		tail.file, tail.at = file, lastLines(file, lines)
	}
	for {
		// It asks for the end first, and reads afterwards what was printed by then.
		record, again, err := a.view(s).Poll(ctx, begun)
		if err != nil {
			return begun, err
		}
		text, err := tail.read()
		if err != nil {
			return begun, err
		}
		if _, err := a.out.Write(text); err != nil {
			return begun, err
		}
		switch {
		case again == 0 && len(text) == 0:
			return record, nil
		case len(text) == 0:
			time.Sleep(again)
		}
	}
}

// An outputReader reads a file that grows, piece by piece. It reads nothing as long as the file
// does not exist. If a live output was cut because it is larger than its limit, it says so once.
type outputReader struct {
	path string
	file *os.File
	at   int64
	room [64 << 10]byte
}

func (t *outputReader) read() ([]byte, error) {
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
	info, err := t.file.Stat()
	if err != nil || t.at >= info.Size() {
		return nil, err
	}
	from, to := statedir.DataAt(t.file, t.at, info.Size())
	if cut := from - t.at; cut > 0 && from < to {
		t.at = from
		return fmt.Appendf(nil, "\nsched: %s are cut here: output.limit\n", humanize.Bytes(cut)), nil
	}
	n, err := t.file.ReadAt(t.room[:min(int64(len(t.room)), to-from)], from)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	t.at = from + int64(n)
	return t.room[:n], err
}

func (t *outputReader) close() {
	if t.file != nil {
		t.file.Close()
	}
}

// lastLines returns the offset at which the last lines of a file begin. It is 0 if the file has no
// more lines, and if lines is 0.
func lastLines(file *os.File, lines int) int64 {
	info, err := file.Stat()
	if err != nil || lines == 0 {
		return 0
	}
	block := make([]byte, 64<<10)
	for end := info.Size(); end > 0; {
		piece := block[:min(end, int64(len(block)))]
		end -= int64(len(piece))
		file.ReadAt(piece, end)
		for i := len(piece) - 1; i >= 0; i-- {
			if piece[i] != '\n' || end+int64(i) == info.Size()-1 { // the last line has its end or not
				continue
			}
			if lines--; lines == 0 {
				return end + int64(i) + 1
			}
		}
	}
	return 0
}
