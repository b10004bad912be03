package runner

import "time"

// Now is the clock of this process. It is time.Now, but in the binary that the tests build, which can
// be told to be wrong (cmd/testclock.go).
var Now = time.Now
