package evidence

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sched/schedule"
	"sched/schedule/judge"
	"sched/schedule/outcome"
	"sched/schedule/output"
	"sched/schedule/state"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// asking is a task that asks for two values.
var asking = &schedule.Task{Name: "import", Judge: judge.Rules{Values: []judge.Value{{Name: "rows"}, {Name: judge.Duration}}}}

// began returns the result of a run of the task that began a minute ago, with a report.
func began(t *testing.T, dir, text string) (result state.Row, report string) {
	t.Helper()
	result = state.Row{Task: asking.Name, ID: outcome.NewID(), Started: time.Now().Add(-time.Minute)}
	must(t, os.MkdirAll(filepath.Dir(output.Path(dir, result)), 0o700))
	variables, err := NewReport(dir, result, asking)
	must(t, err)
	_, report, _ = strings.Cut(variables[0], "=")
	must(t, os.WriteFile(report, []byte(text), 0o600))
	return result, report
}

func TestACommandReportsIntoAFileOfItsAttempt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	result, report := began(t, dir, "rows=5\n")
	Report(dir, &result, asking, true)
	if took := result.Values[judge.Duration]; result.Values["rows"] != 5 || took < 60 || len(result.Values) != 2 {
		t.Errorf("values: %v", result.Values)
	}
	if Report(dir, &result, asking, false); result.Values["rows"] != 5 || len(result.Values) != 1 {
		t.Errorf("of a command that was ended: %v", result.Values)
	}
	if info, err := os.Stat(report); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	if _, err := NewReport(dir, result, asking); err != nil { // of the next attempt
		t.Fatal(err)
	}
	if Report(dir, &result, asking, false); len(result.Values) != 0 || len(result.Notes) > 0 {
		t.Errorf("a new attempt has %v, %v", result.Values, result.Notes)
	}
	RemoveReport(dir, result, asking)
	if Report(dir, &result, asking, false); len(result.Notes) != 1 {
		t.Errorf("without a file: %v", result.Notes)
	}
}

// A folder that cannot be written keeps no task from running.
func TestAReportIsMadeElsewhereIfItsFolderCannotBeWritten(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "gone")
	result := state.Row{Task: asking.Name, ID: outcome.NewID()}
	variables, err := NewReport(dir, result, asking)
	must(t, err)
	_, report, _ := strings.Cut(variables[0], "=")
	must(t, os.WriteFile(report, []byte("rows=5\n"), 0o600))
	if Report(dir, &result, asking, false); result.Values["rows"] != 5 {
		t.Errorf("values: %v", result.Values)
	}
	if RemoveReport(dir, result, asking); exists(report) {
		t.Error("it is left")
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// The command may belong to another user, who must not make root read another file.
func TestOnlyAPlainFileOfOneNameIsAReport(t *testing.T) {
	t.Parallel()
	for what, replace := range map[string]func(path, other string) error{
		"a link":         func(path, other string) error { return os.Symlink(other, path) },
		"another's name": func(path, other string) error { return os.Link(other, path) },
		"a folder":       func(path, _ string) error { return os.Mkdir(path, 0o700) },
		"a pipe":         func(path, _ string) error { return unix.Mkfifo(path, 0o600) },
	} {
		dir := t.TempDir()
		result, report := began(t, dir, "")
		other := filepath.Join(dir, "other")
		must(t, os.WriteFile(other, []byte("rows=5\nsecret\n"), 0o600))
		must(t, os.Remove(report))
		must(t, replace(report, other))
		Report(dir, &result, asking, false)
		if notes := strings.Join(result.Notes, "; "); len(result.Values) != 0 ||
			!strings.HasPrefix(notes, "its report cannot be read: ") || strings.Contains(notes, "secret") {
			t.Errorf("%s: %v, %q", what, result.Values, notes)
		}
	}
}

func TestRequiredFiles(t *testing.T) {
	t.Parallel()
	dir, run := t.TempDir(), time.Now()
	write := func(name string, size int, age time.Duration) {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, make([]byte, size), 0o600))
		must(t, os.Chtimes(path, time.Time{}, run.Add(-age)))
	}
	write("old-1", 900, time.Hour)
	write("new-1", 5, 0)
	write("new-2", 7, 0)
	for pattern, want := range map[string]judge.FileState{
		"none":  {},
		"none*": {},
		"old-1": {Found: true, Size: 900},
		"new-*": {Found: true, IsNew: true, Size: 7},
		"*":     {Found: true, IsNew: true, Size: 7}, // a new one counts more than a large one
	} {
		if got := stateOf(judge.File{Path: filepath.Join(dir, pattern)}, run, false); got != want {
			t.Errorf("%s: %+v", pattern, got)
		}
	}
}

