package follow

import (
	"errors"
	"fmt"
	"io"
	"os"

	"sched/schedule/humanize"
	"sched/schedule/statedir"
)

// An Reader reads a file that grows, piece by piece. It opens the file when the file is not
// empty any more.
type Reader struct {
	path string
	file *os.File // nil while the file is empty
	at   int64    // the offset of the next bytes
}

// Open opens the file at its last lines, or at its beginning if lines is 0.
func (r *Reader) Open(lines int) (err error) {
	if r.file, err = statedir.OpenPlain(r.path, os.O_RDONLY); err == nil {
		r.at = lastLines(r.file, lines)
	}
	return err
}

// read reads the next bytes into the buffer and returns them. cut is how many bytes before them are
// not there any more, because the output is larger than its limit.
func (r *Reader) read(buffer []byte) (text []byte, cut int64, err error) {
	if r.file == nil {
		if info, err := os.Stat(r.path); errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0 {
			return nil, 0, nil
		}
		if r.file, err = statedir.OpenPlain(r.path, os.O_RDONLY); err != nil {
			return nil, 0, err
		}
	}
	info, err := r.file.Stat()
	if err != nil || r.at >= info.Size() {
		return nil, 0, err
	}
	from, to := statedir.NextData(r.file, r.at, info.Size())
	if from >= to { // a hole: what comes behind it is not here yet
		return nil, 0, nil
	}
	n, err := r.file.ReadAt(buffer[:min(int64(len(buffer)), to-from)], from)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	cut, r.at = from-r.at, from+int64(n)
	return buffer[:n], cut, err
}

// CopyTo writes the next bytes, and reports how many there were.
func (r *Reader) CopyTo(w io.Writer, buffer []byte) (n int, err error) {
	text, cut, err := r.read(buffer)
	if err == nil && cut > 0 {
		_, err = fmt.Fprintf(w, "\n%s\n", cutText(cut))
	}
	if err == nil && len(text) > 0 {
		_, err = w.Write(text)
	}
	return len(text), err
}

func (r *Reader) Close() {
	if r.file != nil {
		r.file.Close()
	}
}

func NewReader(path string) *Reader { return &Reader{path: path} }

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
