package audit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sched/schedule/outcome"
)

func TestTheLogDoesNotGrowForEver(t *testing.T) {
	l := Log{Dir: t.TempDir()}
	long := strings.Repeat("x", full/8)
	for range 8 * (files + 2) {
		if err := l.Append(Change{ID: outcome.NewID(), Reason: long}); err != nil {
			t.Fatal(err)
		}
	}
	kept, _ := filepath.Glob(filepath.Join(l.Dir, "audit*.jsonl"))
	changes, more, err := l.Read("", 1000)
	if len(kept) != files+1 || err != nil || more || len(changes) < 8*files {
		t.Errorf("%v, %d changes, %v", kept, len(changes), err)
	}
}

// A line that a kill has torn hides none of the others.
func TestALineThatIsTorn(t *testing.T) {
	l := Log{Dir: t.TempDir()}
	first := Change{ID: outcome.NewID(), Action: "pause", Reason: "deploy"}
	if err := l.Append(first); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(l.path(0), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	file.WriteString(`{"id":"half`)
	file.Close()
	second := Change{ID: outcome.NewID(), Action: "resume"}
	if err := l.Append(second); err != nil {
		t.Fatal(err)
	}
	changes, _, err := l.Read("", 10)
	if err != nil || len(changes) != 2 || changes[0] != second || changes[1] != first {
		t.Errorf("%v, %v", changes, err)
	}
}
