//go:build !linux

package cmd

// reserveHeap does nothing here.
func reserveHeap(string) {}
