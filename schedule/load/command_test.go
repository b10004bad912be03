package load

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"sched/schedule"
)

// The shell reads 27 as octal, YAML as decimal. YAML reads 027 as octal, and JSON does not read it
// at all. A umask with two readings is refused.
func TestUmask(t *testing.T) {
	for _, row := range []struct {
		text string
		want int // -1: refused
		says string
	}{
		{"027", 0o27, ""},
		{`"027"`, 0o27, ""},
		{"0o27", 0o27, ""},
		{`"0o027"`, 0o27, ""},
		{"0027", 0o27, ""},
		{"0", 0, ""},
		{"00", 0, ""},
		{"0777", 0o777, ""},
		{"27", -1, "umask 27 may be octal or decimal\n  hint: write 027"},
		{`"22"`, -1, "umask 22 may be octal or decimal\n  hint: write 022"},
		{"777", -1, "umask 777 may be octal or decimal\n  hint: write 0777"},
		{"01000", -1, "umask 01000 is more than 0777"},
		{"028", -1, "umask \"028\" is not an octal number\n  hint: write it in octal, as 027"},
		{"0x17", -1, "umask \"0x17\" is not an octal number\n  hint: write it in octal, as 027"},
		{"0o", -1, "umask \"0o\" is not an octal number\n  hint: write it in octal, as 027"},
		{"0_27", -1, "umask \"0_27\" is not an octal number\n  hint: write it in octal, as 027"},
		{"-027", -1, "umask \"-027\" is not an octal number\n  hint: write it in octal, as 027"},
		{"u=rwx,g=rx,o=", -1, "umask \"u=rwx,g=rx,o=\" is not an octal number\n  hint: write it in octal, as 027"},
		{"[027]", -1, "umask must be text, not a list\n  hint: write it as in `umask: '027'`"},
		{"", -1, "umask has no value\n  hint: write it as in `umask: '027'`"},
	} {
		s, err := Text([]byte(one("umask: "+row.text)), "/srv/schedule.yaml", testOptions())
		switch {
		case row.want < 0 && err == nil:
			t.Errorf("umask: %s is taken as %o", row.text, *s.Tasks[0].As.Umask)
		case row.want < 0:
			if _, says, _ := strings.Cut(err.Error(), `task "t": `); says != row.says {
				t.Errorf("umask: %s\n%s\nwant %s", row.text, says, row.says)
			}
		case err != nil || *s.Tasks[0].As.Umask != row.want:
			t.Errorf("umask: %s: %v, want %o", row.text, err, row.want)
		}
	}
}

func TestAsWhomATaskRuns(t *testing.T) {
	s := parseTest(t, `
defaults: {user: deploy, group: www, umask: 027, env_file: [a.env, /etc/b.env]}
tasks:
- {name: inherits, every: hour, command: x}
- {name: own, every: hour, command: x, user: 1000, nice: -5, env_file: "${HOME}/c.env"}
- {name: none, every: hour, command: x, env_file: []}
- group: tasks
  user: backup
  tasks:
  - {name: grouped, every: hour, command: x}
  - {name: regrouped, group: disk, every: hour, command: x}
`[1:])
	for i, want := range []string{
		`{"user":"deploy","group":"www","umask":23} [/srv/shop/a.env /etc/b.env]`,
		`{"user":"1000","group":"www","umask":23,"nice":-5} [/home/me/c.env]`,
		`{"user":"deploy","group":"www","umask":23} []`,
		`{"user":"backup","group":"www","umask":23} [/srv/shop/a.env /etc/b.env]`,
		`{"user":"backup","group":"disk","umask":23} [/srv/shop/a.env /etc/b.env]`,
	} {
		as, _ := json.Marshal(s.Tasks[i].As)
		if got := fmt.Sprintf("%s %v", as, s.Tasks[i].EnvFiles); got != want {
			t.Errorf("%s: %s, want %s", s.Tasks[i].Name, got, want)
		}
	}
}

// The snapshot of a run is all that the processes know that finish the run. It says as whom the
// hooks run, but holds no text of files of variables.
func TestTheSnapshotHasAsWhomATaskRuns(t *testing.T) {
	task := parseTest(t, one("user: deploy\numask: 0\nnice: 0\nenv_file: a.env")).Tasks[0]
	text, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	var again schedule.Task
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if again.As.Umask == nil || again.As.Nice == nil || !reflect.DeepEqual(again.As, task.As) ||
		!reflect.DeepEqual(again.EnvFiles, task.EnvFiles) {
		t.Errorf("%s", text)
	}
}

// Behind another $ what names a file is text, as everywhere.
func TestAVariableMayHaveTheTextThatNamesAFile(t *testing.T) {
	s := parseTest(t, `tasks: [{name: a, every: day, command: x, env: {X: "$${file:/etc/passwd} $${HOME}"}}]`)
	if got := s.Tasks[0].Env["X"]; got != "${file:/etc/passwd} ${HOME}" {
		t.Error(got)
	}
}
