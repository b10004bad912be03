package output

import (
	"bytes"
	"io"
	"os"
	"time"

	"sched/schedule/statedir"
)

// This file keeps the output of a run near output.limit while it grows: its first and its last
// part (docs/internals/decisions.md#a-limit-makes-holes-in-the-output). Package redact cuts it.

const (
	// trimEvery is the time between two looks at an output that grows, and calmTrimEvery at one
	// that does not.
	trimEvery     = time.Second
	calmTrimEvery = 5 * time.Second
	// block is what holes begin and end at: a multiple of the blocks of file systems.
	block = 4096
)

// A Trimmer gives back to the disk the middle of an output that is larger than its limit, while the
// command writes on.
type Trimmer struct {
	Output *os.File
	Limit  int64 // in bytes, more than 0
	seen   int64 // the size at the last look
}

// Trim looks at the output once, and returns when to look again.
func (t *Trimmer) Trim() (again time.Duration) {
	info, err := t.Output.Stat()
	if err != nil {
		return calmTrimEvery
	}
	size := info.Size()
	if from, to := middle(size, t.Limit); from < to {
		// Some file systems cannot make holes: then the output is cut at the end of the run.
		_ = statedir.PunchHole(t.Output, from, to)
	}
	if size <= t.seen {
		return calmTrimEvery
	}
	t.seen = size
	return trimEvery
}

// TrimEachSecond looks at the output each second until its caller calls stop.
func TrimEachSecond(output *os.File, limit int64) (stop func()) {
	stopped := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		trimmer := Trimmer{Output: output, Limit: limit}
		for again := trimEvery; ; again = trimmer.Trim() {
			select {
			case <-time.After(again):
			case <-stopped:
				return
			}
		}
	}()
	return func() {
		close(stopped)
		<-done
	}
}

// middle is the part of an output that is not kept, in whole blocks; empty if all is kept.
func middle(size, limit int64) (from, to int64) {
	if size <= limit {
		return 0, 0
	}
	half := limit / 2
	return (half + block - 1) / block * block, (size - half) / block * block
}

// A Kept is what is kept of an output, also before it was cut. Its file has to be closed.
type Kept struct {
	*os.File
	Head io.Reader // the output, or its first part up to the end of a line
	Tail io.Reader // the last part from the beginning of a line; nil if all is in Head
}

// OpenKept opens what is kept of an output that is larger than the limit (0: none), or all of it.
// The lines at the cut are left out.
func OpenKept(path string, limit int64) (*Kept, error) {
	file, err := statedir.OpenPlain(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, err
	}
	size := info.Size()
	if limit <= 0 || size <= limit {
		return &Kept{File: file, Head: io.NewSectionReader(file, 0, size)}, nil
	}
	head, tail := middle(size, limit)
	near := make([]byte, block)
	file.ReadAt(near, head-block)
	head -= int64(len(near) - 1 - bytes.LastIndexByte(near, '\n'))
	n, _ := file.ReadAt(near, tail)
	tail += int64(bytes.IndexByte(near[:n], '\n') + 1)
	return &Kept{file, io.NewSectionReader(file, 0, head), io.NewSectionReader(file, tail, size-tail)}, nil
}
