//go:build !linux && !darwin

package boot

import "time"

func id() string { return "" }

func elapsed() (time.Duration, bool) { return 0, false }
