package terminal

import (
	"bytes"
	"testing"
	"time"
)

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
		environment := map[string]string{"LC_ALL": row.all, "LC_CTYPE": row.ctype, "LANG": row.lang}
		if got := utf8Locale(func(name string) string { return environment[name] }); got != row.want {
			t.Errorf("%+v: %v", row, got)
		}
	}
}

func TestAPipeGetsPlainText(t *testing.T) {
	var pipe bytes.Buffer
	s := Of(&pipe, func(name string) string {
		return map[string]string{"TERM": "xterm", "LANG": "C.UTF-8"}[name]
	})
	if s.IsTerminal() || s.Width() != 0 || Is(&pipe) {
		t.Error("a pipe is no terminal")
	}
	for _, tone := range []Tone{"", Good, Bad, Caution, Active, Faint} {
		if got := s.Paint(tone, "text"); got != "text" {
			t.Errorf("%q is painted as %q", tone, got)
		}
	}
}

func TestPaint(t *testing.T) {
	colours := Stream{colour: true}
	for _, row := range []struct {
		tone       Tone
		text, want string
	}{
		{Good, "done", "\x1b[32mdone\x1b[0m"},
		{Faint, "aside", "\x1b[2maside\x1b[0m"},
		// what has no tone, and nothing at all
		{"", "done", "done"},
		{Bad, "", ""},
	} {
		if got := colours.Paint(row.tone, row.text); got != row.want {
			t.Errorf("%q with tone %q is %q, not %q", row.text, row.tone, got, row.want)
		}
	}
}

func TestMarksAreOneColumnWide(t *testing.T) {
	for _, row := range []struct {
		tone        Tone
		utf8, ascii string
	}{
		{Good, "✓", "+"},
		{Bad, "✗", "x"},
		{Caution, "–", "-"},
		{Active, "…", ">"},
		{"", "…", ">"},
	} {
		utf8, ascii := Stream{utf8: true}.Mark(row.tone), Stream{}.Mark(row.tone)
		if utf8 != row.utf8 || ascii != row.ascii || Width(utf8) != 1 || Width(ascii) != 1 {
			t.Errorf("tone %q: %q and %q, not %q and %q", row.tone, utf8, ascii, row.utf8, row.ascii)
		}
	}
}

func TestBar(t *testing.T) {
	for _, row := range []struct {
		part float64
		want string
	}{
		{0, "--------------------"},
		{0.049, "--------------------"},
		{0.3, "######--------------"},
		{1, "####################"},
		{1.5, "####################"},
	} {
		if got := (Stream{}).Bar(row.part); got != row.want {
			t.Errorf("%v: %q, not %q", row.part, got, row.want)
		}
	}
}

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

// The methods of a line that is not there do nothing.
func TestThereIsNoLiveLineInAPipe(t *testing.T) {
	var out, errs bytes.Buffer
	none := func(string) string { return "" }
	line, toOut, toErrs := NewLiveLine(Of(&out, none), Of(&errs, none), time.Second)
	if line != nil || toOut != &out || toErrs != &errs {
		t.Fatal("a live line in a pipe")
	}
	line.Show(func(int) string { return "x" })
	line.Hide()
	line.EndLine()
	if out.String()+errs.String() != "" {
		t.Errorf("%q %q", out.String(), errs.String())
	}
}
