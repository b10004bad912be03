// Package cluster_test has the tests of several servers that share a store.
package cluster_test

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
