package terminal

import "testing"

func TestCut(t *testing.T) {
	for _, row := range []struct {
		text string
		n    int
		want string
	}{
		// what fits stays as it is
		{"report.sh", 9, "report.sh"},
		{"", 0, ""},
		// the sign that something is missing has its place, too
		{"report.sh", 8, "report.…"},
		{"report.sh", 1, "…"},
		{"report.sh", 0, ""},
		{"report.sh", -3, ""},
		// characters that take two columns, and none that is cut in half
		{"日本語", 6, "日本語"},
		{"日本語", 5, "日本…"},
		{"日本語", 4, "日…"},
		// what looks like one character is one: a letter with its accent, a family, a flag
		{"cafe\u0301s", 5, "cafe\u0301s"},
		{"cafe\u0301s!", 5, "cafe\u0301…"},
		{"👩‍👩‍👧 us", 3, "👩‍👩‍👧…"},
		{"🇩🇪🇫🇷", 4, "🇩🇪🇫🇷"},
		{"🇩🇪🇫🇷", 3, "🇩🇪…"},
		// colours take no place, and end
		{"\x1b[32mgood\x1b[0m", 4, "\x1b[32mgood\x1b[0m"},
		{"\x1b[32mgood\x1b[0m", 3, "\x1b[32mgo…\x1b[0m"},
	} {
		if got := (Stream{utf8: true}).Cut(row.text, row.n); got != row.want {
			t.Errorf("%q cut to %d is %q, not %q", row.text, row.n, got, row.want)
		}
	}
	for n, want := range []string{"", ".", "..", "...", "r...", "re..."} {
		if got := (Stream{}).Cut("report.sh", n); got != want {
			t.Errorf("cut to %d without UTF-8: %q, not %q", n, got, want)
		}
	}
}

func TestPad(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"ab", "ab  "},
		{"日", "日  "},
		{"\x1b[32mab\x1b[0m", "\x1b[32mab\x1b[0m  "},
		{"abcde", "abcde"},
		{"", "    "},
	} {
		if got := Pad(row.text, 4); got != row.want {
			t.Errorf("%q in 4 columns is %q, not %q", row.text, got, row.want)
		}
	}
}
