package yamldoc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExpand(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"secret": "  hunter2\n", "empty": "\n", "lines": "a\nb\n",
		"large": strings.Repeat("x", maxExpanded+1)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	vars := map[string]string{"A": "1", "EMPTY": "", "B_2": "${A}", "CREDENTIALS_DIRECTORY": dir}
	x := Expansion{Folder: dir, Getenv: func(name string) (string, bool) { value, ok := vars[name]; return value, ok }}
	for _, row := range []struct{ name, text, want, problem string }{
		{"nothing to expand", "a $b $ {c} }", "a $b $ {c} }", ""},
		{"a variable", "x${A}y${A}", "x1y1", ""},
		{"an empty variable", "[${EMPTY}]", "[]", ""},
		{"a default for one that is not set", "${NONE:-d e}", "d e", ""},
		{"a default for one that is empty", "${EMPTY:-d}", "d", ""},
		{"no default for one that is set", "${A:-d}", "1", ""},
		{"an empty default", "${NONE:-}", "", ""},
		{"a value is not expanded again", "${B_2}", "${A}", ""},
		{"a literal brace", "$${A}", "${A}", ""},
		{"a file", "smtp://me:${file:secret}@x", "smtp://me:hunter2@x", ""},
		{"a file at a whole path", "${file:" + dir + "/secret}", "hunter2", ""},
		{"a default for a file that is missing", "${file:none:-d}", "d", ""},
		{"a default for a file that is empty", "${file:empty:-d}", "d", ""},
		{"a credential", "https://x/${credential:secret}", "https://x/hunter2", ""},
		{"a default for a credential that is missing", "${credential:none:-d}", "d", ""},
		{"a default for a credential that is empty", "${credential:empty:-d}", "d", ""},

		{"a variable that is not set", "${NONE}", "", "the variable NONE is not set"},
		{"a brace that is not closed", "${A", "", "${ without }"},
		{"what only a shell knows", "${A:?b}", "", `"A:?b" is not the name of a variable`},
		{"a file that is missing", "${file:none}", "", "there is no file none"},
		{"no file", "${file:}", "", "${file:} names no file"},
		{"a folder", "${file:.}", "", "the file . does not hold one value"},
		{"a file of two lines", "${file:lines}", "", "the file lines does not hold one value"},
		{"a default does not make a file better", "${file:lines:-d}", "", "the file lines does not hold one value"},
		{"a file that is too large", "${file:large}", "", "the file large does not hold one value"},
		{"a credential that is missing", "${credential:none}", "", "there is no credential none"},
		{"a credential without a name", "${credential:}", "", `"" is not the name of a credential`},
		{"a credential elsewhere", "${credential:../x}", "", `"../x" is not the name of a credential`},
		{"the folder of the credentials", "${credential:..:-d}", "", `".." is not the name of a credential`},
		{"a credential that is too large", "${credential:large}", "", "the credential large does not hold one value"},
		{"a credential of two lines", "${credential:lines:-d}", "", "the credential lines does not hold one value"},
	} {
		got, err := x.Expand(row.text)
		problem := ""
		if err != nil {
			problem = err.Error()
		}
		if got != row.want || problem != row.problem {
			t.Errorf("%s: %q is %q, %q; want %q, %q", row.name, row.text, got, problem, row.want, row.problem)
		}
	}

	vars["CREDENTIALS_DIRECTORY"] = ""
	for text, want := range map[string]string{"${credential:secret:-d}": "d", "${credential:secret}": ""} {
		got, err := x.Expand(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("without a folder of credentials %q is %q, %v", text, got, err)
		}
		if e, ok := err.(*ExpandError); ok && (!e.Absent || e.Variable != CredentialsVariable) {
			t.Errorf("%q without a folder is %+v", text, e)
		}
	}
}
