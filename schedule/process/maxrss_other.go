//go:build !linux

package process

// MaxrssUnit is the unit of ru_maxrss (getrusage(2) on darwin), in bytes.
const MaxrssUnit = 1
