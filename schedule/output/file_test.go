package output

import (
	"os"
	"path/filepath"
	"testing"
)

// On a full disk the mode of the file alone can be changed. It never lets others read the output.
func TestTheModeCountsAttemptsThatCouldNotBeWrittenDown(t *testing.T) {
	file, err := os.OpenFile(filepath.Join(t.TempDir(), "run.log"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, attempts := range []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 0} {
		MarkUnwritten(file, attempts)
		info, err := file.Stat()
		if err != nil || info.Mode()&0o666 != 0o600 {
			t.Errorf("after %d it may be used by others: %v, %v", attempts, info.Mode(), err)
		}
		if n := Unwritten(file.Name()); n != min(attempts, 7) {
			t.Errorf("after %d it counts %d", attempts, n)
		}
	}
}
