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
