package witness

import "testing"

func TestWhoCallsItselfAWitnessIsNone(t *testing.T) {
	for _, args := range [][]string{
		{"sched"}, {"sched", "witness"}, {"sched", "list", "id"}, {"sched", "witness", "id", "0"},
		{"sched", "witness", "id"}, // descriptors 3 and 4 are not those of a tick
	} {
		if _, ok := called(args); ok {
			t.Errorf("%q was taken for a witness", args)
		}
	}
}
