package notify

import "testing"

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
