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
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"gopkg.in/yaml.v3"

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

	// Synonyms returns words of other programs (lower case, "_" for "-") with our word or `key:
	// value`. It may be nil.
	Synonyms func() map[string]string

	// Written returns the line that a synonym stands for, with the value that its key has in a
	// mapping. It may be nil: then the line is as it is in Synonyms.
	Written func(word, line string, value, mapping *Node) string
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

// synonym returns our word, or `key: value`, for a word of another program; "" for other words.
func (r *Reader) synonym(word string) string {
	if r.options.Synonyms == nil {
		return ""
	}
	return r.options.Synonyms()[SnakeCase(word)]
}

// Nearest returns the known word that was probably meant: a synonym, or a word with nearly the same
// letters. It returns "" if it finds no such word.
func (r *Reader) Nearest(word string, known []string) string {
	if meant, _, _ := strings.Cut(r.synonym(word), ": "); slices.Contains(known, meant) {
		return meant
	}
	return humanize.Nearest(word, known)
}

// SnakeCase writes runInBackground and run-in-background as run_in_background, and MAILTO as
// mailto.
func SnakeCase(word string) string {
	var b strings.Builder
	wasLower := false
	for _, r := range word {
		if wasLower && unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
		wasLower = unicode.IsLower(r)
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

// Expanded reads a text and expands it (Expansion.Expand). It may be empty. It refuses credentials,
// because what is read here is kept with each run.
func (r *Reader) Expanded(n *Node) (string, bool) {
	if TakesIn(n.Value, "credential") {
		r.Problemf(n, "it belongs into a URL or an address; a command reads the file $"+CredentialsVariable+"/NAME",
			"%s is written down with every run, which is no place for a credential", r.Key)
		return "", false
	}
	return r.Secret(n)
}

// Secret is Expanded for a text that may hold a secret, and is not written down with its values.
func (r *Reader) Secret(n *Node) (string, bool) {
	text, ok := r.Text(n)
	if !ok || strings.IndexByte(text, '$') < 0 {
		return text, ok
	}
	text, err := Expansion{Getenv: r.options.Getenv, Folder: r.options.Folder}.Expand(text)
	if e, ok := errors.AsType[*ExpandError](err); ok {
		problem := r.problem(r.PlaceOf(n), e.Hint, "%s: %v", r.Key, err)
		problem.Variable = e.Variable
		if e.Absent {
			problem.Lacks = e.Text
		}
		r.add(problem)
		return "", false
	}
	if strings.IndexByte(text, 0) >= 0 {
		r.Problemf(n, "", "%s holds a null character, which no program can be given", r.Key)
		return "", false
	}
	warnOfBareVariable(r, n)
	return text, true
}

// RefuseEmptied refuses a text that is empty because what a plain ${…} names is empty: the default
// of ${VAR:-} says that it may be. The hint ends with when that is so.
func (r *Reader) RefuseEmptied(n *Node, expanded, when string) bool {
	text, plain := r.Emptied(n, expanded)
	if text == "" {
		return true
	}
	problem := r.problem(r.PlaceOf(n), "write ${"+plain+":-} "+when, "%s is empty: %s", r.Key, text)
	problem.Variable, problem.Lacks = plain, text
	r.add(problem)
	return false
}

// Emptied says that a text is empty because what a plain ${…} names is empty, and what stands in
// its braces. It returns "" for any other text.
func (r *Reader) Emptied(n *Node, expanded string) (text, plain string) {
	if strings.TrimSpace(expanded) != "" {
		return "", ""
	}
	for part := range strings.SplitSeq(strings.ReplaceAll(n.Value, "$${", ""), "${") {
		inside, _, closed := strings.Cut(part, "}")
		switch {
		case !closed || strings.Contains(inside, ":-"):
		case IsVariable(inside):
			return "$" + inside + " is set to nothing", inside
		default: // a file or a credential
			return Shorten(inside) + " holds nothing", inside
		}
	}
	return "", ""
}

// NonEmptyExpanded is Expanded for a name or a path. The expanded text must be more than white
// space, and not true or false.
func (r *Reader) NonEmptyExpanded(n *Node) (string, bool) {
	if !r.RefuseBool(n, QuotesHint) {
		return "", false
	}
	text, ok := r.Expanded(n)
	return text, ok && refuseEmpty(r, n, text)
}

// Path reads and expands a path, which is relative to the folder of the document. The result is
// absolute and clean.
func (r *Reader) Path(n *Node) (string, bool) {
	text, ok := r.NonEmptyExpanded(n)
	if !ok {
		return "", false
	}
	if text == "~" || strings.HasPrefix(text, "~/") {
		r.Problemf(n, "write ${HOME}"+Shorten(text[1:]), "%s %s: \"~\" is not expanded here", r.Key, Quote(text))
		return "", false
	}
	if !filepath.IsAbs(text) {
		text = filepath.Join(r.options.Folder, text)
	}
	return filepath.Clean(text), true
}

// Parse returns the one value in the text of the current file. Aliases and merge keys are replaced
// by what they stand for. If the text is not one value, Parse records a problem and returns nil.
func (r *Reader) Parse(data []byte) *Node {
	if !r.RequireText(data) {
		return nil
	}
	documents, err := documentsOf(bytes.NewReader(data))
	switch {
	case err != nil:
		reportSyntaxError(&r.Report, data, err)
	case len(documents) > 1:
		r.Problemf((*Node)(documents[1]), "remove the line `---`",
			"a second document starts here, and a schedule is one")
	case len(documents) == 0 || (*Node)(documents[0].Content[0]).IsNull():
		r.ProblemAt(Place{r.File, 1, 1}, "a schedule starts with `tasks:`", "the file is empty")
	default:
		root := documents[0].Content[0]
		markLoneTags(root, data)
		if r.Resolve((*Node)(root)) {
			return (*Node)(root)
		}
	}
	return nil
}

// Resolve replaces each alias by its value and each merge key (<<) by its keys. Values are shared,
// not copied. It records problems, and reports whether the tree is fit to walk.
func (r *Reader) Resolve(root *Node) bool {
	tree := resolver{report: &r.Report}
	before := r.ProblemCount()
	tree.walk((*yaml.Node)(root), 1)
	return r.ProblemCount() == before
}

// RequireText refuses data that is not text in UTF-8, or that holds control characters. Parse calls
// it itself.
func (r *Reader) RequireText(data []byte) bool {
	if IsUTF16(data) {
		r.ProblemAt(Place{r.File, 1, 1}, UTF16Hint, "the file is in UTF-16")
		return false
	}
	line, column, problem := firstBadCharacter(data)
	if problem != "" {
		r.ProblemAt(Place{r.File, line, column}, "", "%s", problem)
	}
	return problem == ""
}

// Add appends data to the sources, as the text of the file at an absolute path. It does not open
// the file.
func (r *Reader) Add(path string, data []byte) *Source {
	src := &Source{Name: r.NameOf(path), Data: data}
	r.sources = append(r.sources, src)
	return src
}

// Open reads the file at an absolute path as the next source. It returns nil after a problem.
func (r *Reader) Open(path string) *Source {
	src := r.Add(path, nil)
	data, problem, err := textOf(r, path)
	if problem != nil {
		problem.Place.File = src.Name
		r.problems = append(r.problems, *problem)
		if src == r.sources[0] { // an include that is gone leaves the schedule there
			r.cause = err
		}
		return nil
	}
	src.Data = data
	return src
}

// RequireValue refuses a key that has no value after it, because that is more often forgotten than
// meant.
func (r *Reader) RequireValue(n *Node, hint string) bool {
	return require(r, n, r.Key, anyKind, hint)
}

// RequireMapping refuses a value that is no mapping. The message calls the value by its name.
func (r *Reader) RequireMapping(n *Node, name, hint string) bool {
	return require(r, n, name, nodeKind{(*Node).IsMapping, "a mapping of keys and values"}, hint)
}

// RequireList refuses a value that is no list.
func (r *Reader) RequireList(n *Node, hint string) bool {
	return require(r, n, r.Key, nodeKind{(*Node).IsList, "a list"}, hint)
}

// RefuseBool refuses an unquoted true or false. It is for texts that nobody means to be called
// true.
func (r *Reader) RefuseBool(n *Node, hint string) bool {
	if n.IsBool() {
		r.Problemf(n, hint, "%s must be text, not %s", r.Key, n.Describe())
		return false
	}
	return true
}

// Text reads any scalar as it is written: 123 and true are texts, too. It may be empty.
func (r *Reader) Text(n *Node) (string, bool) {
	if !requireScalar(r, n, "text") {
		return "", false
	}
	if strings.IndexByte(n.Value, 0) >= 0 {
		r.Problemf(n, "", "%s holds a null character, which no program can be given", r.Key)
		return "", false
	}
	return n.Value, true
}

// NonEmptyText reads a text that is more than white space.
func (r *Reader) NonEmptyText(n *Node) (string, bool) {
	text, ok := r.Text(n)
	return text, ok && refuseEmpty(r, n, text)
}

// RefuseEmptyList refuses an empty list. It is for values whose empty list could mean both
// everything and nothing.
func (r *Reader) RefuseEmptyList(n *Node, hint string) bool {
	if n.IsList() && n.IsEmpty() {
		r.Problemf(n, hint, "%s is an empty list", r.Key)
		return false
	}
	return true
}

// Bool reads true or false; the other words that YAML 1.1 had for them are refused.
func (r *Reader) Bool(n *Node) (value, ok bool) {
	if n.IsBool() {
		return n.Value[0] == 't' || n.Value[0] == 'T', true
	}
	if !r.RequireValue(n, "") {
		return false, false
	}
	r.Problemf(n, cmp.Or(BoolHint(n), "write true or false"), "%s must be true or false, not %s", r.Key, n.Describe())
	return false, false
}

// Integer reads a whole number from least to most.
func (r *Reader) Integer(n *Node, least, most int) (int, bool) {
	if !r.RequireValue(n, "") {
		return 0, false
	}
	if n.IsInteger() || isHuge(n) {
		v, err := strconv.ParseInt(strings.ReplaceAll(n.Value, "_", ""), 0, 64)
		switch {
		case err == nil && int64(least) <= v && v <= int64(most):
			return int(v), true
		case most != NoLimit:
			r.Problemf(n, "", "%s must be from %d to %d, not %s", r.Key, least, most, Shorten(n.Value))
		case v > NoLimit: // also after an error: then v is the nearest number that fits into it
			r.Problemf(n, "", "%s %s is too large", r.Key, Shorten(n.Value))
		default:
			r.Problemf(n, "", "%s must be at least %d, not %s", r.Key, least, Shorten(n.Value))
		}
		return 0, false
	}
	r.Problemf(n, "", "%s must be a whole number, not %s", r.Key, n.Describe())
	return 0, false
}

// Number reads a number that is at least least.
func (r *Reader) Number(n *Node, least float64) (float64, bool) {
	if !r.RequireValue(n, "") {
		return 0, false
	}
	if n.IsScalar() && (n.Tag == "!!int" || n.Tag == "!!float") {
		v, err := strconv.ParseFloat(strings.ReplaceAll(n.Value, "_", ""), 64)
		switch {
		case err == nil && least <= v && v <= NoLimit:
			return v, true
		case v > NoLimit:
			r.Problemf(n, "", "%s %s is too large", r.Key, Shorten(n.Value))
		default:
			r.Problemf(n, "", "%s must be at least %v, not %s", r.Key, least, Shorten(n.Value))
		}
		return 0, false
	}
	hint := ""
	if text, ok := strings.CutSuffix(n.Value, "%"); ok {
		if percent, err := strconv.ParseFloat(text, 64); err == nil {
			hint = fmt.Sprintf("write %g", percent/100)
		}
	}
	r.Problemf(n, hint, "%s must be a number, not %s", r.Key, n.Describe())
	return 0, false
}

// OneOf reads one of the words.
func (r *Reader) OneOf(n *Node, words ...string) (string, bool) {
	return r.OneOfOr(n, "", words...)
}

// OneOfOr is OneOf with a hint for a text that is near none of the words.
func (r *Reader) OneOfOr(n *Node, hint string, words ...string) (string, bool) {
	text, ok := r.Text(n)
	if ok && !slices.Contains(words, text) {
		r.Problemf(n, cmp.Or(DidYouMean(r.Nearest(text, words)), hint),
			"%s must be %s, not %s", r.Key, humanize.Or(words), n.Describe())
		return "", false
	}
	return text, ok
}

// Duration reads a duration that is at least least (ParseDuration).
func (r *Reader) Duration(n *Node, least time.Duration) (time.Duration, bool) {
	if !requireScalar(r, n, "a duration such as 90s") {
		return 0, false
	}
	d, err := ParseDuration(n.Value)
	switch {
	case err != nil && isNumber(n.Value):
		r.Problemf(n, "write "+n.Value+"s, "+n.Value+"m or "+n.Value+"h", "%s %s has no unit", r.Key, n.Value)
	case errors.Is(err, errTooLong):
		r.Problemf(n, "", "%s %s is longer than 100 years", r.Key, Shorten(n.Value))
	case err != nil:
		r.Problemf(n, durationHint(n.Value), "%s %s is not a duration", r.Key, Quote(n.Value))
	case d < 0:
		r.Problemf(n, "", "%s %s is negative", r.Key, Shorten(n.Value))
	case d < least:
		r.Problemf(n, atLeast(least), "%s %s is too short", r.Key, Shorten(n.Value))
	default:
		return d, true
	}
	return 0, false
}

// Size reads a number of bytes that is at least least (ParseSize).
func (r *Reader) Size(n *Node, least int64) (int64, bool) {
	if !requireScalar(r, n, "a size such as 10MB") {
		return 0, false
	}
	bytes, ok := parseSize(n.Value)
	switch {
	case !ok && isNumber(n.Value):
		r.Problemf(n, "write "+n.Value+"MB or "+n.Value+"KB", "%s %s has no unit", r.Key, n.Value)
	case !ok:
		r.Problemf(n, "a size is written as 512KB, 10MB or 1GB", "%s %s is not a size", r.Key, Quote(n.Value))
	case bytes < least:
		r.Problemf(n, "", "%s %s is less than %s", r.Key, Shorten(n.Value), SizeText(least))
	default:
		return bytes, true
	}
	return 0, false
}

// exampleHint shows the current key with a value that it may have; "" if its table has no example.
func exampleHint(r *Reader) string {
	if r.example == "" {
		return ""
	}
	name := r.Key[strings.LastIndexByte(r.Key, '.')+1:]
	return "write it as in `" + name + ": " + r.example + "`"
}

// refuseEmpty refuses a text of n that is no more than white space.
func refuseEmpty(r *Reader, n *Node, text string) bool {
	if strings.TrimSpace(text) == "" {
		r.Problemf(n, "", "%s is empty", r.Key)
		return false
	}
	return true
}

// require refuses a missing value, and a value that is not of the kind. The message calls the value
// by its name.
func require(r *Reader, n *Node, name string, kind nodeKind, hint string) bool {
	hint = cmp.Or(hint, exampleHint(r))
	switch {
	case n.IsNull():
		r.Problemf(n, hint, "%s has no value", name)
	case !kind.is(n):
		r.Problemf(n, hint, "%s must be %s, not %s", name, kind.name, n.Describe())
	default:
		return true
	}
	return false
}

// requireScalar refuses a missing value, a list and a mapping. kind says what the value must be.
func requireScalar(r *Reader, n *Node, kind string) bool {
	return require(r, n, r.Key, nodeKind{(*Node).IsScalar, kind}, "")
}

// textOf returns the text of a file: from Options.Texts if it has the path (nil: the file was
// removed), else from the disk.
func textOf(r *Reader, path string) ([]byte, *Problem, error) {
	text, isEdited := r.options.Texts[path]
	switch {
	case !isEdited:
		return readFile(path, r.options.Root)
	case text == nil:
		return nil, unreadable(path, fs.ErrNotExist), fs.ErrNotExist
	}
	return text, nil, nil
}

// warnOfBareVariable warns of $HOME, which is not expanded. Other dollars may be in passwords.
func warnOfBareVariable(r *Reader, n *Node) {
	if r.options.Getenv == nil {
		return
	}
	for _, match := range bareVariable().FindAllStringSubmatch(n.Value, -1) {
		if _, set := r.options.Getenv(match[1]); set {
			r.Warnf(n, "write ${"+match[1]+"} for its value", "%s: %s is taken as it stands", r.Key, match[0])
			return
		}
	}
}

// NamedPairs yields the names and values of a mapping whose keys are names of the user's own, such
// as variables. It records a problem for a name that is no text or comes twice, and does not yield
// it. During the loop the caller may set r.Key; afterwards NamedPairs restores it.
func NamedPairs(r *Reader, n *Node) iter.Seq2[*Node, *Node] {
	return func(yield func(*Node, *Node) bool) {
		above, exampleAbove, first := r.Key, r.example, map[string]*Node{}
		defer func() { r.Key, r.example = above, exampleAbove }()
		r.example = "" // it is a value of the key above
		for name, value := range n.Pairs() {
			r.Key = above
			switch before := first[name.Value]; {
			case !name.IsScalar():
				r.Problemf(name, "", "a key must be text, not %s", name.Describe())
			case before != nil:
				r.Problemf(name, "remove one of the two", "%s: %s is given twice, first at line %d",
					above, Quote(name.Value), r.PlaceOf(before).Line)
			default:
				first[name.Value] = name
				if !yield(name, value) {
					return
				}
			}
		}
	}
}

// KeysAt returns the mapping that begins at a place in the text as a text of its own, without one
// of its keys. It keeps comments, and replaces aliases and merge keys by what they stand for.
func KeysAt(text []byte, line, column int, without string) ([]byte, error) {
	r := NewReader(Options{})
	root := r.Parse(text)
	if root == nil {
		return nil, errors.New("the file is no YAML")
	}
	found := mappingAt((*yaml.Node)(root), line, column)
	if found == nil {
		return nil, errors.New("the file has changed")
	}
	keys := *found
	keys.Content, keys.Style = nil, 0
	for i := 0; i+1 < len(found.Content); i += 2 {
		if found.Content[i].Value != without {
			keys.Content = append(keys.Content, found.Content[i], found.Content[i+1])
		}
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	err := encoder.Encode(&keys)
	return out.Bytes(), err
}
