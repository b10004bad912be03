package web

import (
	"regexp"
	"strings"
	"testing"
)

func TestColoursOfALog(t *testing.T) {
	for _, tt := range []struct{ printed, want string }{
		{"plain & <b>\n", "plain &amp; &lt;b&gt;\n"},
		{"\x1b[1;31mred\x1b[0m.", `<span class="f1 bold">red</span>.`},
		{"\x1b[92;44mbright on blue\x1b[39;49m.", `<span class="f10 b4">bright on blue</span>.`},
		{"\x1b[38;5;3myellow\x1b[m.", `<span class="f3">yellow</span>.`},
		// colours that are not among the sixteen are left out, with all of their numbers
		{"\x1b[38;2;1;4;31mmine\x1b[0m", "mine"},
		{"\x1b[38;5;200mpink", "pink"},
		{"\x1b[4munder\x1b[24m, \x1b[2mdim\x1b[22m", `<span class="under">under</span>, <span class="dim">dim</span>`},
		{"one\rtwo\r\nthree", "one\ntwo\nthree"},
		{"\x1b]8;;https://example.com\x1b\\link\x1b]8;;\x1b\\ \x1b[2Jend\a", "link end"},
		{"\x1b[31", ""},
		// a sequence that ends in m without [ is no colour
		{"\x1b[31mred\x1bm, still", `<span class="f1">red, still</span>`},
		{"\xff\u202e", "\uFFFD"},
	} {
		var w printer
		if w.putLog(tt.printed); w.String() != tt.want {
			t.Errorf("%q is %q, want %q", tt.printed, w.String(), tt.want)
		}
	}
}

var ours = regexp.MustCompile(`<span class="[a-z0-9 ]+">|</span>`)

// Any output becomes text with no markup but our spans. Each span is closed, and no control
// character is left.
func FuzzPrinted(f *testing.F) {
	f.Add("\x1b[31mred</span><script>\x1b[0m\r\n")
	f.Add("\x1b[38;5;\"><b>m\x1b[48;2;1m")
	f.Fuzz(func(t *testing.T, printed string) {
		var w printer
		w.putLog(printed)
		rest := ours.ReplaceAllString(w.String(), "")
		if strings.ContainsAny(rest, "<>\"\x1b\x00\a\r") ||
			strings.Count(w.String(), "<span") != strings.Count(w.String(), "</span>") {
			t.Errorf("%q is %q", printed, w.String())
		}
	})
}
