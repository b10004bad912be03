package notify

import (
	"net/url"
	"strings"
	"testing"
)

func TestSecretsAreRedactedAsTheyAreWrittenMeantAndSent(t *testing.T) {
	u, err := url.Parse("https://us%2Fer:p%40ss@host/services/T%2F1/x?key=a%20b&k=long")
	if err != nil {
		t.Fatal(err)
	}
	said := "us/er us%2Fer p@ss p%40ss services/T/1/x T%2F1 /services/T%2F1/x key=a%20b&k=long 'a b' long " +
		"AHVzL2VyAHBAc3M= dXMvZXI6cEBzcw cEBzcw=="
	got := redact(said, secretsOf(u))
	for _, secret := range []string{"us/er", "us%2Fer", "p@ss", "p%40ss", "T/1", "T%2F1", "services", "a%20b", "a b",
		"long", "AHVz", "dXMv", "cEBz"} {
		if strings.Contains(got, secret) {
			t.Errorf("%q is in %q", secret, got)
		}
	}
}
