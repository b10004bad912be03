package importcmd

import (
	"bytes"
	"strings"
	"testing"

	"sched/cmd/app"
)

func TestAForeignFileThatIsTooLargeIsNotCut(t *testing.T) {
	line := []byte("0 1 * * * a\n")
	for _, test := range []struct {
		bytes int
		want  string // of the error
	}{
		{maxForeign, ""}, {maxForeign + 1, "stdin is larger than 16 MiB"},
	} {
		a := new(app.App)
		in := bytes.Repeat(line, test.bytes/len(line)+1)[:test.bytes]
		a.In = bytes.NewReader(in)
		_, text, err := readForeign(a, "-")
		if test.want == "" && (err != nil || len(text) != test.bytes) || test.want != "" &&
			(err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("of %d bytes it reads %d: %v", test.bytes, len(text), err)
		}
	}
}
