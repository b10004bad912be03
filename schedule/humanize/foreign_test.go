package humanize

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestALineDoesNothingToATerminal(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"plain – ünïcödé 日本", "plain – ünïcödé 日本"},
		{"a\tb\r\nc", "a b  c"},
		{"\x1b[2Jgone", " [2Jgone"},
		{"\u009b2Jgone\x7f", " 2Jgone "},
		{"file\u202etxt.exe", "filetxt.exe"},
		{"a\u2028b", "a b"},
		{"broken \xff", "broken \ufffd"},
	} {
		if got := Line(row.text); got != row.want {
			t.Errorf("%q is shown as %q, not %q", row.text, got, row.want)
		}
	}
}

func TestPlainTakesOutWhatIsForATerminal(t *testing.T) {
	for _, row := range []struct{ printed, want string }{
		// lines and tabs stay
		{"a\tb\nc\n", "a\tb\nc\n"},
		{"a\r\nb", "a\nb"},
		// a progress bar
		{"10 %\r20 %\n", "10 %\n20 %\n"},
		// colours, titles, links, character sets
		{"\x1b[1;31mred\x1b[0m", "red"},
		{"\x1b]0;title\ax", "x"},
		{"\x1b]8;;http://x\x1b\\link", "link"},
		{"\x1b(Bx", "x"},
		// a sequence that was broken off takes no line with it
		{"\x1b]0;title\nnext", "\nnext"},
		{"\x1b[31\nnext", "\nnext"},
		// other control characters, and what is not UTF-8
		{"\x00\a\u009bx", "x"},
		{"broken \xff", "broken \ufffd"},
	} {
		if got := Plain(row.printed); got != row.want {
			t.Errorf("%q becomes %q, not %q", row.printed, got, row.want)
		}
	}
}

func FuzzPlain(f *testing.F) {
	for _, seed := range []string{"", "a\r\nb\rc", "\x1b[1;31mred\x1b[0m", "\x1b]0;title\x07x",
		"\x1b]8;;http://x\x1b\\link", "\x1b(B", "\x1b", "\x1b[", "\x1b]", "\xff\xfe", "\x1b[31\nm"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := Plain(text)
		if !utf8.ValidString(got) {
			t.Errorf("%q: not UTF-8: %q", text, got)
		}
		if i := strings.IndexFunc(got, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }); i >= 0 {
			t.Errorf("%q: %q has a control character", text, got)
		}
		// No line may be swallowed with a sequence that was broken off.
		if want := strings.Count(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n"),
			"\n"); strings.Count(got, "\n") < want-strings.Count(text, "\r") {
			t.Errorf("%q: %q has too few lines", text, got)
		}
		if again := Plain(got); again != got {
			t.Errorf("%q: %q becomes %q", text, got, again)
		}
	})
}
