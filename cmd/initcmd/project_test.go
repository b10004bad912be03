package initcmd

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"sched/schedule/load"
)

func TestTheFirstScheduleFitsTheProject(t *testing.T) {
	for _, test := range []struct {
		project string
		files   map[string]string
		found   []string
		has     []string
	}{
		{"an empty folder", nil, nil, nil},
		{"Laravel, which is composer, too, and has a package.json for its pages",
			map[string]string{"artisan": "", "composer.json": `{"require": {"laravel/framework": "^12"}}`, "package.json": `{"scripts": {"build": "vite build"}}`},
			[]string{"Laravel"}, []string{"php artisan schedule:run", "php artisan queue:work"}},
		{"an artisan that is not Laravel's", map[string]string{"artisan": "", "composer.json": `{}`},
			[]string{"composer"}, []string{"composer audit"}},
		{"Rails", map[string]string{"bin/rails": "", "config/application.rb": "", "Gemfile": ""}, []string{"Rails"},
			[]string{"bin/rails runner"}},
		{"Django with a virtual environment", map[string]string{"manage.py": "import django", ".venv/bin/python": ""},
			[]string{"Django"}, []string{"command: .venv/bin/python manage.py clearsessions"}},
		{"Django without one", map[string]string{"manage.py": "import django"}, []string{"Django"},
			[]string{"command: python3 manage.py"}},
		{"a manage.py of something else", map[string]string{"manage.py": "print()"}, nil, nil},
		{"Node with scripts", map[string]string{"package.json": `{"scripts": {"dev": "vite", "report:daily": "x", "db-backup": "y"}}`, "pnpm-lock.yaml": ""},
			[]string{"Node"}, []string{"pnpm run report:daily", "pnpm run db-backup"}},
		{"Node without", map[string]string{"package.json": `{}`}, []string{"Node"}, []string{"npm audit"}},
		{"a package.json that is broken", map[string]string{"package.json": `{`},
			[]string{"Node"}, []string{"npm audit"}},
		{"scripts with names that a shell would read", map[string]string{"package.json": `{"scripts": {"backup; rm -rf /": "", "\n- sync": ""}}`},
			[]string{"Node"}, []string{"npm audit"}},
		{"an agent of one kind", map[string]string{"CLAUDE.md": "", "AGENTS.md": ""}, []string{"an agent"}, []string{"claude -p"}},
		{"an agent of another", map[string]string{"AGENTS.md": "", "package.json": `{}`},
			[]string{"Node", "an agent"}, []string{"npm audit", "codex exec"}},
	} {
		folder := fstest.MapFS{}
		for name, text := range test.files {
			folder[name] = &fstest.MapFile{Data: []byte(text)}
		}
		missing := func(string) (string, error) { return "", errors.New("not found") }
		file := project{folder: folder, zone: "Europe/Berlin", lookPath: missing}.newSchedule()
		if !slices.Equal(file.kinds, test.found) {
			t.Errorf("%s: found %v", test.project, file.kinds)
		}
		for _, text := range test.has {
			if !strings.Contains(file.text, text) {
				t.Errorf("%s has no %s:\n%s", test.project, text, file.text)
			}
		}
		s, err := load.Text([]byte(file.text), "/srv/schedule.yaml", load.Options{})
		if err != nil {
			t.Errorf("%s: %v\n%s", test.project, err, file.text)
			continue
		}
		if len(s.Warnings) > 0 || len(s.Tasks) != 2+file.offered {
			t.Errorf("%s: %d tasks, %v", test.project, len(s.Tasks), s.Warnings)
		}
		for _, task := range s.Tasks {
			if task.Enabled != (task.Name == "hello") {
				t.Errorf("%s: %s is enabled: %v", test.project, task.Name, task.Enabled)
			}
		}
	}
}

func TestThePathHasTheProgramsOfTheProject(t *testing.T) {
	find := func(name string) (string, error) { return "/opt/" + name + "/bin/" + name, nil }
	folder := fstest.MapFS{"package.json": {}}
	file := project{folder: folder, zone: "UTC", lookPath: find}.newSchedule()
	if !strings.Contains(file.text, "PATH: /opt/node/bin:/usr/local/bin:/usr/bin:/bin\n") {
		t.Error(file.text)
	}
}
