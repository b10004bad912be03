//go:build !linux

package cmd_test

import "github.com/rogpeppe/go-internal/testscript"

// onTerminal is for Linux; scripts that use it are skipped elsewhere.
func onTerminal(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Fatalf("there is no terminal to test with")
}
