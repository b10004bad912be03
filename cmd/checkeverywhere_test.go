package cmd_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"sched/testing/schedtest"
)

// wrongKey has an error in line 3.
const wrongKey = `tasks:
  - name: a
    crn: "* * * * *"
    command: "true"
`

// oneWarning has a warning in line 4: the program is not there.
const oneWarning = `tasks:
  - name: b
    cron: "* * * * *"
    command: no-such-program-anywhere
`

// The matcher of GitHub finds each problem of sched check with its place, and no other line.
func TestTheProblemMatcherFindsWhatCheckPrints(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../packaging/github/sched-check.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		ProblemMatcher []struct {
			Pattern []struct {
				Regexp                                string
				Severity, File, Line, Column, Message int
			}
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	pattern := file.ProblemMatcher[0].Pattern[0]
	expression := regexp.MustCompile(pattern.Regexp)
	for schedule, want := range map[string][]string{
		wrongKey:   {"", "3", "5", `task "a": unknown key "crn"`},
		oneWarning: {"warning", "4", "5", `task "b": on this machine: command: there is no program no-such-program-anywhere`},
	} {
		b := newBox(t, schedule)
		out, _ := b.Sched("check", "schedule.yaml")
		var found [][]string
		for line := range strings.Lines(out) {
			if m := expression.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
				found = append(found, m)
			}
		}
		if len(found) != 1 {
			t.Fatalf("%d problems were found in\n%s", len(found), out)
		}
		m := found[0]
		if m[pattern.Severity] != want[0] || m[pattern.File] != "schedule.yaml" || m[pattern.Line] != want[1] ||
			m[pattern.Column] != want[2] ||
			!strings.HasPrefix(m[pattern.Message], want[3]) {
			t.Errorf("found %q, want %q", m, want)
		}
	}
}

// pre-commit calls the entry of the hook with the names of changed files behind it. A wrong file
// refuses the commit.
func TestThePreCommitHookRefusesAScheduleThatIsWrong(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../.pre-commit-hooks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var hooks []struct{ Entry, Files string }
	if err := yaml.Unmarshal(text, &hooks); err != nil {
		t.Fatal(err)
	}
	files := regexp.MustCompile(hooks[0].Files)
	for name, want := range map[string]bool{"schedule.yaml": true, "shop/schedule.yml": true, "my-schedule.yaml": false,
		"schedule.yaml.old": false} {
		if files.MatchString(name) != want {
			t.Errorf("%s: want %t", name, want)
		}
	}
	b := newBox(t, oneWarning)
	b.Write("wrong.yaml", wrongKey)
	commit := func(names string) (string, error) {
		c := exec.Command("/bin/sh", "-c", hooks[0].Entry+" "+names)
		c.Dir, c.Env = b.Dir, append(b.Command().Env, "PATH="+filepath.Dir(schedtest.Binary)+":"+os.Getenv("PATH"))
		out, err := c.CombinedOutput()
		return string(out), err
	}
	if out, err := commit("schedule.yaml schedule.yaml"); err != nil {
		t.Errorf("it refuses a schedule that is right: %v\n%s", err, out)
	}
	if out, err := commit("wrong.yaml schedule.yaml"); err == nil ||
		!strings.Contains(out, `wrong.yaml:3:5: task "a"`) || !strings.Contains(out, "schedule.yaml is valid") {
		t.Errorf("it accepts a schedule that is wrong, or does not look at all files: %v\n%s", err, out)
	}
}
