package cmd

import (
	"strings"
	"testing"
	"time"
)

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
		if got := (screen{utf8: true}).cut(row.text, row.n); got != row.want {
			t.Errorf("%q cut to %d is %q, not %q", row.text, row.n, got, row.want)
		}
	}
	for n, want := range []string{"", ".", "..", "...", "r...", "re..."} {
		if got := (screen{}).cut("report.sh", n); got != want {
			t.Errorf("cut to %d without UTF-8: %q, not %q", n, got, want)
		}
	}
}

func TestPace(t *testing.T) {
	const s = time.Second
	for _, row := range []struct {
		now, usual time.Duration
		want       string
		bar        string
	}{
		// a task without a success
		{100 * time.Millisecond, 0, "0.1 s", ""},
		{75 * s, 0, "1 m 15 s", ""},
		// sooner than usual
		{12 * s, 40 * s, "12 s of usually 40 s", "######--------------"},
		{40 * s, 40 * s, "40 s of usually 40 s", "####################"},
		// longer
		{52 * s, 40 * s, "52 s, usually 40 s", "####################"},
	} {
		words, part := pace(row.now, row.usual)
		bar := ""
		if part >= 0 {
			bar = screen{}.bar(part)
		}
		if words != row.want || bar != row.bar {
			t.Errorf("%v of %v: %q %q, not %q %q", row.now, row.usual, words, bar, row.want, row.bar)
		}
	}
}

func TestLocale(t *testing.T) {
	for _, row := range []struct {
		all, ctype, lang string
		want             bool
	}{
		{"", "", "", false},
		{"", "", "C", false},
		{"", "", "en_US.UTF-8", true},
		{"", "", "de_DE.utf8@euro", true},
		{"", "UTF-8", "C", true},
		{"C", "UTF-8", "en_US.UTF-8", false},
		{"", "de_DE.ISO-8859-1", "en_US.UTF-8", false},
	} {
		t.Setenv("LC_ALL", row.all)
		t.Setenv("LC_CTYPE", row.ctype)
		t.Setenv("LANG", row.lang)
		if got := utf8Locale(); got != row.want {
			t.Errorf("%+v: %v", row, got)
		}
	}
}

func TestLayOut(t *testing.T) {
	rows := [][]string{{"NAME", "WHEN", "", "DOES"}, {"a", "* * * * *", "\x1b[2mnow\x1b[0m", "echo a long 日本"}, {"", "0 0 * * *", "", ""}}
	gives := []giving{{3, 6}, {2, 0}, {3, 0}, {1, 5}}
	for _, row := range []struct {
		limit int
		want  string
	}{
		// no limit
		{0, "NAME  WHEN            DOES|a     * * * * *  \x1b[2mnow\x1b[0m  echo a long 日本|      0 0 * * *"},
		{38, "NAME  WHEN            DOES|a     * * * * *  \x1b[2mnow\x1b[0m  echo a long 日本|      0 0 * * *"},
		// the last column becomes narrower, then the third goes, then the last
		{37, "NAME  WHEN            DOES|a     * * * * *  \x1b[2mnow\x1b[0m  echo a long 日…|      0 0 * * *"},
		{28, "NAME  WHEN            DOES|a     * * * * *  \x1b[2mnow\x1b[0m  echo …|      0 0 * * *"},
		{27, "NAME  WHEN       DOES|a     * * * * *  echo a lo…|      0 0 * * *"}, // and gives back what it had
		{23, "NAME  WHEN       DOES|a     * * * * *  echo …|      0 0 * * *"},
		{22, "NAME  WHEN|a     * * * * *|      0 0 * * *"},
		// then the second becomes narrower
		{13, "NAME  WHEN|a     * * * …|      0 0 * …"},
		// and at last lines are cut
		{9, "NAME  WH…|a     * …|      0 …"},
		{1, "…|…|…"},
	} {
		want := strings.ReplaceAll(row.want, "|", "\n") + "\n"
		if got := layOut(screen{utf8: true, colour: true}, rows, gives, row.limit); got != want {
			t.Errorf("%d columns:\n%q\n%q", row.limit, got, want)
		}
	}
}
