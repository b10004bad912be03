package envfile

import (
	"os"
	"strings"
	"testing"
	"time"
)

// A file of the kernel may say that it is a regular one, and have more to say later.
func TestAFileThatDoesNotEndIsNotWaitedFor(t *testing.T) {
	const path = "/proc/kmsg"
	file, err := os.Open(path)
	if err != nil {
		t.Skip(err) // another system, or not root
	}
	file.Close()
	done := make(chan error, 1)
	go func() {
		_, err := Read([]string{path}, shop)
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil || !strings.HasPrefix(err.Error(), "env_file /proc/kmsg: it does not end") {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("it hangs")
	}
}
