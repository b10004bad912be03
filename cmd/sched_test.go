package cmd_test

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"sched/testing/schedtest"
)

func TestMain(m *testing.M) { schedtest.Main(m) }

// A box is a folder with a schedule: see schedtest.Box.
type box struct{ *schedtest.Box }

func newBox(t *testing.T, schedule string) *box {
	t.Helper()
	return &box{schedtest.NewBox(t, schedule)}
}

// TestScripts runs the scripts in testdata: each is a story that a user could type.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, schedtest.Scripts("testdata"))
}
