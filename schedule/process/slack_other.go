//go:build !linux

package process

// withSlack calls fork.
func withSlack(_ bool, fork func() error) error { return fork() }
