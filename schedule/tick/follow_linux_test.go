package tick

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The limit of an output takes the middle out of a file while the command prints (a hole). `sched
// test` once showed it as a million zero bytes to a reader that was slower than the command.
func TestAFollowerLeavesOutWhatWasTakenOutOfTheOutput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "output")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for at, text := range map[int64]string{0: strings.Repeat("a", 4096), 1 << 20: "the end\n"} {
		if _, err := file.WriteAt([]byte(text), at); err != nil {
			t.Fatal(err)
		}
	}
	over := make(chan struct{})
	close(over)
	var shown strings.Builder
	follow(path, &shown, over)
	if want := strings.Repeat("a", 4096) + "the end\n"; shown.String() != want {
		t.Errorf("it shows %d bytes, not %d", shown.Len(), len(want))
	}
}
