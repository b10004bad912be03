package humanize

import (
	"slices"
	"strings"
	"testing"
)

func TestDifference(t *testing.T) {
	for _, test := range []struct {
		before, after string
		want          []string
	}{
		{"", "a\nb", []string{"+a", "+b"}},
		{"a\nb\nc", "a\nx\nc", []string{" a", "-b", "+x", " c"}},
		{"a\nb", "a\nb", []string{" a", " b"}},
		{"a", "a\na", []string{" a", "+a"}},
		{"a\nb\nc\nd", "b\nd\ne", []string{"-a", " b", "-c", " d", "+e"}},
	} {
		if got := Difference(test.before, test.after); !slices.Equal(got, test.want) {
			t.Errorf("%q and %q: %q", test.before, test.after, got)
		}
	}
}

// A line that matters does not hide among many.
func TestADifferenceOfManyLinesHasThemAll(t *testing.T) {
	many := strings.Repeat("#\n", 3000)
	got := Difference(many+"command: good\n"+many, many+"command: bad\n"+many)
	if !slices.Contains(got, "+command: bad") || !slices.Contains(got, "-command: good") || len(got) != 6002 {
		t.Errorf("%d lines", len(got))
	}
	got = Difference("a\n"+many+"b", "c\n"+strings.Repeat("%\n", 3000)+"command: bad")
	if !slices.Contains(got, "+command: bad") || !slices.Contains(got, "-b") {
		t.Errorf("%d lines", len(got))
	}
}
