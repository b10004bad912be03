package yamldoc

import (
	"fmt"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

func parse(t *testing.T, text string) (*Reader, *Node) {
	t.Helper()
	r := NewReader(Options{Folder: "/srv", Getenv: func(string) (string, bool) { return "", false }})
	src := r.Add("/srv/x.yaml", []byte(text))
	r.File = src.Name
	return r, r.Parse(src.Data)
}

func TestDescribe(t *testing.T) {
	for text, want := range map[string]string{
		"[a]": "a list", "{a: b}": "a mapping", "a b": `the text "a b"`, "'5'": `the text "5"`,
		"5": "the number 5", "0x10": "the number 0x10", "1.5": "the number 1.5", "true": "true", "~": "nothing",
		"2026-12-25":            "the date 2026-12-25",
		strings.Repeat("é", 40): `the text "` + strings.Repeat("é", 30) + `…"`,
	} {
		_, root := parse(t, "key: "+text)
		if got := root.Lookup("key").Describe(); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

// A value alone is what it is behind a key of a file.
func TestAValueAlone(t *testing.T) {
	for text, want := range map[string]string{
		"90s": `the text "90s"`, "5": "the number 5", "": "nothing", "'5'": `the text "5"`, "[a, b]": "a list",
		"{a: 1}": "a mapping", "[&a b, *a]": "a list", "true # not text": "true",
	} {
		r := NewReader(Options{})
		n := ParseValue(text)
		if n.MoveTo(7, 3); n.Describe() != want || !r.Resolve(n) || r.PlaceOf(n).String() != ":7:3" {
			t.Errorf("%q is %s at %v, not %s", text, n.Describe(), r.PlaceOf(n), want)
		}
	}
	for _, text := range []string{"[a", "*a", "`a`", "a: b", "@x"} {
		if n := ParseValue(text); n != nil {
			t.Errorf("%q is %s", text, n.Describe())
		}
	}
	for _, text := range []string{"! a", "[! a]", "!x a", "[&a [*a]]"} {
		r := NewReader(Options{})
		if n := ParseValue(text).MoveTo(7, 3); r.Resolve(n) {
			t.Errorf("%q is %s", text, n.Describe())
		}
	}
}

func TestMergeKeys(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"own keys come first and win", "- &a {x: 1, y: 2}\n- {<<: *a, y: 3, z: 4}", "y=3 z=4 x=1"},
		{"the first of a list wins", "- &a {x: 1}\n- {<<: [*a, {x: 2, y: 3}]}", "x=1 y=3"},
		{"merged keys are merged", "- &a {x: 1}\n- &b {<<: *a, y: 2}\n- {<<: *b}", "y=2 x=1"},
		{"in quotes it is a key like any other", "- {'<<': 1}", "<<=1"},
	} {
		r, root := parse(t, row.text)
		if problems, _ := r.Problems(); root == nil {
			t.Fatalf("%s: %v", row.name, problems)
		}
		items := root.Items()
		var pairs []string
		for key, value := range items[len(items)-1].Pairs() {
			pairs = append(pairs, key.Value+"="+value.Value)
		}
		if got := strings.Join(pairs, " "); got != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
	}
}

// The parser names the first line of the enclosing block, or a line far below. The problem names
// the line that breaks the text.
func TestTheLineThatBreaksTheText(t *testing.T) {
	many := strings.Repeat("- {name: a}\n", 1000)
	for _, row := range []struct {
		name, text string
		line       int
	}{
		{"in the first line", "a: b: c\n", 1},
		{"after many lines", many + "- a: b: c\n" + many, 1001},
		{"quotes that are never closed", many + "- \"a\n" + many, 1001},
		{"a bracket that is never closed", many + "- [a\n" + many, 1001},
	} {
		r, root := parse(t, row.text)
		problems, _ := r.Problems()
		if root != nil || len(problems) != 1 || problems[0].Place.Line != row.line {
			t.Errorf("%s: %v, want line %d", row.name, problems, row.line)
		}
	}
}

func TestProblemsAreInTheOrderOfTheFiles(t *testing.T) {
	r := NewReader(Options{Folder: "/srv"})
	main, other := r.Add("/srv/main.yaml", nil), r.Add("/etc/other.yaml", nil)
	r.ProblemAt(Place{other.Name, 1, 1}, "", "fourth")
	r.ProblemAt(Place{main.Name, 2, 1}, "", "second")
	r.ProblemAt(Place{main.Name, 2, 9}, "", "third")
	r.Task, r.Section = "t", "group \"g\": "
	r.ProblemAt(Place{main.Name, 1, 5}, "do this", "first of %d", 4)
	problems, cause := r.Problems()
	want := "[main.yaml:1:5: task \"t\": group \"g\": first of 4\n  hint: do this main.yaml:2:1: second main.yaml:2:9: third /etc/other.yaml:1:1: fourth]"
	if got := fmt.Sprint(problems); got != want || cause != nil {
		t.Errorf("got  %s, %v\nwant %s", got, cause, want)
	}
}

// BenchmarkYAML is what the parser alone takes of Load.
func BenchmarkYAML(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		var text strings.Builder
		text.WriteString("tasks:\n")
		for i := range n {
			fmt.Fprintf(&text, "  - name: task-%d\n    cron: \"%d %d * * *\"\n    command: php artisan task:run %d\n    background: true\n", i, i%60, i%24, i)
		}
		data := []byte(text.String())
		b.Run(fmt.Sprintf("tasks=%d", n), func(b *testing.B) {
			for b.Loop() {
				if err := yaml.Unmarshal(data, new(yaml.Node)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The keys of a mapping stand alone: they need no anchor and no merge key of the file.
func TestKeysAtStandAlone(t *testing.T) {
	const text = "base: &base {user: www}\ntasks:\n  - {name: a}\n  # the first\n  - name: b\n    <<: *base\n    # why\n    command: |\n      x\n\n      y\n"
	keys, err := KeysAt([]byte(text), 5, 5, "name")
	if want := "# the first\n# why\ncommand: |\n  x\n\n  y\nuser: www\n"; err != nil || string(keys) != want {
		t.Errorf("%q, %v; want %q", keys, err, want)
	}
	for _, wrong := range []string{"", "tasks: [", "0 3 * * * ./backup", text[:40]} {
		if keys, err := KeysAt([]byte(wrong), 5, 5, "name"); err == nil {
			t.Errorf("%q has the keys %q", wrong, keys)
		}
	}
}
