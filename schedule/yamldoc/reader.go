package yamldoc

import (
	"path/filepath"
	"strings"
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
	File    string // that is being read, as its Source is named
	Task    string // the entry that is being read; empty for none, or for one without a name
	Section string // begins each message: `defaults: `, `group "x": ` or nothing
	Key     string // whose value is being read, with the keys above it: retry.delay

	// Lines has the files whose text was made of another one. For each line of the text, the first
	// at 0, it has the line's place in the file.
	Lines map[string][]Place

	// Origins gets the Origin of each value in effect. Nil means that nobody asks for them.
	Origins Origins

	// Misspelt are the known keys that unknown keys probably meant. The caller empties it.
	Misspelt []string

	options  Options
	sources  []*Source
	problems []Problem
	warnings []Problem
	dropped  int // problems past MostProblems
	cause    error
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
