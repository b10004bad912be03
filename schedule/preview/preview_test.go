package preview

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sched/schedule"
	"sched/schedule/run/holding"
	"sched/schedule/tick"
)

// A dry run once said "would run" of a task whose mutex was held, because it could not read who
// holds it, and did not say so.
func TestADryRunReportsThatItCannotReadWhoHoldsAMutex(t *testing.T) {
	dir := t.TempDir()
	damaged := []byte(strings.Repeat("no database", 100))
	if err := os.WriteFile(filepath.Join(dir, "sched.db"), damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	var said []string
	Of(&tick.Tick{
		Schedule: &schedule.Schedule{},
		Storage:  holding.StorageAt(dir, nil),
		Report:   tick.Report{Problem: func(format string, a ...any) { said = append(said, fmt.Sprintf(format, a...)) }},
	})
	if reported := strings.Join(said, "\n"); !strings.HasPrefix(reported, "which runs hold a mutex is not known: ") {
		t.Errorf("it reports %q", reported)
	}
}
