package redact

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"sched/schedule/humanize"
	"sched/schedule/mask"
	"sched/schedule/statedir"
)

const (
	// nearCut is how near to the place of a cut the end of a line must be to be cut at.
	nearCut = 4096
	// maxCutLine is more bytes than the line has that says what was cut.
	maxCutLine = 256
)

// Unmasked names the file with the output that could not be masked, beside it.
func Unmasked(path string) string { return strings.TrimSuffix(path, ".log") + ".unmasked" }

// withhold moves an output away that cannot be masked, and returns the note about it. A rename
// needs no space, so it also works on a full disk.
func withhold(path string, why error) (note string) {
	note = "the output is not shown, because it cannot be masked: " + why.Error()
	if _, err := os.Lstat(Unmasked(path)); err == nil { // a finish that was killed has done so
		return note
	}
	if err := os.Rename(path, Unmasked(path)); err != nil {
		os.Remove(path)
		return note
	}
	if file, err := statedir.Open(path, os.O_WRONLY|os.O_CREATE); err == nil {
		fmt.Fprintf(file, "sched: %s; it is in %s\n", note, Unmasked(path))
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
		head, tail, isInLine = parts(file, size, (limit-maxCutLine)/2)
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

// parts returns where the first part of the file ends, and where the last begins: at the ends of
// lines or, if no line ends near it, between two characters of UTF-8. isInLine says that the first
// part ends within a line.
func parts(file io.ReaderAt, size, half int64) (head, tail int64, isInLine bool) {
	near := make([]byte, min(nearCut, half))
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
