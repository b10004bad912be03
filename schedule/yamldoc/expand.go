package yamldoc

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"sched/schedule/humanize"
)

// An Expansion puts values in place of ${VAR}, ${VAR:-default} and ${file:PATH}. The default stands
// for a variable that is unset or empty, as in the shell, and for a file that is missing or empty.
// $${ is a literal ${; any other $ is only a $.
type Expansion struct {
	Getenv func(string) (string, bool) // nil means that none is set
	Folder string                      // of the schedule: a PATH is relative to it
}

// An ExpandError says why a text cannot be expanded. It holds no values.
type ExpandError struct {
	Text   string
	Hint   string // what to do about it; may be empty
	Absent bool   // the text is right, and the variable or the file that it names is not there
}

func (e *ExpandError) Error() string { return e.Text }

// Expand returns the text with its values. Its error is an *ExpandError.
func (x Expansion) Expand(text string) (string, error) {
	var out strings.Builder
	for {
		before, after, some := strings.Cut(text, "${")
		if !some {
			out.WriteString(text)
			return out.String(), nil
		}
		if literal, ok := strings.CutSuffix(before, "$"); ok {
			out.WriteString(literal + "${")
			text = after
			continue
		}
		inside, rest, closed := strings.Cut(after, "}")
		if !closed {
			return "", &ExpandError{Text: "${ without }", Hint: "write $${ for a literal ${"}
		}
		value, err := x.value(inside)
		if err != nil {
			return "", err
		}
		out.WriteString(before + value)
		text = rest
	}
}

func (x Expansion) value(inside string) (string, error) {
	name, other, hasDefault := strings.Cut(inside, ":-")
	if path, ok := strings.CutPrefix(name, "file:"); ok {
		value, err := x.file(path)
		if hasDefault && (value == "" && err == nil || errors.Is(err, fs.ErrNotExist)) {
			return other, nil
		}
		if err != nil {
			return "", unreadableValue(path, err)
		}
		return value, nil
	}
	if !IsVariable(name) {
		return "", &ExpandError{
			Text: Quote(name) + " is not the name of a variable",
			Hint: "only ${VAR}, ${VAR:-default} and ${file:PATH} are expanded; write $${ for a literal ${",
		}
	}
	value, set := "", false
	if x.Getenv != nil {
		value, set = x.Getenv(name)
	}
	if hasDefault && value == "" {
		return other, nil
	}
	if !set {
		return "", &ExpandError{
			Text:   "the variable " + name + " is not set",
			Hint:   "set it (cron sets very few), or write ${" + name + ":-default}",
			Absent: true,
		}
	}
	return value, nil
}

// maxExpanded is how many bytes a file of ${file:PATH} may have.
const maxExpanded = 64 << 10

var errNoValue = errors.New("it is no file with one value")

// file returns what the file holds, without the white space around it.
func (x Expansion) file(path string) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(x.Folder, path)
	}
	// Without O_NONBLOCK a named pipe would stop us here for ever.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", errors.Join(err, errNoValue)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxExpanded+1))
	value := strings.TrimSpace(string(text))
	if err == nil && (len(text) > maxExpanded || strings.ContainsAny(value, "\x00\n\r")) {
		err = errNoValue
	}
	return value, err
}

func unreadableValue(path string, err error) *ExpandError {
	shown := Shorten(path)
	switch {
	case path == "":
		return &ExpandError{Text: "${file:} names no file", Hint: "write ${file:PATH}"}
	case errors.Is(err, fs.ErrNotExist) && strings.HasPrefix(path, "~"):
		return &ExpandError{Text: "there is no file " + shown, Hint: "\"~\" is not expanded here: write the whole path"}
	case errors.Is(err, fs.ErrNotExist):
		hint := "a path is relative to the folder of the schedule"
		return &ExpandError{Text: "there is no file " + shown, Hint: hint, Absent: true}
	case errors.Is(err, errNoValue):
		return &ExpandError{
			Text: "the file " + shown + " does not hold one value",
			Hint: "put the value alone into it, on one line",
		}
	}
	text := fmt.Sprintf("the file %s cannot be read: %v", shown, humanize.WithoutPath(err))
	return &ExpandError{Text: text, Absent: true}
}

var (
	variable     = humanize.Pattern(`^[A-Za-z_][A-Za-z0-9_]*$`)
	bareVariable = humanize.Pattern(`\$([A-Za-z_][A-Za-z0-9_]*)`)
)

// IsVariable reports whether a text may be the name of a variable in a shell.
func IsVariable(name string) bool { return variable().MatchString(name) }

// Expanded reads a text and expands it (Expansion.Expand). It may be empty.
func (r *Reader) Expanded(n *Node) (string, bool) {
	text, ok := r.Text(n)
	if !ok || strings.IndexByte(text, '$') < 0 {
		return text, ok
	}
	text, err := Expansion{Getenv: r.options.Getenv, Folder: r.options.Folder}.Expand(text)
	if e, ok := errors.AsType[*ExpandError](err); ok {
		problem := r.problem(r.PlaceOf(n), e.Hint, "%s: %v", r.Key, err)
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

// NonEmptyExpanded is Expanded for a name or a path. The expanded text must be more than white
// space, and not true or false.
func (r *Reader) NonEmptyExpanded(n *Node) (string, bool) {
	if !r.RefuseBool(n, QuotesHint) {
		return "", false
	}
	text, ok := r.Expanded(n)
	return text, ok && refuseEmpty(r, n, text)
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
