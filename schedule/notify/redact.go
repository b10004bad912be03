package notify

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
)

// secretsOf returns the parts of a URL that no error may show: all but scheme, host and port. Each
// part comes as written, decoded, and as SMTP sends it (base64). The longest come first, as redact
// needs them.
func secretsOf(u *url.URL) (all []string) {
	add := func(texts ...string) {
		for _, text := range texts {
			if text = strings.Trim(text, "/"); text != "" {
				all = append(all, text)
			}
		}
	}
	add(u.Path, u.EscapedPath(), u.RawQuery, u.EscapedFragment())
	add(strings.Split(u.Path, "/")...)
	add(strings.Split(u.EscapedPath(), "/")...)
	for _, values := range u.Query() {
		add(values...)
	}
	if u.User != nil {
		user := u.User.Username()
		password, _ := u.User.Password()
		escapedUser, escapedPassword, _ := strings.Cut(u.User.String(), ":")
		add(u.User.String(), user, escapedUser, password, escapedPassword)
		for _, sent := range []string{user, password, user + ":" + password, "\x00" + user + "\x00" + password} {
			add(strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(sent)), "="))
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(all)
}

// redact returns text as one short line with *** for each secret. A secret that is part of a longer
// secret must come after it; otherwise the rest of the longer secret would stay readable.
func redact(text string, secrets []string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, "***")
	}
	return head(line(text), 200)
}
