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
	"cmp"
	"fmt"
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

	// Texts are the texts of the files at those absolute paths, which are not opened; nil is a
	// missing file.
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

	example string // a value that Key may have, as YAML; empty if no table has the key
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

// Place is a position in a file. Lines and columns count from 1; both are 0 for the file as a
// whole.
type Place struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// String returns file:line:column, or the file alone if the place is the whole file.
func (p Place) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// A Problem is something in a file that is wrong, or that is allowed and probably not meant.
type Problem struct {
	Place Place
	Task  string // the entry of the file that it concerns; empty if it concerns no entry, or one without a name
	Text  string // what is wrong: lower case, no full stop
	Hint  string // what to do about it; may be empty

	// Lacks names the variable or the file that is not there, of a text that is right otherwise.
	Lacks string
}

// String returns the problem as people read it: one line, and a second line for the hint, if any.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.Place.String() + ": ")
	if p.Task != "" {
		fmt.Fprintf(&b, "task %q: ", p.Task)
	}
	b.WriteString(p.Text)
	if p.Hint != "" {
		b.WriteString("\n  hint: " + p.Hint)
	}
	return b.String()
}

// A Report collects the problems of files, and warnings about what is allowed but hardly meant.
//
// The exported fields say which part of the files the next problem concerns.
type Report struct {
	File    string // that is being read, as its Source is named
	Task    string // the entry that is being read; empty for none, or for one without a name
	Section string // begins each message: `defaults: `, `group "x": ` or nothing

	// Lines has the files whose text was made of another one. For each line of the text, the first
	// at 0, it has the line's place in the file.
	Lines map[string][]Place

	sources  []*Source // in the order in which they were read
	problems []Problem
	warnings []Problem
	dropped  int   // problems past MaxProblems
	cause    error // of the first file that could not be read
}

// MaxProblems is how many problems a Report keeps: it bounds what cron may have to mail every
// minute.
const MaxProblems = 1000

// Problems returns all that is wrong, by file, from top to bottom. If there are more than
// MaxProblems, a last problem counts the rest. cause is the error of the first file that could not
// be read, or nil.
func (r *Report) Problems() (problems []Problem, cause error) {
	problems = r.inOrder(r.problems)
	if r.dropped > 0 {
		problems = append(problems, Problem{
			Place: Place{File: r.sources[0].Name},
			Text:  fmt.Sprintf("%d more problems are not shown", r.dropped),
		})
	}
	return problems, r.cause
}

// Warnings returns what is allowed and probably not meant, in the order of Problems.
func (r *Report) Warnings() []Problem { return r.inOrder(r.warnings) }

// ProblemCount returns how many problems were found so far, including those that are not kept.
func (r *Report) ProblemCount() int { return len(r.problems) + r.dropped }

// ProblemsFrom returns the problems after the first n. It returns false if there are no such
// problems, or if some of them are not kept.
func (r *Report) ProblemsFrom(n int) (problems []Problem, ok bool) {
	if r.dropped > 0 || n >= len(r.problems) {
		return nil, false
	}
	return r.problems[n:], true
}

// PlaceOf returns where in the current file n stands.
func (r *Report) PlaceOf(n *Node) Place {
	at := Place{r.File, n.Line, n.Column}
	if lines := r.Lines[r.File]; 0 < at.Line && at.Line <= len(lines) {
		at.Line, at.Column = lines[at.Line-1].Line, lines[at.Line-1].Column
	}
	return at
}

// Problemf records that something is wrong at n. The hint may be empty.
func (r *Report) Problemf(n *Node, hint, format string, args ...any) {
	r.ProblemAt(r.PlaceOf(n), hint, format, args...)
}

// ProblemAt is Problemf for a place without a node.
func (r *Report) ProblemAt(at Place, hint, format string, args ...any) {
	r.add(r.problem(at, hint, format, args...))
}

func (r *Report) add(p Problem) {
	if len(r.problems) == MaxProblems {
		r.dropped++
		return
	}
	r.problems = append(r.problems, p)
}

// Warnf records that something at n is allowed and probably not meant.
func (r *Report) Warnf(n *Node, hint, format string, args ...any) {
	r.warnings = append(r.warnings, r.problem(r.PlaceOf(n), hint, format, args...))
}

// WarnAt is Warnf for an entry that was read before.
func (r *Report) WarnAt(at Place, task, hint, format string, args ...any) {
	r.warnings = append(r.warnings, Problem{Place: at, Task: task, Text: fmt.Sprintf(format, args...), Hint: hint})
}

func (r *Report) problem(at Place, hint, format string, args ...any) Problem {
	return Problem{Place: at, Task: r.Task, Text: r.Section + fmt.Sprintf(format, args...), Hint: hint}
}

func (r *Report) inOrder(problems []Problem) []Problem {
	order := make(map[string]int, len(r.sources))
	for i, src := range r.sources {
		order[src.Name] = i
	}
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(order[a.Place.File]-order[b.Place.File], a.Place.Line-b.Place.Line, a.Place.Column-b.Place.Column)
	})
	return problems
}

// Sources returns the files in the order in which they were read.
func (r *Report) Sources() []*Source { return r.sources }

// An Origin is the place and the level that set a value in effect.
type Origin struct {
	Place   Place  // of the key
	Section string // `defaults`, `group "x"`, or empty
	Task    string // the entry that set it; empty for none
	Text    string // of a scalar as the file has it, with ${VAR}
}

// Origins has the Origin of the value in effect for each key, named with the keys above it
// (retry.delay). A nil map is for readers that nobody asks: they record nothing.
type Origins map[string]Origin

// RecordOrigin records that the value of the current key comes from n, which stands at the key
// name.
func (r *Reader) RecordOrigin(name, n *Node) {
	if r.Origins == nil {
		return
	}
	origin := Origin{Place: r.PlaceOf(name), Section: strings.TrimSuffix(r.Section, ": "), Task: r.Task}
	if n.IsScalar() {
		origin.Text = n.Value
	}
	r.Origins[r.Key] = origin
}

// CopyKey records that the value of a key decides the value of another key, too.
func (o Origins) CopyKey(key, other string) {
	if o != nil {
		o[other] = o[key]
	}
}

// Restore records for a key what earlier origins have for it.
func (o Origins) Restore(key string, earlier Origins) {
	if o != nil {
		o[key] = earlier[key]
	}
}

// ForgetBelow removes the records of the keys below a key whose value is about to be replaced as a
// whole.
func (o Origins) ForgetBelow(key string) {
	for name := range o {
		if strings.HasPrefix(name, key+".") {
			delete(o, name)
		}
	}
}
