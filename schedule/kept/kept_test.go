package kept

import (
	"os"
	"testing"
	"time"
)

func TestASlotIsKeptUntilItIsForgotten(t *testing.T) {
	dir, noon := t.TempDir(), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	if all, err := List(dir); len(all) != 0 || err != nil {
		t.Errorf("at first: %v, %v", all, err)
	}
	late := Slot{Task: "a/b", At: noon.Add(time.Minute).In(time.FixedZone("", 3600)), Run: "2", Why: "down"}
	for _, s := range []Slot{late, {Task: "a/b", At: noon, Run: "1"}} {
		if err := Keep(dir, s); err != nil {
			t.Errorf("%v: %v", s, err)
		}
	}
	all, err := List(dir)
	if err != nil || len(all) != 2 || all[0].Run != "1" || all[1].Run != "2" || all[1].Why != "down" {
		t.Errorf("%v, %v", all, err)
	}
	os.WriteFile(path(dir, "torn", noon), []byte("{"), 0o600)
	Forget(dir, "a/b", noon)
	if all, err = List(dir); err == nil || len(all) != 1 || !all[0].At.Equal(noon.Add(time.Minute)) {
		t.Errorf("%v, %v", all, err)
	}
}
