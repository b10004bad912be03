package process

import (
	"sync"
	"time"
)

// started has the processes that this process has started, by their ids. It is locked during a
// fork, so that reapOrphans takes no process for an orphan.
var started = struct {
	sync.Mutex
	lives map[int]*life
}{lives: map[int]*life{}}

// A life says when a process lived: see sinceBoot.
type life struct {
	from, to time.Duration // to is 0 while it lives
	adopts   bool          // Program.Adopts
}
