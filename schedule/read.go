package schedule

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// largestFile is far beyond what people write: 16 MiB are some 200,000 tasks.
const largestFile = 16 << 20

// read returns the file at path as the next source of the schedule, or nil and a problem.
func (l *loader) read(path string) *source {
	src := l.source(path, nil)
	data, problem, err := l.readFile(path)
	if problem != nil {
		problem.Place.File = src.shown
		l.problems = append(l.problems, *problem)
		if err != nil && l.cause == nil {
			l.cause = err
		}
		return nil
	}
	src.data = data
	return src
}

func (l *loader) readFile(path string) ([]byte, *Problem, error) {
	// Without O_NONBLOCK a named pipe would stop us here for ever.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, unreadable(path, err), err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, unreadable(path, err), err
	}
	if problem := l.refuse(path, info); problem != nil {
		return nil, problem, nil
	}
	data, err := io.ReadAll(io.LimitReader(f, largestFile+1))
	if err != nil {
		return nil, unreadable(path, err), err
	}
	if len(data) > largestFile {
		return nil, &Problem{Text: "the file is larger than 16 MiB"}, nil
	}
	return data, nil, nil
}

func unreadable(path string, err error) *Problem {
	if errors.Is(err, fs.ErrNotExist) {
		return &Problem{Text: "there is no file " + path}
	}
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return &Problem{Text: fmt.Sprintf("%s cannot be read: %v", path, err)}
}

// refuse returns why this is not a file to take commands from, or nil.
func (l *loader) refuse(path string, info fs.FileInfo) *Problem {
	if info.IsDir() {
		return &Problem{Text: path + " is a folder, not a file"}
	}
	if !info.Mode().IsRegular() {
		return &Problem{Text: path + " is not a regular file"}
	}
	if l.opts.UID != 0 {
		return nil
	}
	if info.Mode().Perm()&0o022 != 0 {
		return &Problem{
			Text: "others than its owner can write the file, and root would run what they write",
			Hint: "chmod go-w " + shellWord(path),
		}
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Uid != 0 {
		return &Problem{
			Text: fmt.Sprintf("the file belongs to another user (uid %d), and root would run what that user writes", stat.Uid),
			Hint: "chown root " + shellWord(path),
		}
	}
	return nil
}

// shellWord returns the path as one can type it.
func shellWord(path string) string {
	if !strings.ContainsAny(path, " \t\n'\"\\$`!*?[](){}<>|&;#~") {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// shown returns the path as messages show it: relative to the folder of the main file, or as it is
// when it is elsewhere.
func (l *loader) shown(path string) string {
	rel, err := filepath.Rel(l.dir, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return path
	}
	return rel
}

func digest(sources []*source) string {
	h := sha256.New()
	for _, src := range sources {
		fmt.Fprintf(h, "%q %d\n", src.shown, len(src.data))
		h.Write(src.data)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}
