package output

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"sched/schedule/outcome"
	"sched/schedule/runfile"
)

func TestSweepRemovesWhatIsOldAndOfNoRun(t *testing.T) {
	now := time.Now()
	old, young := now.Add(-48*time.Hour), now.Add(-time.Hour)
	for _, test := range []struct {
		what     string
		begun    time.Time
		recorded bool
		hasFile  bool
		stays    bool
	}{
		{"of a run that nobody knows", old, false, false, false},
		{"of a run in the history", old, true, false, true},
		{"of a run that has a file yet, and is in the history next", old, false, true, true},
		{"of a run that may be about to begin", young, false, false, true},
	} {
		t.Run(test.what, func(t *testing.T) {
			dir := t.TempDir()
			r := outcome.Record{Run: outcome.NewIDAt(test.begun), Task: "shop/orders"}
			output := Path(dir, r)
			for _, path := range []string{output, HooksPath(output)} {
				file, err := Append(path)
				if err != nil {
					t.Fatal(err)
				}
				file.Close()
			}
			if test.hasFile {
				os.Mkdir(filepath.Dir(runfile.Path(dir, r.Run)), 0o700)
				file, err := runfile.Create(dir, r)
				if err != nil {
					t.Fatal(err)
				}
				defer file.Close()
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
