package yamldoc

import (
	"slices"
	"strings"
	"unicode"

	"sched/schedule/humanize"
)

// Nearest returns the known word that was probably meant, a synonym or a near one, or "".
func (r *Reader) Nearest(word string, known []string) string {
	if meant, _, _ := strings.Cut(r.options.Synonyms[snakeCase(word)], ": "); slices.Contains(known, meant) {
		return meant
	}
	return humanize.Nearest(word, known)
}

// snakeCase writes runInBackground and run-in-background as run_in_background.
func snakeCase(word string) string {
	var b strings.Builder
	for i, r := range word {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.ReplaceAll(b.String(), "-", "_")
}

// DidYouMean is the hint that proposes a word; it is empty for "".
func DidYouMean(word string) string {
	if word == "" {
		return ""
	}
	return `did you mean "` + word + `"?`
}
