package document

import (
	"slices"
	"strings"

	"sched/schedule/text"
)

// Nearest returns the known key or value that was probably meant by word, or "" where none is near: a synonym
// (Options.Synonyms), or what differs in a few letters.
func (r *Reader) Nearest(word string, known []string) string {
	if meant := r.options.Synonyms[strings.ReplaceAll(strings.ToLower(word), "-", "_")]; slices.Contains(known, meant) {
		return meant
	}
	return text.Nearest(word, known)
}

// DidYouMean is the hint that proposes a word; it is empty for "".
func DidYouMean(word string) string {
	if word == "" {
		return ""
	}
	return `did you mean "` + word + `"?`
}
