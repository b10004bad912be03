package boot

import (
	"time"

	"golang.org/x/sys/unix"
)

func id() string {
	uuid, _ := unix.Sysctl("kern.bootsessionuuid")
	return uuid
}

// elapsed is not known: what the kernel says of its boot moves with the clock.
func elapsed() (time.Duration, bool) { return 0, false }
