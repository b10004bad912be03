package mask

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Password returns a text of a server with *** for each password in it. A password counts only
// where it is a whole word, because a longer word is something else: redis is not masked in
// redis.internal. A password that is also a public word, such as a host or a user, is not masked:
// the word tells nobody that it is a password, and *** in its place would.
func Password(text, password string, public ...string) string {
	if password == "" || slices.Contains(public, password) {
		return text
	}
	var masked strings.Builder
	for {
		before, after, found := strings.Cut(text, password)
		masked.WriteString(before)
		if !found {
			return masked.String()
		}
		if endsInWord(before) || beginsInWord(after) {
			masked.WriteString(password)
		} else {
			masked.WriteString("***")
		}
		text = after
	}
}

// endsInWord reports whether a text ends within a word: with a letter, a digit or _, or with a
// word and the . or - that joins it to the next part.
func endsInWord(text string) bool {
	last, size := utf8.DecodeLastRuneInString(text)
	if last == '.' || last == '-' {
		last, _ = utf8.DecodeLastRuneInString(text[:len(text)-size])
	}
	return isOfWord(last)
}

func beginsInWord(text string) bool {
	first, size := utf8.DecodeRuneInString(text)
	if first == '.' || first == '-' {
		first, _ = utf8.DecodeRuneInString(text[size:])
	}
	return isOfWord(first)
}

func isOfWord(r rune) bool {
	return r != utf8.RuneError && (r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r))
}
