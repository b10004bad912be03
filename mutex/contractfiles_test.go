package mutex_test

import (
	"path/filepath"
	"testing"

	"sched/mutex"
	"sched/mutex/storetest"
)

func TestFilesKeepTheContractOfLocks(t *testing.T) {
	storetest.Locks(t, func(t *testing.T) func() mutex.Locks {
		dir := filepath.Join(t.TempDir(), "locks")
		return func() mutex.Locks { return mutex.Files{Dir: dir} }
	})
}