// A link of a task's user tells nobody what files of root there are, also if a pattern finds it.
func TestRootFollowsNoLinksOfOthers(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root makes links of others")
	}
	dir, secret := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(secret, make([]byte, 411), 0o600))
	link := func(name, to string, uid int) {
		must(t, os.Symlink(to, filepath.Join(dir, name)))
		must(t, os.Lchown(filepath.Join(dir, name), uid, uid))
	}
	link("theirs", secret, 65534)
	link("folder", filepath.Dir(secret), 65534)
	link("ours", secret, 0)
	for path, follows := range map[string]bool{"theirs": false, "their*": false, "folder/secret": false, "ours": true} {
		is := stateOf(judge.File{Path: filepath.Join(dir, path)}, time.Now(), true)
		if is.Found != follows || (is.Error == "") != follows || is.Size > 0 != follows {
			t.Errorf("%s: %+v", path, is)
		}
	}
}

// Lines count if they are of the last attempt, also where the line between two attempts was cut.
func TestOnlyLinesOfTheLastAttemptCount(t *testing.T) {
	t.Parallel()
	const limit = 16 << 10
	rules := judge.Rules{FailIf: judge.Printed{Output: "bad"}, WarnIf: judge.Printed{Output: "odd"}}
	long := strings.Repeat("a line\n", 3000)
	second := output.AttemptLine(2)
	for _, row := range []struct {
		attempt            int
		printed            string
		failsBy, warningBy string
	}{
		{1, "one\nbad 1\nodd 2\nbad 3\n", "bad 1", "odd 2"},
		{1, "bad without an end", "bad without an end", ""},
		{1, "bad 1\n" + long + "odd 2\n", "bad 1", "odd 2"},
		{1, long + "bad 1\n" + long, "", ""}, // it was cut away
		{2, "bad 1\n" + second + "odd 2\n", "", "odd 2"},
		{2, "bad 1\n" + long + second + "odd 2\n", "", "odd 2"},
		{2, "bad 1\n" + long + second + long + "odd 2\n", "", "odd 2"},
		{2, "bad 1\n" + second + "bad 2\n" + long + long, "bad 2", ""},
	} {
		path := filepath.Join(t.TempDir(), "run.log")
		must(t, os.WriteFile(path, []byte(row.printed), 0o600))
		result := state.Row{Attempt: state.Attempt{Number: row.attempt}, Result: state.Result{Output: path}}
		fails, warns, err := matches(rules, result, limit)
		if fails != row.failsBy || warns != row.warningBy || err != nil {
			t.Errorf("attempt %d of %.30q…: %q, %q, %v", row.attempt, row.printed, fails, warns, err)
		}
	}
}

// A line that why quotes is short, safe to print, and without secrets.
func TestALineIsQuoted(t *testing.T) {
	t.Parallel()
	e := End{Quote: func(line string) string { return strings.ReplaceAll(line, "hunter2", "•••") }}
	if got := e.quoted("\x1b[33mpw hunter2\x1b[0m"); got != "pw •••" {
		t.Errorf("%q", got)
	}
	if got := e.quoted(strings.Repeat("é", 1000)); len([]rune(got)) != 201 || !strings.HasSuffix(got, "é…") {
		t.Errorf("%d letters", len([]rune(got)))
	}
}

// Whether a command printed to stderr is not known if the process that watched it was killed.
func TestWhatIsNotKnownIsNoted(t *testing.T) {
	t.Parallel()
	task := &schedule.Task{Name: "t", SuccessCodes: []int{0}, Judge: judge.Rules{WarnIf: judge.Printed{Stderr: true}}}
	for stderr, want := range map[Stderr]string{
		Silent:  "succeeded [] ",
		Printed: "succeeded [] it printed to stderr",
		Unknown: "succeeded [whether it printed to stderr is not known: the process that watched it was killed] ",
	} {
		var result state.Row
		End{Task: task, Stderr: stderr}.Judge(&result)
		if got := fmt.Sprint(result.Outcome, " ", result.Notes, " ", result.Reason); got != want {
			t.Errorf("%q", got)
		}
	}
}
