package notify

import (
	"net/url"
	"strings"
	"testing"
)

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

func TestSecretsAreFoundAsTheyAreWrittenAndMeant(t *testing.T) {
	u, err := url.Parse("https://us%2Fer:p%40ss@host/services/T%2F1/x?key=a%20b&k=long")
	if err != nil {
		t.Fatal(err)
	}
	said := "us/er us%2Fer p@ss p%40ss services/T/1/x T%2F1 /services/T%2F1/x key=a%20b&k=long 'a b' long " +
		"AHVzL2VyAHBAc3M= dXMvZXI6cEBzcw cEBzcw=="
	got := without(secrets(u), said)
	for _, secret := range []string{"us/er", "us%2Fer", "p@ss", "p%40ss", "T/1", "T%2F1", "services", "a%20b", "a b", "long", "AHVz", "dXMv", "cEBz"} {
		if strings.Contains(got, secret) {
			t.Errorf("%q is in %q", secret, got)
		}
	}
}
