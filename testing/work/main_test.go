// Package work_test has the tests of `sched work`, of clocks, and of seconds within a minute.
package work_test

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
