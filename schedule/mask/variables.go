package mask

import (
	"fmt"
	"slices"
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

var (
	given = humanize.Pattern("(?:^|[\\s;&|(?=\"'])((?:--?)?[A-Za-z_][\\w-]*)=[\"']?([^\\s;&|\"'$`<>()]+)")
	// The password of mysql and its like, of sshpass, and of curl; and the one in a URL.
	passwordFlag = humanize.Pattern(`\b(?:(?:mysql[a-z]*|mariadb[a-z-]*)\s(?:[^|;&]*\s)?(-p)["']?[^\s"'$]|` +
		`sshpass\s+(-p)\s*["']?[^\s"'$]|curl\s(?:[^|;&]*\s)?(-u|--user)[\s=]*["']?[^\s:"'$]+:[^\s"'$])`)
	passwordInURL = humanize.Pattern("://[^\\s/:@\"'$]*:[^\\s/@\"'$`]+@")
	noSecret      = humanize.Pattern(`(?i)(?:file|path|dir|name|cmd|command|id|url|stdin)$`)
)

// SecretsIn names what in a shell command may be a secret: variables and options that have a value
// in its text and sound like a secret, a password for a well-known program, and one in a URL. It
// leaves out paths, and all that the shell expands. It does not return the values.
func SecretsIn(command string) (names []string) {
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for at := 0; ; {
		found := given().FindStringSubmatchIndex(command[at:])
		if found == nil {
			break
		}
		name, value := command[at+found[2]:at+found[3]], command[at+found[4]:at+found[5]]
		soundsSecret := SecretName().MatchString(strings.ReplaceAll(name, "-", "_")) && !noSecret().MatchString(name)
		if soundsSecret && !strings.ContainsRune("/.~@", rune(value[0])) {
			add(name)
		}
		at += found[3] // a value may have more: "?a=b&token=c"
	}
	for _, found := range passwordFlag().FindAllStringSubmatch(command, -1) {
		add(found[1] + found[2] + found[3])
	}
	if passwordInURL().MatchString(command) {
		add("the password in a URL")
	}
	return names
}

// The places in which an importer finds what may be a secret.
const (
	InEnv     = "the env of a schedule"
	InCommand = "the command of a task"
)

// Kept says that a schedule keeps what may be a secret, and what to do about it.
func Kept(name, where string) (text, hint string) {
	return name + " may be a secret: " + where + " is written down with every run",
		"put it into a file that only its user can read, and name that with `env_file`"
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
