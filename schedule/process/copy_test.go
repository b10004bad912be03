package process

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sched/schedule"
)

func pipe(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestACopyToAPipeWithoutAReaderEndsWithItsContext(t *testing.T) {
	for _, row := range []struct {
		about  string
		before func(path string)
	}{
		{"no reader ever", func(string) {}},
		{"a reader that reads nothing", func(path string) {
			reader, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { reader.Close() })
		}},
	} {
		path, over := pipe(t), errors.New("over")
		row.before(path)
		ctx, cancel := context.WithTimeoutCause(context.Background(), 100*time.Millisecond, over)
		defer cancel()
		began := time.Now()
		err := CopyTo(ctx, schedule.Output{File: path}, strings.NewReader(strings.Repeat("x", 1<<20)))
		if err != over || time.Since(began) > 10*time.Second {
			t.Errorf("%s: %v after %s", row.about, err, time.Since(began))
		}
	}
}

func TestACopyToAPipeWaitsForItsReader(t *testing.T) {
	path, text := pipe(t), strings.Repeat("all of it\n", 100_000)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	read := make(chan string)
	go func() {
		got, _ := os.ReadFile(path) // whichever of both comes first
		read <- string(got)
	}()
	if err := CopyTo(ctx, schedule.Output{File: path, Append: true}, strings.NewReader(text)); err != nil {
		t.Error(err)
	}
	if got := <-read; got != text {
		t.Errorf("the reader got %d bytes, not %d", len(got), len(text))
	}
}

func TestACopyToASocketIsRefusedAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	if err := CopyTo(context.Background(), schedule.Output{File: path}, strings.NewReader("x")); !errors.Is(err, syscall.ENXIO) && !errors.Is(err, syscall.EOPNOTSUPP) {
		t.Error(err)
	}
}
