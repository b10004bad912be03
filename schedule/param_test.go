package schedule

import (
	"strings"
	"testing"
)

// A value is one line of a bounded length, and its pattern matches all of it, whatever the pattern
// begins and leaves open.
func TestAParamRefusesWhatItDoesNotAllow(t *testing.T) {
	for _, tt := range []struct {
		pattern, value string
		good           bool
	}{
		{"", "", true},
		{"", "a b 'c' $(d) ü", true},
		{"", strings.Repeat("x", 1000), true},
		{"", strings.Repeat("x", 1001), false},
		{"", "a\nb", false},
		{"", "a\x00b", false},
		{"", "a\x1b[2Jb", false},
		{"", "a\xffb", false},
		{`\d+`, "12", true},
		{`\d+`, "", false},
		{`\d+`, "12; reboot", false},
		{`\d+`, "x12", false},
		{`a|ab`, "ab", true},
		{`a|b`, "ab", false},
		{`^a$`, "a", true},
		{`(?m)^a$`, "a\nreboot", false},
		{`\d*?`, "12", true},
		{`(\d{4})?`, "", true},
		{`\Qa.b`, "a.b", true},
		{`\Qa.b`, "a.b)", false},
		{strings.Repeat("(", 999) + "a" + strings.Repeat(")", 999), "a", true},
	} {
		if problem := (Param{Pattern: tt.pattern}).Refuses(tt.value); (problem == "") != tt.good {
			t.Errorf("%.20q and %.20q: %q", tt.pattern, tt.value, problem)
		}
	}
	if problem := (Param{Values: []string{"a", ""}}).Refuses(""); problem != "" {
		t.Error(problem)
	}
}

func TestWhatSomebodySetIsSaidInOneLine(t *testing.T) {
	values := map[string]string{"B": "two words", "A": "x", "C": "", "D": strings.Repeat("x", 100)}
	want := "trigger by ann with A=x, B=\"two words\", C=\"\", D=" + strings.Repeat("x", 60) + "…"
	if got := WithValues("trigger by ann", values); got != want {
		t.Errorf("%s", got)
	}
	if got := WithValues("trigger by ann", nil); got != "trigger by ann" {
		t.Errorf("%s", got)
	}
}
