package witness

import "testing"

func TestWhoCallsItselfAWitnessIsNone(t *testing.T) {
	for _, args := range [][]string{
		{"sched"}, {"sched", "witness"}, {"sched", "witness", "id"}, {"sched", "list", "id", "0"},
		{"sched", "witness", "id", "0"}, // descriptors 3 and 4 are not those of a tick
	} {
		if _, _, ok := called(args); ok {
			t.Errorf("%q was taken for a witness", args)
		}
	}
}

// A tick may ask for more than the limit that its user has.
func TestThereIsRoomForAsManyDescriptorsAsAProcessMayHave(t *testing.T) {
	few, many := len(room(0)), len(room(1<<30))
	if few != 5 || many <= few || many > 1<<20 {
		t.Errorf("there is room for %d and %d", few, many)
	}
}
