package clock

import (
	"sync"
	"time"
)

// BootID names this boot of the machine: no other boot has that name. It is empty where the system
// does not tell boots apart. A container shares the kernel of its host, and with it the boot.
var BootID = sync.OnceValue(bootID)

// SinceBoot returns how long ago the machine booted, the time included in which it slept: setting
// the clock does not change it. It is not ok where the system does not say.
//
// The binary that the tests build has a machine that booted when they say (cmd/testclock.go). Only
// that file may set BootID and SinceBoot.
var SinceBoot func() (since time.Duration, ok bool) = sinceBoot
