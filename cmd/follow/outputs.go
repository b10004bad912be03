package follow

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"sched/schedule/clock"
	"sched/schedule/humanize"
	"sched/schedule/mask"
	"sched/schedule/outcome"
	"sched/schedule/redact"
	"sched/schedule/statedir"
)

// A discovery finds the outputs of all runs of a state folder that begin after it was made.
type discovery struct {
	dir     string
	environ []string
	firstID string                // older runs have smaller ids
	folders map[string]taskFolder // by path
}

// A taskFolder has the outputs of the runs of a task.
type taskFolder struct {
	changed time.Time       // its time at the last look
	paths   map[string]bool // of its outputs at the last look
}

// Discover returns a discovery for the runs that begin from now on.
func Discover(stateDir string, environ []string) *discovery {
	return &discovery{
		dir:     filepath.Join(stateDir, "output"),
		environ: environ,
		firstID: outcome.NewID(),
		folders: map[string]taskFolder{},
	}
}

// newFiles returns the outputs that came since the last call. It reads a folder again if the
// folder's time has changed or is less than a second old: files may come within one tick of the
// file system's clock.
func (d *discovery) newFiles() (files []*followedFile) {
	tasks, _ := os.ReadDir(d.dir)
	for _, task := range tasks {
		path := filepath.Join(d.dir, task.Name())
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		before, changed := d.folders[path], info.ModTime()
		if changed.Equal(before.changed) && time.Since(changed).Abs() >= time.Second {
			continue
		}
		outputs, err := d.outputsIn(path)
		if err != nil {
			continue
		}
		after := taskFolder{changed: changed, paths: map[string]bool{}}
		for _, output := range outputs {
			after.paths[output.path] = true
			if !before.paths[output.path] {
				files = append(files, output)
			}
		}
		d.folders[path] = after
	}
	return files
}

// outputsIn returns the outputs in the folder of a task, the oldest run first. The hooks of a run
// come after its command, because most hooks do.
func (d *discovery) outputsIn(path string) (outputs []*followedFile, err error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	task := strings.ReplaceAll(filepath.Base(path), "+", "/") // see output.Path
	for _, entry := range entries {
		id, isLog := strings.CutSuffix(entry.Name(), ".log")
		stream := ofCommand
		if run, ok := strings.CutSuffix(id, ".hooks"); ok {
			id, stream = run, ofHooks
		}
		if isLog && id >= d.firstID {
			secrets := redact.Live(filepath.Dir(d.dir), id, d.environ)
			outputs = append(outputs, newFollowedFile(filepath.Join(path, entry.Name()), task, id, stream, secrets))
		}
	}
	slices.SortFunc(outputs, func(a, b *followedFile) int {
		return strings.Compare(strings.TrimSuffix(a.path, ".log"), strings.TrimSuffix(b.path, ".log"))
	})
	return outputs, nil
}

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

func newFollowedFile(path, task, run, stream string, secrets func() (*mask.Set, error)) *followedFile {
	return &followedFile{
		Reader:  Reader{path: path, secrets: secrets},
		task:    task,
		run:     run,
		stream:  stream,
		foundAt: time.Now(),
		shownAt: time.Now(),
	}
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
		text, n, cut, err := f.read(buffer)
		if err != nil && f.file == nil { // the secrets are not known
			print(f.lineOf("sched: " + err.Error()))
			f.ended = true
		}
		if err != nil || n == 0 {
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
	f.printLines(f.Rest(), print)
	f.printRest(print)
	f.Close()
}

func (f *followedFile) printRest(print func(outputLine)) {
	if len(f.line) > 0 {
		print(f.lineOf(string(f.line)))
		f.line = f.line[:0]
	}
}

func (f *followedFile) lineOf(text string) outputLine {
	return outputLine{Task: f.task, Run: f.run, Stream: f.stream, Time: clock.Now().UTC(), Text: text}
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

// A Reader reads a file that grows, piece by piece, and masks the secrets in it. It opens the file
// when the file is not empty any more.
type Reader struct {
	path    string
	secrets func() (*mask.Set, error) // of the run
	stream  *mask.Stream
	file    *os.File // nil while the file is empty
	at      int64    // the offset of the next bytes
}

// Open opens the file at its last lines, or at its beginning if lines is 0.
func (r *Reader) Open(lines int) error {
	if _, err := os.Stat(r.path); err != nil {
		return err
	}
	// The secrets come first: if the run ends meanwhile, the file is masked.
	secrets, err := r.secrets()
	if err != nil {
		return err
	}
	if r.file, err = statedir.OpenPlain(r.path, os.O_RDONLY); err == nil {
		r.at, r.stream = lastLines(r.file, lines), secrets.Stream()
	}
	return err
}

// read reads the next bytes into the buffer, and reports how many there were. It returns them
// masked, without an end that may begin a secret. cut is how many bytes before them are not there
// any more, because the output is larger than its limit.
func (r *Reader) read(buffer []byte) (text []byte, n int, cut int64, err error) {
	if r.file == nil {
		if info, err := os.Stat(r.path); errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0 {
			return nil, 0, 0, nil
		}
		err := r.Open(0)
		if errors.Is(err, redact.ErrEarly) { // the row comes after the file
			return nil, 0, 0, nil
		}
		if err != nil {
			return nil, 0, 0, err
		}
	}
	info, err := r.file.Stat()
	if err != nil || r.at >= info.Size() {
		return nil, 0, 0, err
	}
	from, to := statedir.NextData(r.file, r.at, info.Size())
	if from >= to { // a hole: what comes behind it is not here yet
		return nil, 0, 0, nil
	}
	n, err = r.file.ReadAt(buffer[:min(int64(len(buffer)), to-from)], from)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	cut, r.at = from-r.at, from+int64(n)
	if cut > 0 {
		r.Rest()
	}
	return r.stream.Append(nil, buffer[:n]), n, cut, err
}

// Rest returns what was kept back, when nothing more comes.
func (r *Reader) Rest() []byte {
	if r.stream == nil {
		return nil
	}
	return r.stream.End(nil)
}

// CopyTo writes the next bytes, and reports how many there were.
func (r *Reader) CopyTo(w io.Writer, buffer []byte) (n int, err error) {
	text, n, cut, err := r.read(buffer)
	if err == nil && cut > 0 {
		_, err = fmt.Fprintf(w, "\n%s\n", cutText(cut))
	}
	if err == nil && len(text) > 0 {
		_, err = w.Write(text)
	}
	return n, err
}

// Close closes the file, if it is open.
func (r *Reader) Close() {
	if r.file != nil {
		r.file.Close()
	}
}

// NewReader returns a reader of the file, which may not be there yet. It asks for the secrets of
// the run before it opens the file.
func NewReader(path string, secrets func() (*mask.Set, error)) *Reader {
	return &Reader{path: path, secrets: secrets}
}

// cutText says how much of an output is not there any more.
func cutText(cut int64) string {
	return fmt.Sprintf("sched: %s are cut here: output.limit", humanize.Bytes(cut))
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
			isLast := end+int64(i) == info.Size()-1 // this ends the last line, which may have no end
			if piece[i] != '\n' || isLast {
				continue
			}
			lines--
			if lines == 0 {
				return end + int64(i) + 1
			}
		}
	}
	return 0
}
