package notify

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func FuzzPlain(f *testing.F) {
	for _, seed := range []string{"", "a\r\nb\rc", "\x1b[1;31mred\x1b[0m", "\x1b]0;title\x07x", "\x1b]8;;http://x\x1b\\link", "\x1b(B", "\x1b", "\x1b[", "\x1b]", "\xff\xfe", "\x1b[31\nm"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := plain(text)
		if !utf8.ValidString(got) {
			t.Errorf("%q: not UTF-8: %q", text, got)
		}
		if i := strings.IndexFunc(got, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }); i >= 0 {
			t.Errorf("%q: %q has a control character", text, got)
		}
		// No line may be swallowed with a sequence that was broken off.
		if want := strings.Count(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n"), "\n"); strings.Count(got, "\n") < want-strings.Count(text, "\r") {
			t.Errorf("%q: %q has too few lines", text, got)
		}
		if again := plain(got); again != got {
			t.Errorf("%q: %q becomes %q", text, got, again)
		}
	})
}

func TestTheTailBeginsWithALineOrACharacter(t *testing.T) {
	for _, row := range []struct {
		text  string
		limit int
		want  string
	}{
		{"short", 10, "short"},
		{"exactly", 7, "exactly"},
		{"first\nsecond\nthird\n", 14, "second\nthird\n"},
		{"first\nsecond\nthird\n", 12, "third\n"},
		{"first\nsecond\nthird\n", 8, "third\n"},
		{"xxxxxxxxxx\ny", 8, "xxxxxx\ny"},
		{"ääää", 5, "ää"},
		{"\x80\x80\x80\x80\x80\x80\x80\x80", 5, "\x80\x80\x80\x80\x80"},
		{"text", 0, ""},
	} {
		if got := tail(row.text, row.limit); got != row.want {
			t.Errorf("the last %d of %q: %q, want %q", row.limit, row.text, got, row.want)
		}
	}
}
