// Package kills_test has the tests in which processes are killed, stopped, or cut off from a disk
// or a pipe, on one machine.
package kills_test

import (
	"testing"

	"sched/testing/schedtest"
)

func TestMain(m *testing.M) { schedtest.Main(m) }

// A box is a folder with a schedule: see schedtest.Box.
type box struct{ *schedtest.Box }

func newBox(t *testing.T, schedule string) *box {
	t.Helper()
	return &box{schedtest.NewBox(t, schedule)}
}
