package mask

import (
	"slices"
	"strings"
)

// Password returns a text of a server with *** for each password in it. A password that is also a
// public word, such as a host or a user, is not masked: the word tells nobody that it is a password,
// and *** in its place would.
func Password(text, password string, public ...string) string {
	if password == "" || slices.Contains(public, password) {
		return text
	}
	return strings.ReplaceAll(text, password, "***")
}
