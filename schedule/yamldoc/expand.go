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

// TakesIn reports whether a text names a file or a credential to take in, by its kind:
// ${kind:NAME}. After another $ that is text.
func TakesIn(text, kind string) bool {
	return strings.Contains(strings.ReplaceAll(text, "$${", ""), "${"+kind+":")
}

// An Expansion puts values in place of ${VAR}, ${VAR:-default}, ${file:PATH} and
// ${credential:NAME}. A credential is a file of the folder $CREDENTIALS_DIRECTORY, which systemd
// makes for a service. The default stands for a variable that is unset or empty, as in the shell,
// and for a file or a credential that is missing or empty. $${ is a literal ${; any other $ is only
// a $.
type Expansion struct {
	Getenv func(string) (string, bool) // nil means that none is set
	Folder string                      // of the schedule: a PATH is relative to it
	Taken  func(value string)          // gets each value of a file or a credential; may be nil
}

// An ExpandError says why a text cannot be expanded. It holds no values.
type ExpandError struct {
	Text   string
	Hint   string // what to do about it; may be empty
	Absent bool   // the text is right, and the variable or the file that it names is not there

	Variable string // that is not set; empty if that is not what is wrong
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
	if credential, ok := strings.CutPrefix(name, "credential:"); ok {
		value, err := x.credential(credential)
		if hasDefault && (value == "" && err == nil || err != nil && err.Absent) {
			return other, nil
		}
		if err != nil {
			return "", err
		}
		return value, nil
	}
	if !IsVariable(name) {
		return "", &ExpandError{
			Text: Quote(name) + " is not the name of a variable",
			Hint: "only ${VAR}, ${VAR:-default}, ${file:PATH} and ${credential:NAME} are expanded; " +
				"write $${ for a literal ${",
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
			Text: "the variable " + name + " is not set",
			Hint: "set it here and above the line of the crontab (`env` and `env_file` are for commands), or write ${" +
				name + ":-default}",
			Absent:   true,
			Variable: name,
		}
	}
	return value, nil
}

// maxExpanded is how many bytes the file of a value may have.
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
	if x.Taken != nil {
		x.Taken(value)
	}
	if err == nil && (len(text) > maxExpanded || strings.ContainsAny(value, "\x00\n\r")) {
		err = errNoValue
	}
	return value, err
}

// CredentialsVariable names the folder in which systemd puts the credentials of a service.
const CredentialsVariable = "CREDENTIALS_DIRECTORY"

const unitHint = "write LoadCredential=NAME:PATH into the unit of the ticks, " +
	"or ${credential:NAME:-} if it may be missing"

// credential returns the text of a credential, without the white space around it.
func (x Expansion) credential(name string) (string, *ExpandError) {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/:") {
		hint := "write the NAME of LoadCredential=NAME:PATH; any other file is ${file:PATH}"
		return "", &ExpandError{Text: Quote(name) + " is not the name of a credential", Hint: hint}
	}
	folder := ""
	if x.Getenv != nil {
		folder, _ = x.Getenv(CredentialsVariable)
	}
	if folder == "" {
		return "", &ExpandError{
			Text:     "there is no credential " + Shorten(name) + ", because " + CredentialsVariable + " is not set",
			Hint:     "systemd sets it: " + unitHint,
			Absent:   true,
			Variable: CredentialsVariable,
		}
	}
	value, err := x.file(filepath.Join(folder, name))
	switch {
	case err == nil:
		return value, nil
	case errors.Is(err, fs.ErrNotExist):
		return "", &ExpandError{Text: "there is no credential " + Shorten(name), Hint: unitHint, Absent: true}
	case errors.Is(err, errNoValue):
		return "", &ExpandError{
			Text: "the credential " + Shorten(name) + " does not hold one value",
			Hint: "put the value alone into it, on one line of at most 64 KiB",
		}
	}
	text := fmt.Sprintf("the credential %s cannot be read: %v", Shorten(name), humanize.WithoutPath(err))
	return "", &ExpandError{Text: text, Absent: true}
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
			Hint: "put the value alone into it, on one line of at most 64 KiB",
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
