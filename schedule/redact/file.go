package redact

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"

	"sched/schedule/humanize"
	"sched/schedule/mask"
	"sched/schedule/output"
	"sched/schedule/statedir"
)

// withhold moves an output away that cannot be masked, and returns the note about it. A rename
// needs no space, so it also works on a full disk.
func withhold(path string, why error) (note string) {
	note = "the output is not shown, because it cannot be masked: " + why.Error()
	if _, err := os.Lstat(output.UnmaskedPath(path)); err == nil { // a finish that was killed has done so
		return note
	}
	if err := os.Rename(path, output.UnmaskedPath(path)); err != nil {
		os.Remove(path)
		return note
	}
	if file, err := statedir.Open(path, os.O_WRONLY|os.O_CREATE); err == nil {
		fmt.Fprintf(file, "sched: %s; it is in %s\n", note, output.UnmaskedPath(path))
		file.Close()
	}
	return note
}

// Cut is Source.Keep for known values. The limit 0 does not limit.
func Cut(path string, limit int64, secrets *mask.Set) (note string, err error) {
	file, err := statedir.OpenPlain(path, os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	size := info.Size()
	head, tail, line := size, size, ""
	if limit > 0 && size > limit {
		isInLine := false
		head, tail, isInLine = output.Parts(file, size, limit)
		cut := humanize.Bytes(tail - head)
		line = fmt.Sprintf("sched: %s are cut here: output.limit is %s\n", cut, humanize.Bytes(limit))
		if isInLine {
			line = "\n" + line
		}
		note = fmt.Sprintf("%s of the output were cut (output.limit: %s)", cut, humanize.Bytes(limit))
	} else if found, err := has(secrets, file, size); !found {
		return "", err
	}
	draft := path + ".cut"
	if err := writeParts(draft, info.Mode(), file, head, line, tail, size, secrets); err != nil {
		os.Remove(draft)
		return "", err
	}
	if err := os.Rename(draft, path); err != nil || secrets == nil {
		return note, err
	}
	again, err := Cut(path, limit, nil) // ••• may be longer than a value
	return cmp.Or(note, again), err
}

// writeParts writes what is left of a file into another one, with the mode of the file.
func writeParts(
	path string, mode os.FileMode, file *os.File, head int64, line string, tail, size int64, secrets *mask.Set,
) error {
	to, err := statedir.OpenPlain(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	masked := NewWriter(to, secrets)
	_, err = masked.ReadFrom(io.NewSectionReader(file, 0, head))
	if err == nil {
		err = masked.End()
	}
	if err == nil {
		_, err = io.WriteString(to, line)
	}
	if err == nil {
		_, err = masked.ReadFrom(io.NewSectionReader(file, tail, size-tail))
	}
	return errors.Join(err, masked.End(), to.Chmod(mode.Perm()), to.Close())
}

// has reports whether there are values in a file.
func has(secrets *mask.Set, file io.ReaderAt, size int64) (bool, error) {
	if secrets == nil {
		return false, nil
	}
	stream, buffer := secrets.Stream(), make([]byte, min(size, bufferSize))
	for at := int64(0); at < size && !stream.Found(); {
		n, err := file.ReadAt(buffer[:min(int64(len(buffer)), size-at)], at)
		if err != nil && n == 0 {
			return false, err
		}
		stream.Skip(buffer[:n])
		at += int64(n)
	}
	return stream.Found() || stream.Ends(), nil
}

// bufferSize is how much is masked at a time: it fits into the cache of a processor.
const bufferSize = 128 << 10

// A Writer masks what is written to it.
type Writer struct {
	to     io.Writer
	stream *mask.Stream // nil: nothing is masked
	masked []byte
}

// NewWriter returns a writer that masks the values, or nothing for nil.
func NewWriter(to io.Writer, secrets *mask.Set) *Writer {
	w := &Writer{to: to}
	if secrets != nil {
		w.stream = secrets.Stream()
	}
	return w
}

// Write writes the text but for an end that may be the beginning of a value.
func (w *Writer) Write(text []byte) (int, error) {
	if w.stream == nil {
		return w.to.Write(text)
	}
	w.masked = w.stream.Append(w.masked[:0], text)
	_, err := w.to.Write(w.masked)
	return len(text), err
}

// ReadFrom writes what the reader has. Without values the kernel copies it.
func (w *Writer) ReadFrom(from io.Reader) (int64, error) {
	if w.stream == nil {
		return io.Copy(w.to, from)
	}
	return io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{from}, make([]byte, bufferSize))
}

// End writes what was kept back.
func (w *Writer) End() error {
	if w.stream == nil {
		return nil
	}
	w.masked = w.stream.End(w.masked[:0])
	_, err := w.to.Write(w.masked)
	return err
}
