//go:build !linux

package process

import "os"

// Self is the program that runs here.
func Self() string {
	path, err := os.Executable()
	if err != nil {
		return "sched" // which is not found, and the run says so
	}
	return path
}
