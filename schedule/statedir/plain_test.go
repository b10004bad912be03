package statedir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Something that is no plain file is refused at once, however it is opened: to open a named pipe
// may take for ever.
func TestOnlyPlainFilesAreOpened(t *testing.T) {
	dir := t.TempDir()
	pipe, link, folder, null := filepath.Join(dir, "pipe"), filepath.Join(dir, "link"), filepath.Join(dir, "folder"),
		filepath.Join(dir, "null")
	if err := errors.Join(unix.Mkfifo(pipe, 0o600), os.Symlink(pipe, link), os.Mkdir(folder, 0o700),
		os.Symlink(os.DevNull, null)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{pipe: "a named pipe", link: "a named pipe", folder: "a folder",
		null: "a device"} {
		for _, flags := range []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_RDWR | os.O_CREATE | os.O_APPEND} {
			done := make(chan error, 1)
			go func() {
				_, err := OpenPlain(path, flags)
				done <- err
			}()
			select {
			case err := <-done:
				var wrong *NotPlainError
				if !errors.As(err, &wrong) || wrong.Kind != want ||
					!strings.HasSuffix(err.Error(), want+", not a file; remove it") {
					t.Errorf("%s with flags %x: %v", path, flags, err)
				}
			case <-time.After(10 * time.Second):
				t.Fatalf("%s with flags %x: it waits", path, flags)
			}
		}
	}
	if _, err := OpenPlain(filepath.Join(dir, "none"), os.O_RDONLY); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func TestAFileOfGigabytesIsNotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large")
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 8<<30)); err != nil {
		t.Skip(err) // the file system has no holes
	}
	if _, err := ReadFile(path); err == nil || err.Error() != path+" is larger than 64 MiB" {
		t.Errorf("%v", err)
	}
}

// Something in the place of a draft does not keep the file from being replaced.
func TestAPipeInThePlaceOfADraft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := unix.Mkfifo(path+".new", 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Replace(path, []byte("new")); err != nil {
		t.Error(err)
	}
	if text, err := ReadFile(path); string(text) != "new" {
		t.Errorf("%q, %v", text, err)
	}
}
