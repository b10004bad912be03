package notify

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
)

// secrets are the parts of a URL that must not be told: all but scheme, host and port, as they are written
// as they are meant, and as they are sent.
func secrets(u *url.URL) (all []string) {
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
		password, _ := u.User.Password()
		escapedUser, escapedPassword, _ := strings.Cut(u.User.String(), ":")
		add(u.User.String(), u.User.Username(), escapedUser, password, escapedPassword)
		for _, sent := range []string{u.User.Username(), password, u.User.Username() + ":" + password, "\x00" + u.User.Username() + "\x00" + password} {
			add(strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(sent)), "="))
		}
	}
	// The longest first: what is part of another must not break it into pieces that are still readable.
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(all)
}

// without returns text as one short line without the secrets.
func without(secrets []string, text string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, "***")
	}
	return head(line(text), 200)
}
