//go:build !linux

package schedtest

import (
	"os/exec"

	"github.com/rogpeppe/go-internal/testscript"
)

// onTerminal is for Linux; scripts that use it are skipped elsewhere.
func onTerminal(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Fatalf("there is no terminal to test with")
}

// ScreenOf is for Linux, too.
func ScreenOf(ts *testscript.TestScript, _ *exec.Cmd, _ int) string {
	ts.Fatalf("there is no terminal to test with")
	return ""
}
