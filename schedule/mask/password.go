package mask

import (
	"slices"
	"strings"
)

// Password returns a text of a server with *** in place of a password. A password that is also a
// public word, such as a host or a user, stays: nobody can tell that it is the password, which ***
// would say.
func Password(text, password string, public ...string) string {
	if password == "" || slices.Contains(public, password) {
		return text
	}
	return strings.ReplaceAll(text, password, "***")
}
