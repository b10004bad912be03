// Package yamldoc reads YAML files into nodes with a place, and the nodes into values.
//
// It reports all mistakes of a file at once, each at its line and column: a Reader collects
// Problems and goes on. It reads no file that root could not trust, resolves aliases and merge keys
// within bounds, expands ${VAR}, refuses unknown and repeated keys, and keeps the text of each
// file.
//
// The Tables of the caller say which keys there are. Only this package uses yaml.v3.
package yamldoc

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"sched/schedule/humanize"
)

// Options is what a Reader needs to know of the world around its files.
type Options struct {
	// Folder is where relative paths begin, and to which the names of files are relative. It is
	// absolute.
	Folder string

	// Getenv looks up the variables that ${VAR} stands for. Nil means that none is set.
	Getenv func(string) (string, bool)

	// Root says that the tasks run as root: a file that another user could write is refused,
	// because that user would be root.
	Root bool

	// Texts are taken for what the files at those paths, absolute, hold: they are not opened.
	Texts map[string][]byte

	// Synonyms are words of other programs (lower case, "_" for "-") with our word or `key: value`.
	Synonyms map[string]string
}

// A Reader reads the files of one document and collects their problems. The values that it read
// count only if there is no problem in the end.
//
// The exported fields say which part of the files is being read. The caller sets them.
type Reader struct {
	Report
	Key string // whose value is being read, with the keys above it: retry.delay

	// Origins gets the Origin of each value in effect. Nil means that nobody asks for them.
	Origins Origins

	// Misspelt are the known keys that unknown keys probably meant. The caller empties it.
	Misspelt []string

	options Options
}

// NewReader returns a reader that has read nothing.
func NewReader(o Options) *Reader { return &Reader{options: o} }

// A Context is the first argument of the setters of a Table. A type becomes a Context by embedding
// a *Reader.
type Context interface{ reader() *Reader }

func (r *Reader) reader() *Reader { return r }

// NameOf returns a path as messages show it: relative to the folder of the document, or unchanged
// if it is outside that folder.
func (r *Reader) NameOf(path string) string {
	rel, err := filepath.Rel(r.options.Folder, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return path
	}
	return rel
}

// Nearest returns the known word that was probably meant: a synonym, or a word with nearly the same
// letters. It returns "" if it finds no such word.
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
