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

// A Reader reads the files of one document and collects their problems. What was read counts only
// when there is no problem in the end.
//
// The exported fields say where the walk through the files is. The caller sets them.
type Reader struct {
	File    string // that is being read, as its Source is named
	Task    string // the entry that is being read; empty for none, or for one without a name
	Section string // begins each message: `defaults: `, `group "x": ` or nothing
	Key     string // whose value is being read, with the keys above it: retry.delay

	// Lines has the files whose text was made of another one: for each line of the text, the first
	// at 0, its place in the file.
	Lines map[string][]Place

	// Origins is filled with where the values in effect come from; nil for nobody asks.
	Origins Origins

	// Misspelt are the keys that were probably meant by unknown ones, since it was last emptied.
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

// A Context is what the setters of a Table are called with. A type is one by embedding a *Reader.
type Context interface{ reader() *Reader }

func (r *Reader) reader() *Reader { return r }

// NameOf returns a path as messages show it: relative to the folder of the document, or as it is
// when it is elsewhere.
func (r *Reader) NameOf(path string) string {
	rel, err := filepath.Rel(r.options.Folder, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return path
	}
	return rel
}
