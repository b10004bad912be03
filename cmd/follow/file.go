package follow

import (
	"bytes"
	"time"
	"unicode/utf8"

	"sched/schedule/clock"
)

// An outputLine is also what --json prints.
type outputLine struct {
	Task   string    `json:"task"`
	Run    string    `json:"run"`
	Stream string    `json:"stream"` // ofCommand or ofHooks
	Time   time.Time `json:"time"`   // when it was read, in UTC
	Text   string    `json:"text"`   // without its end
}

// The streams of a run.
const (
	ofCommand = "output"
	ofHooks   = "hooks"
)

// maxLine is how many bytes are one line at most: a longer line is printed in pieces.
const maxLine = 16 << 10

// A followedFile is a file that a run or its hooks print to. It is read line by line.
type followedFile struct {
	Reader
	task, run, stream string

	line    []byte    // the beginning of a line whose end was not printed yet
	shownAt time.Time // when the last line was printed; the beginning of a line counts from then
	foundAt time.Time // when the file was found
	hasRow  bool      // the database had the run
	ended   bool      // nothing more will be printed
}

// printNew prints the whole lines that were written since the last call, and how far a line is that
// takes its time (printProgress).
func (f *followedFile) printNew(print func(outputLine)) {
	f.printWritten(print)
	f.printProgress(print, time.Now())
}

// printWritten prints the whole lines that were written since the last call.
func (f *followedFile) printWritten(print func(outputLine)) {
	buffer := make([]byte, 64<<10)
	for {
		text, cut, err := f.read(buffer)
		if err != nil || len(text) == 0 {
			return
		}
		if cut > 0 {
			f.printRest(print)
			print(f.lineOf(cutText(cut)))
		}
		f.printLines(text, print)
	}
}

// printLines prints the whole lines among the bytes, and keeps the beginning of the last line.
func (f *followedFile) printLines(bytesRead []byte, print func(outputLine)) {
	for isWhole := true; isWhole; {
		var line []byte
		line, bytesRead, isWhole = bytes.Cut(bytesRead, []byte("\n"))
		f.line = append(f.line, line...)
		for len(f.line) > maxLine {
			piece := firstPiece(f.line)
			print(f.lineOf(string(piece)))
			f.line = append(f.line[:0], f.line[len(piece):]...)
		}
		if isWhole {
			print(f.lineOf(string(f.line)))
			f.line = f.line[:0]
		}
	}
}

// printProgress prints the last state of a progress bar, which goes back to the start of its line
// with a carriage return: each second. Of a line that has none, such as a row of dots, it prints
// the beginning after ten seconds; the rest becomes a line of its own.
func (f *followedFile) printProgress(print func(outputLine), now time.Time) {
	switch {
	case len(f.line) == 0:
		f.shownAt = now
	case now.Sub(f.shownAt) < barEvery:
	case bytes.IndexByte(f.line[:len(f.line)-1], '\r') >= 0:
		end := bytes.LastIndexByte(f.line[:len(f.line)-1], '\r')
		state := f.line[bytes.LastIndexByte(f.line[:end], '\r')+1 : end]
		if len(state) > 0 {
			print(f.lineOf(string(state)))
		}
		f.line, f.shownAt = append(f.line[:0], f.line[end+1:]...), now
	case now.Sub(f.shownAt) >= unendedAfter && utf8.Valid(f.line):
		f.printRest(print)
		f.shownAt = now
	}
}

// end prints the beginning of a line that has no end, and closes the file.
func (f *followedFile) end(print func(outputLine)) {
	f.printRest(print)
	f.Close()
}

// printRest prints the beginning of a line that has no end.
func (f *followedFile) printRest(print func(outputLine)) {
	if len(f.line) > 0 {
		print(f.lineOf(string(f.line)))
		f.line = f.line[:0]
	}
}

func (f *followedFile) lineOf(text string) outputLine {
	return outputLine{Task: f.task, Run: f.run, Stream: f.stream, Time: clock.Now().UTC(), Text: text}
}

func newFollowedFile(path, task, run, stream string) *followedFile {
	return &followedFile{
		Reader:  Reader{path: path},
		task:    task,
		run:     run,
		stream:  stream,
		foundAt: time.Now(),
		shownAt: time.Now(),
	}
}

const (
	barEvery     = time.Second      // the time between two states of a progress bar
	unendedAfter = 10 * time.Second // how long a line may take to end before its beginning is printed
)

// firstPiece returns the first maxLine bytes of a longer line, or a few less: a character of UTF-8
// stays whole.
func firstPiece(line []byte) []byte {
	for end := maxLine; end > maxLine-utf8.UTFMax; end-- {
		if utf8.RuneStart(line[end]) {
			return line[:end]
		}
	}
	return line[:maxLine]
}
