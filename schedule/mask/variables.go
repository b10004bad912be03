package mask

import (
	"fmt"
	"strings"

	"sched/schedule/humanize"
)

// SecretName matches names of variables that sound like a secret.
var SecretName = humanize.Pattern(`(?i)passw|secret|token|api_?key|credential`)

var (
	secretEnd = humanize.Pattern(`(?i)(?:passw(?:or)?d|secret|token|api_?key|credentials?|_secret_access_key|secret_key)\d*$`)
	plainText = humanize.Pattern(`^(?:[./~].*|[a-z]+://[^@]*|[\d.,]*|(?i:true|false|yes|no|on|off|none))$`)
)

// LooksSecret reports whether a variable holds a secret itself: its name ends in a word for one,
// and its value is no path, no plain URL, no number, no switch, and nothing that is expanded.
func LooksSecret(name, value string) bool {
	return secretEnd().MatchString(name) && !strings.Contains(value, "$") && !plainText().MatchString(value)
}

// Variables returns variables from files, and the named ones that are set, as NAME=value.
func Variables(names, fromFiles []string, lookup func(string) (string, bool)) []string {
	pairs := append([]string{}, fromFiles...)
	for _, name := range names {
		if value, ok := lookup(name); ok {
			pairs = append(pairs, name+"="+value)
		}
	}
	return pairs
}

// Check refuses a named variable that is too short to be masked. It does not repeat the value.
func Check(names []string, lookup func(string) (string, bool)) error {
	for _, name := range names {
		if value, _ := lookup(name); value != "" && TooShort(value) {
			return &ShortError{name}
		}
	}
	return nil
}

// A ShortError says that a variable named under secrets is too short to be masked.
type ShortError struct{ Name string }

func (e *ShortError) Error() string {
	return fmt.Sprintf("secrets: %s has fewer than %d characters, and would be masked everywhere", e.Name, Least)
}
