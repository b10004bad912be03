//go:build !linux

package runner

import "os"

// self is the program that runs here.
func self() string {
	path, err := os.Executable()
	if err != nil {
		return "sched" // which is not found, and the run says so
	}
	return path
}
