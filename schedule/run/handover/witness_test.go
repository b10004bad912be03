package handover

import "testing"

func TestWhoCallsItselfAWitnessIsNone(t *testing.T) {
	for _, args := range [][]string{
		{}, {"witness"}, {"list", "id"}, {"witness", "id", "0"},
		{"witness", "id"}, // descriptors 3 and 4 do not come from a tick
	} {
		if IsWitness(args) {
			t.Errorf("%q was taken for a witness", args)
		}
	}
}
