package output

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
	"unicode/utf8"

	"sched/schedule/humanize"
	"sched/schedule/statedir"
)

// This file keeps the output of a run within output.limit: its first and its last part
// (docs/internals/decisions.md#a-limit-makes-holes-in-the-output).

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
		// Some file systems cannot make holes: then Cut cuts the output at the end of the run.
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

// Cut makes an output that is larger than its limit a file of its first and its last part, with a
// line between them that says what was cut; the note says it, too. It is done once: if the process
// is killed before the new file has the name, the old file stays. A process that the command left
// behind may still print into the old file: that output is lost.
func Cut(path string, limit int64) (note string, err error) {
	if info, err := os.Stat(path); limit == 0 || err == nil && info.Mode().IsRegular() && info.Size() <= limit {
		return "", nil
	}
	file, err := statedir.OpenPlain(path, os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Size() <= limit {
		return "", err
	}
	head, tail, isInLine := parts(file, info.Size(), (limit-maxCutLine)/2)
	size := humanize.Bytes(tail - head)
	line := fmt.Sprintf("sched: %s are cut here: output.limit is %s\n", size, humanize.Bytes(limit))
	if isInLine {
		line = "\n" + line
	}
	draft := path + ".cut"
	if err := writeParts(draft, file, head, line, tail, info.Size()); err != nil {
		os.Remove(draft)
		return "", err
	}
	note = fmt.Sprintf("%s of the output were cut (output.limit: %s)", size, humanize.Bytes(limit))
	return note, os.Rename(draft, path)
}

// parts returns where the first part of the file ends, and where the last begins: at the ends of
// lines or, if no line ends near it, between two characters of UTF-8. isInLine says that the first
// part ends within a line.
func parts(file io.ReaderAt, size, half int64) (head, tail int64, isInLine bool) {
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

// writeParts writes what is left of a file into another one.
func writeParts(path string, file *os.File, head int64, line string, tail, size int64) error {
	to, err := statedir.OpenPlain(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, io.NewSectionReader(file, 0, head))
	if err == nil {
		_, err = io.WriteString(to, line)
	}
	if err == nil {
		_, err = io.Copy(to, io.NewSectionReader(file, tail, size-tail))
	}
	return errors.Join(err, to.Close())
}

// Kept returns what is kept of an output, also before it was cut: its first and its last part if it
// is larger than the limit (0: none). The caller closes it.
func Kept(path string, limit int64) (io.ReadCloser, error) {
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
	head, tail := size, size
	if limit > 0 && size > limit {
		head, tail = middle(size, limit)
	}
	parts := io.MultiReader(io.NewSectionReader(file, 0, head), io.NewSectionReader(file, tail, size-tail))
	return struct {
		io.Reader
		io.Closer
	}{parts, file}, nil
}
