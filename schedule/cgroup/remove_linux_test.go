package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A command may make cgroups below its own, as systemd and container engines do. They are removed
// with it, from the lowest on: the kernel removes none that has others below it.
func TestACgroupIsRemovedWithAllBelowIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sched-1") // to rmdir(2), a folder is like a cgroup without processes
	for _, below := range []string{"a/b/c", "d"} {
		if err := os.MkdirAll(filepath.Join(path, below), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	removeCgroup(path)
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
