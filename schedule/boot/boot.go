// Package boot tells the boots of this machine apart, and how long ago the last one was.
//
// A container shares the kernel of its host, and with it the boot: that a container was started is no boot.
package boot

import (
	"sync"
	"time"
)

// ID names this boot of the machine: no other boot has that name. It is empty where the system does not tell boots apart.
var ID = sync.OnceValue(id)

// Elapsed returns how long ago the machine booted, the time included in which it slept: setting the clock does not change it. It is
// not ok where the system does not say.
//
// The binary that the tests build has a machine that booted when they say (cmd/testclock.go). Only that file may set ID and Elapsed.
var Elapsed func() (since time.Duration, ok bool) = elapsed
