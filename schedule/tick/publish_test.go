package tick

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sched/schedule/run/holding"
)

func TestWhatStaysWrongIsSaidOnceAnHour(t *testing.T) {
	said := ""
	tick := &Tick{Storage: holding.StorageAt(filepath.Join(t.TempDir(), "new"), nil)}
	tick.Report.Problem = func(format string, a ...any) { said = fmt.Sprintf(format, a...) }
	expect := func(when string, want bool) {
		t.Helper()
		said = ""
		if tick.Report.Hourly(tick.Storage.Dir, "clock", "off by %s", time.Minute); (said == "off by 1m0s") != want {
			t.Errorf("%s: %q", when, said)
		}
	}
	setBack := func(ago time.Duration) {
		t.Helper()
		at := time.Now().Add(-ago)
		if err := os.Chtimes(filepath.Join(tick.Storage.Dir, "told-clock"), at, at); err != nil {
			t.Fatal(err)
		}
	}
	expect("at first", true)
	expect("at once again", false)
	setBack(59 * time.Minute)
	expect("within the hour", false)
	setBack(61 * time.Minute)
	expect("after an hour", true)
	expect("at once again after that", false)
	setBack(-61 * time.Minute)
	expect("after the clock was set back", true)
	if tick.Report.Hourly(tick.Storage.Dir, "publish", "it is not published"); said != "it is not published" {
		t.Error("another matter counts apart")
	}
}
