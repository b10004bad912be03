package condition

import (
	"strings"
	"testing"
)

// A condition that prints without end fills no memory: what it printed last is all that is left.
func TestOnlyTheEndOfWhatAConditionPrintsIsKept(t *testing.T) {
	c, output, err := newCapture()
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		output.WriteString(strings.Repeat("x", 999) + "\n")
	}
	output.WriteString("gave up\n")
	output.Close()
	printed := c.end()
	if len(printed) != maxCaptured {
		t.Errorf("%d bytes are left, want %d", len(printed), maxCaptured)
	}
	if last := lastLine(printed); last != "gave up" {
		t.Errorf("the last line is %q", last)
	}
}

// A reason stands in tables and on terminals: it has one line, without control characters, and not
// too long.
func TestAReasonHasTheLastLineThatWasPrinted(t *testing.T) {
	for _, row := range []struct{ about, printed, ended, want string }{
		{"nothing printed", "", "", "when says no"},
		{"only blank lines", "\n \n", "exit code 1", "when says no: exit code 1"},
		{"several lines", "one\ntwo\n\n", "", "when says no: two"},
		{"a line and an exit code", "no space left\n", "exit code 3", "when says no: no space left (exit code 3)"},
		{"an escape sequence", "\x1b[31mred\n", "", "when says no: red"},
		{"no text at all", "\xff\xfe\n", "", "when says no: ?"},
		{"a long line", strings.Repeat("ä", 300), "", "when says no: " + strings.Repeat("ä", 200) + "…"},
	} {
		if got := withLastLine("when says no", []byte(row.printed), row.ended); got != row.want {
			t.Errorf("%s: %q, want %q", row.about, got, row.want)
		}
	}
}
