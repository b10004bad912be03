//go:build !schedtrace

package process

// traceFork does nothing: see schedtrace.go.
func traceFork(Spec) {}
