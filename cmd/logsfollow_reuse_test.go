package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sched/schedule"
	"sched/schedule/history"
	"sched/schedule/outcome"
)

// The file of a run that printed nothing is used again at once, maybe before logs -f has noticed the end:
// what it then finds in the file is of somebody else.
func TestFollowPrintsNothingOfAnotherRun(t *testing.T) {
	dir := t.TempDir()
	begun := outcome.Record{Run: outcome.NewID(), Task: "mute", Mutex: "mute", Output: filepath.Join(dir, "mute.log"), Slot: time.Unix(0, 0)}
	if err := os.WriteFile(begun.Output, []byte("the next run says this"), 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := history.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	ended := begun
	ended.Output, ended.Outcome = "", outcome.Succeeded
	if err := db.Add(ctx, []outcome.Record{ended}); err != nil || db.Close() != nil {
		t.Fatal(err)
	}
	var out, errs strings.Builder
	a := &app{}
	a.out, a.err = &out, &errs
	record, err := a.follow(&schedule.Schedule{StateDir: dir}, begun)
	if err != nil || record.Outcome != outcome.Succeeded || out.String() != "" {
		t.Errorf("got %q, %v, %v", &out, record.Outcome, err)
	}
}
