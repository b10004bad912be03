//go:build !linux

package process

import "time"

// KeepsOrphans says that no process of this system can become the parent of what its descendants leave behind.
const KeepsOrphans = false

// KeepOrphans does nothing.
func KeepOrphans() {}

// Adopt finds no process.
func Adopt(int) (*Process, bool) { return nil, false }

// OrphanOf finds none.
func OrphanOf(string, int) (group int) { return 0 }

// Age is not known.
func Age(int) time.Duration { return 0 }
