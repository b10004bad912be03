package load

import (
	"path/filepath"
	"strings"
	"testing"

	"sched/schedule/yamldoc"
)

const mainTask = "tasks: [{name: main, every: hour, command: x}]\n"

func TestIncludes(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"odd [x] folder/schedule.yaml": "include: [extra.yaml, schedule.d/*.yaml, none/*.yaml]\ndefaults: {timeout: 1m}\n" + mainTask,
		"odd [x] folder/extra.yaml":    "- {name: extra, every: hour, command: x, dir: sub}\n",
		"odd [x] folder/schedule.d/2-b.yaml": "tasks:\n- group: g\n  every: hour\n  tasks: [&a {name: b, command: \"say \\\"hi\\\"\\n\\tyou: # \\u00e9\\u0001\"}]\n" +
			"- {<<: *a, name: b2, every: day, env: {1: 2, true: ~x, a b: '${HOME}'}, success_codes: [0x10]}\n",
		"odd [x] folder/schedule.d/1-a.yaml": "tasks: [{name: a, cron: '@daily', command: [x, '']}]\n",
		"odd [x] folder/schedule.d/note.txt": "not yaml: [",
	})
	dir = filepath.Join(dir, "odd [x] folder")
	s, err := File(filepath.Join(dir, "schedule.yaml"), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	if got := names(s.Tasks); got != "main extra a b b2" {
		t.Errorf("the order is %s", got)
	}
	extra := s.Tasks[1]
	if extra.Timeout.String() != "1m0s" || extra.Dir != filepath.Join(dir, "sub") ||
		extra.Place != (yamldoc.Place{File: "extra.yaml", Line: 1, Column: 3}) {
		t.Errorf("the included task is %+v", extra)
	}
	sameFromArchive(t, s)
}

func TestProblemsOfIncludes(t *testing.T) {
	for _, row := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"a problem has the place in its own file, after those of the main file", map[string]string{
			"schedule.yaml": "include: [d/b.yaml, d/a.yaml]\ntasks: [{name: main, every: hour, command: x, timeout: 1}]\n",
			"d/a.yaml":      "- {name: main, every: hour, command: x}\n",
			"d/b.yaml":      "# b\n- {name: b, every: hour, command: [], foo: 1}\n",
		}, []string{
			"schedule.yaml:2:56: task \"main\": timeout 1 has no unit\n  hint: write 1s, 1m or 1h",
			"d/b.yaml:2:35: task \"b\": command is an empty list",
			"d/b.yaml:2:39: task \"b\": unknown key \"foo\"\n  hint: docs/schedule-yaml.md lists the keys of tasks",
			"d/a.yaml:1:10: task \"main\": the name is already taken at schedule.yaml:2:16\n  hint: names are unique in the whole schedule, groups and includes too",
		}},
		{"no such file", map[string]string{"schedule.yaml": "include: d/x.yaml\n" + mainTask}, []string{
			"schedule.yaml:1:10: include \"d/x.yaml\": there is no such file"}},
		{"a broken pattern", map[string]string{"schedule.yaml": "include: 'd/[x.yaml'\n" + mainTask}, []string{
			"schedule.yaml:1:10: include \"d/[x.yaml\": the pattern is broken"}},
		{"two stars", map[string]string{"schedule.yaml": "include: d/**/*.yaml\n" + mainTask}, []string{
			"schedule.yaml:1:10: include \"d/**/*.yaml\": ** is not supported\n  hint: name each level of folders, as in `schedule.d/*/*.yaml`"}},
		{"the same file twice", map[string]string{"schedule.yaml": "include:\n- a.yaml\n- a*.yaml\n" + mainTask,
			"a.yaml": "[]"}, []string{
			"schedule.yaml:3:3: include \"a*.yaml\": a.yaml is included twice"}},
		{"the file itself", map[string]string{"schedule.yaml": "include: '*.yaml'\n" + mainTask}, []string{
			"schedule.yaml:1:10: include \"*.yaml\": this is the file itself"}},
		{"a list of nothing and a mapping",
			map[string]string{"schedule.yaml": "include: [{a: b}, '', ~]\n" + mainTask}, []string{
				"schedule.yaml:1:11: include must be text, not a mapping",
				"schedule.yaml:1:19: include is empty",
				"schedule.yaml:1:23: include has no value"}},
		{"an include in an include", map[string]string{"schedule.yaml": "include: a.yaml\n" + mainTask,
			"a.yaml": "include: b.yaml\ntask: []\n"}, []string{
			"a.yaml:1:1: unknown key \"include\"\n  hint: an included file holds only tasks",
			"a.yaml:2:1: unknown key \"task\"\n  hint: an included file holds only tasks"}},
		{"an empty include", map[string]string{"schedule.yaml": "include: a.yaml\n" + mainTask, "a.yaml": "# soon\n"}, []string{
			"a.yaml:1:1: the file is empty\n  hint: a schedule starts with `tasks:`"}},
		{"an include that is a text", map[string]string{"schedule.yaml": "include: a.yaml\n" + mainTask,
			"a.yaml": "x\n"}, []string{
			"a.yaml:1:1: an included file must be a mapping of keys and values, not the text \"x\"\n  hint: write a list of tasks"}},
		{"broken YAML", map[string]string{"schedule.yaml": "include: a.yaml\n" + mainTask,
			"a.yaml": "tasks:\n- cron: @daily\n"}, []string{
			"a.yaml:2:9: text cannot start with this character\n  hint: put the text in quotes, as in `cron: \"@daily\"`"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := File(filepath.Join(writeFiles(t, row.files), "schedule.yaml"), testOptions())
			if err == nil {
				t.Fatal("it loads")
			}
			if got, want := err.Error(), strings.Join(row.want, "\n"); got != want {
				t.Errorf("said\n%s\nwant\n%s", got, want)
			}
			noProgrammersWords(t, err.Error())
		})
	}
}

func TestIncludesAreThoseAfterAnEdit(t *testing.T) {
	dir := writeFiles(t, map[string]string{"schedule.yaml": "include: a.yaml\n" + mainTask, "a.yaml": "[]"})
	main, include := filepath.Join(dir, "schedule.yaml"), filepath.Join(dir, "a.yaml")
	options := testOptions()
	for _, row := range []struct {
		name  string
		texts map[string][]byte
		says  string // "" for a schedule that is valid
	}{
		{"an include that the edit takes away", map[string][]byte{include: nil},
			"schedule.yaml:1:10: include \"a.yaml\": there is no such file"},
		{"an include that the edit makes", map[string][]byte{
			main:                         []byte("include: b.yaml\n" + mainTask),
			filepath.Join(dir, "b.yaml"): []byte("[]")}, ""},
		{"a main file that the edit takes away", map[string][]byte{main: nil},
			"schedule.yaml: there is no file " + main},
	} {
		options.Texts = row.texts
		_, err := File(main, options)
		if err == nil && row.says != "" || err != nil && err.Error() != row.says {
			t.Errorf("%s: %v, want %q", row.name, err, row.says)
		}
	}
}

func TestDigestIsOfTheText(t *testing.T) {
	load := func(main, include string) string {
		dir := writeFiles(t, map[string]string{"schedule.yaml": "include: '*.x'\n" + main, "a.x": include})
		s, err := File(filepath.Join(dir, "schedule.yaml"), testOptions())
		if err != nil {
			t.Fatal(err)
		}
		return s.Digest
	}
	same := load(mainTask, "[]")
	if load(mainTask, "[]") != same || load(mainTask+"#", "[]") == same || load(mainTask, "[] ") == same {
		t.Error("the digest does not follow the text of the files")
	}
}
