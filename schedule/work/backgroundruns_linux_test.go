package work

import (
	"slices"
	"testing"
)

// A `sched finish` of a run that was being stopped got the signal for its supervisor, because at
// that moment it still had the supervisor's arguments. On a busy machine six of 144 ends of `sched
// work` left a run without its hooks.
func TestTheForkOfASupervisorIsNone(t *testing.T) {
	const work, witness, supervisor, fork, finish, takenOver, itsFork = 1, 2, 3, 4, 5, 6, 7
	parents := map[int]int{witness: work, supervisor: witness, fork: supervisor, finish: supervisor,
		takenOver: work, itsFork: takenOver}
	got := withoutForks([]backgroundRun{
		{fork, true}, {witness, false}, {supervisor, true}, {finish, false}, {takenOver, true}, {itsFork, true},
	}, parents)
	want := []backgroundRun{{fork, false}, {witness, false}, {supervisor, true}, {finish, false},
		{takenOver, true}, {itsFork, false}}
	if !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}
