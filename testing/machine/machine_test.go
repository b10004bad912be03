package machine

import (
	"sync/atomic"
	"testing"
	"time"
)

func TestOneTestAtATimeHasItsTurn(t *testing.T) {
	var having atomic.Int32
	for range 4 {
		t.Run("turn", func(t *testing.T) {
			t.Parallel()
			Turn(t)
			Turn(t) // has it
			if n := having.Add(1); n > 1 {
				t.Errorf("%d tests have their turn", n)
			}
			time.Sleep(10 * time.Millisecond)
			having.Add(-1)
		})
	}
}

func TestABoundIsNeverShorterThanItSays(t *testing.T) {
	if got := Within(time.Second); got < time.Second {
		t.Error(got)
	}
}
