//go:build !linux

package runner

// maxrssUnit is the unit of ru_maxrss (getrusage(2) on darwin), in bytes.
const maxrssUnit = 1
