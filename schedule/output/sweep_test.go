package output

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/state"
)

func TestSweepRemovesWhatIsOldAndOfNoRun(t *testing.T) {
	now := time.Now()
	old, young := now.Add(-48*time.Hour), now.Add(-time.Hour)
	for _, test := range []struct {
		what     string
		begun    time.Time
		recorded bool
		stays    bool
	}{
		{"of a run that nobody knows", old, false, false},
		{"of a run in the history", old, true, true},
		{"of a run that may be about to begin", young, false, true},
	} {
		t.Run(test.what, func(t *testing.T) {
			dir := t.TempDir()
			r := state.Row{ID: outcome.NewIDAt(test.begun), Task: "shop/orders"}
			output := Path(dir, r)
			for _, path := range []string{output, HooksPath(output)} {
				file, err := Append(path)
				if err != nil {
					t.Fatal(err)
				}
				file.Close()
			}
			err := Sweep(dir, now.Add(-24*time.Hour), time.Minute, func(runs []string) ([]string, error) {
				return slices.DeleteFunc(runs, func(string) bool { return test.recorded }), nil
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{output, HooksPath(output)} {
				if _, err := os.Stat(path); (err == nil) != test.stays {
					t.Errorf("%s: it stayed: %v, want %v", filepath.Base(path), err == nil, test.stays)
				}
			}
		})
	}
}
