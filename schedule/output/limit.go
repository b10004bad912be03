package output

import (
	"bytes"
	"io"
	"os"
	"time"
	"unicode/utf8"

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
	// maxCutLine is more bytes than the line has that says what was cut.
	maxCutLine = 256
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

// Parts returns where the first part of an output that is larger than its limit ends, and where the
// last begins: at the ends of lines or, if no line ends near it, between two characters of UTF-8.
// isInLine says that the first part ends within a line.
func Parts(file io.ReaderAt, size, limit int64) (head, tail int64, isInLine bool) {
	half := (limit - maxCutLine) / 2
	near := make([]byte, min(block, half))
	head, tail = half, size-half
	file.ReadAt(near, half-int64(len(near)))
	if i := bytes.LastIndexByte(near, '\n'); i >= 0 {
		head = half - int64(len(near)) + int64(i) + 1
	} else {
		head, isInLine = half-int64(len(near)-wholeRunes(near)), true
	}
	file.ReadAt(near, tail)
	if i := bytes.IndexByte(near, '\n'); i >= 0 {
		tail += int64(i) + 1
	} else {
		for i := 0; i < utf8.UTFMax-1 && i < len(near) && !utf8.RuneStart(near[i]); i++ {
			tail++
		}
	}
	return head, tail, isInLine
}

// wholeRunes returns how many bytes are left when a character that the end cuts in two is left out.
func wholeRunes(text []byte) int {
	for i := len(text) - 1; i >= max(0, len(text)-utf8.UTFMax); i-- {
		if utf8.RuneStart(text[i]) {
			if utf8.FullRune(text[i:]) {
				break
			}
			return i
		}
	}
	return len(text)
}

// A Kept is what is kept of an output, also before it was cut. Its file has to be closed.
type Kept struct {
	*os.File
	Head io.Reader // the output, or its first part
	Tail io.Reader // the last part, from within the line before it; nil if all is in Head
}

// OpenKept opens what is kept of an output that is larger than the limit (0: none), or all of it.
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
	head, tail, _ := Parts(file, size, limit)
	return &Kept{file, io.NewSectionReader(file, 0, head), io.NewSectionReader(file, tail-1, size-tail+1)}, nil
}
