package load_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"sched/schedule/load"
	"sched/testing/machine"
)

// unsaid is what a schema cannot say: the sentences of docs/editors.md, and the loader's problems
// that each is about, in files that have some text in them.
var unsaid = []struct{ sentence, problems, in string }{
	{"what is given twice, or does not exist: names, keys, files, pools, time zones, dates, tasks that are triggered", `is given twice|already taken|included twice|named twice|^trigger: |is not a known time zone|there is no |no such file|there are no holidays|is not a date|cannot be used here|cannot name a file|is not among the (pools|calendars)|is not a date with a year`, ""},
	{"what is missing: a command, times, attempts, a file for the output, a `name` for a store", `has no command|has no time|missed_(within|at_most) is for tasks|store_down: wait |prefer is for tasks|wait_at_most is for tasks|has no attempts|output has no file|a store needs a name`, ""},
	{"cron expressions and the words of `every`, beyond the number of fields", `(^|: )(cron|every|schedule) "`, ""},
	{"bounds of durations, sizes and patterns, stores, addresses and URLs", `is less than|too short|is shorter than|would (end|skip)|is longer than (the 31|a day|100 years|500 bytes)|would take each tick|the duration must be|refused|nobody can be told|, not a command$`, ""},
	{"keys that contradict each other", `never fires|tells of the first failure|no run takes longer|would always be overdue|contradicts |without_overlapping: (wait|replace) is for|is in env and in params|default of params|^params.* has no default|^schedule: |is no regular expression`, ""},
	{"how `${…}` is written, and what stands there when it is expanded", `is not set|is not the name of a (variable|credential)|no place for a credential|is set to nothing|does not hold one value|cannot be read|is empty$|is not a valid name|cannot be a name|an empty server|without }|names no file`, "$"},
	{"how a number is written: `umask: 27` for `027`, `1.0` for `1`", `may be octal|is not an octal`, ""},
	{"YAML's own errors, and a schedule that is a list", `the tag |for a tag|"<<" takes|a null character|the file must be a mapping`, ""},
}

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(load.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("schedule.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schedule.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// instance returns the first document as an editor sees it; an error means that it is no YAML.
func instance(text string) (any, error) {
	var root yaml.Node
	d := yaml.NewDecoder(strings.NewReader(text))
	if err := d.Decode(&root); err != nil {
		return nil, err
	}
	if err := d.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, errors.New("a second document")
	}
	return (&editor{}).plain(root.Content[0], 0)
}

// An editor counts the values of a file: a few aliases can stand for more than there is memory.
type editor struct{ values int }

func (e *editor) plain(n *yaml.Node, depth int) (any, error) {
	if e.values++; depth > 100 || e.values > 100_000 {
		return nil, errors.New("too large")
	}
	switch n.Kind {
	case yaml.AliasNode:
		return e.plain(n.Alias, depth+1)
	case yaml.SequenceNode:
		items := []any{}
		for _, item := range n.Content {
			value, err := e.plain(item, depth+1)
			if err != nil {
				return nil, err
			}
			items = append(items, value)
		}
		return items, nil
	case yaml.MappingNode:
		return e.plainMapping(n, depth)
	}
	return plainScalar(n), nil
}

// plainMapping also does what merge keys say.
func (e *editor) plainMapping(n *yaml.Node, depth int) (any, error) {
	own, merged := map[string]any{}, map[string]any{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			return nil, errors.New("a key that is no text")
		}
		value, err := e.plain(n.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		if key.Value == "<<" && key.Style == 0 {
			for _, from := range append(sliceOf(value), value) {
				if m, ok := from.(map[string]any); ok {
					for k, v := range m {
						if _, has := merged[k]; !has {
							merged[k] = v
						}
					}
				}
			}
			continue
		}
		if _, twice := own[key.Value]; twice {
			return nil, errors.New("a key twice")
		}
		own[key.Value] = value
	}
	for k, v := range merged {
		if _, has := own[k]; !has {
			own[k] = v
		}
	}
	return own, nil
}

func sliceOf(value any) []any {
	list, _ := value.([]any)
	return list
}

func plainScalar(n *yaml.Node) any {
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		return n.Value[0] == 't' || n.Value[0] == 'T'
	case "!!int":
		var i int64
		if n.Decode(&i) == nil {
			return json.Number(fmt.Sprint(i))
		}
	case "!!float":
		var f float64
		if n.Decode(&f) == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return f
		}
	}
	return n.Value
}

// agree compares the schema with the loader, and reports whether the schedule is valid. The schema
// must accept each file that the loader accepts. It must refuse each file that the loader refuses,
// unless a schema cannot say why.
func agree(t *testing.T, s *jsonschema.Schema, what, text string, read func() error) (valid bool) {
	t.Helper()
	value, err := instance(text)
	if err != nil {
		return false
	}
	refused, invalid := s.Validate(value), read()
	var problems *load.InvalidError
	switch {
	case invalid == nil && refused != nil:
		t.Errorf("%s: the schema refuses what the loader accepts: %v\n%s", what, refused, text)
	case invalid != nil && refused == nil:
		if !errors.As(invalid, &problems) {
			t.Fatal(invalid)
		}
		for _, p := range problems.Problems {
			if !slices.ContainsFunc(unsaid, func(u struct{ sentence, problems, in string }) bool {
				return regexp.MustCompile(u.problems).MatchString(p.Text) && strings.Contains(text, u.in)
			}) {
				t.Errorf("%s: the schema accepts what the loader refuses: %v\n%s", what, p, text)
			}
		}
	}
	return invalid == nil
}

func parsing(text string) func() error {
	return func() error {
		_, err := load.Text([]byte(text), "/srv/shop/schedule.yaml", load.TestOptions())
		return err
	}
}

func TestTheSchemaAgreesWithTheLoaderOnTheExamples(t *testing.T) {
	s := compiled(t)
	files := []string{"../../schedule.yaml"}
	for _, pattern := range []string{"../../examples/*.yaml", "../../examples/*/schedule.yaml", "../../bench/*.yaml",
		"../../bench/*/*.yaml", "../../packaging/etc/*.yaml"} {
		found, _ := filepath.Glob(pattern)
		files = append(files, found...)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !agree(t, s, file, string(text),
			func() error { _, err := load.File(file, load.TestOptions()); return err }) {
			t.Errorf("%s is not valid", file)
		}
	}
	for _, file := range []string{load.Reference, "../../docs/from-laravel.md"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
			agree(t, s, file, block[1], parsing(block[1]))
		}
	}
}

func TestTheSchemaAgreesWithTheLoaderOnTheFixtures(t *testing.T) {
	s := compiled(t)
	for name, text := range load.Mistakes() {
		agree(t, s, name, text, parsing(text))
	}
	scripts, _ := filepath.Glob("../../cmd/testdata/*.txtar")
	more, _ := filepath.Glob("../../cmd/testdata/docs/*.txtar")
	count := 0
	for _, script := range append(scripts, more...) {
		archive, err := txtar.ParseFile(script)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range archive.Files {
			if text := string(file.Data); strings.HasSuffix(file.Name, ".yaml") && strings.Contains(text, "tasks:") {
				agree(t, s, script+" "+file.Name, text, parsing(text))
				count++
			}
		}
	}
	if count < 80 {
		t.Errorf("only %d files in the scripts", count)
	}
}

// The files have up to three mistakes each.
func TestTheSchemaAgreesWithTheLoaderOnThousandsOfFiles(t *testing.T) {
	s := compiled(t)
	g := generator{Rand: rand.New(rand.NewPCG(17, uint64(os.Getpid())))}
	files := machine.Sized(1000, 10_000) // others each time
	valid := 0
	for i := range files {
		g.mistakes = i % 4
		text, err := json.Marshal(g.schedule())
		if err != nil {
			t.Fatal(err)
		}
		if agree(t, s, fmt.Sprintf("file %d", i), string(text), parsing(string(text))) {
			valid++
		}
		if t.Failed() {
			return
		}
	}
	if valid < files/10 || valid > files*7/8 {
		t.Errorf("%d of %d files are valid: that tests one side alone", valid, files)
	}
}

// Each word that the schema lists is one for the loader, and each example and default is a value.
func TestWhatTheSchemaShowsIsAccepted(t *testing.T) {
	s := compiled(t)
	for _, key := range load.Keys(load.InTask) {
		if slices.Contains([]string{"name", "command", "cron", "every", "schedule", "missed_within", "missed_at_most", "except",
			"pool", "calendar", "prefer", "on_overdue", "wait_at_most"}, key.Name) {
			continue
		}
		shown := append([]string{key.Type.Example, key.Type.Default}, key.Type.Words...)
		for _, value := range shown {
			if value == "" {
				continue
			}
			text := "tasks:\n- name: t\n  every: minute\n  command: x\n  " + key.Name + ": " + value + "\n"
			if value == "wait" { // for a store
				text = "name: shop\nstore: redis://localhost\n" + text + "  one_server: true\n"
			}
			if !agree(t, s, key.Name, text, parsing(text)) {
				t.Errorf("the loader refuses\n%s%v", text, parsing(text)())
			}
		}
	}
}

// false means the same to the schema as to the loader, in each place: it takes an inherited value
// away, is a value, or is a mistake.
func TestTheSchemaAgreesWithTheLoaderOnFalse(t *testing.T) {
	s := compiled(t)
	for _, of := range []load.Mapping{load.InRetry, load.InExpect, load.InLimits, load.InOutput} {
		for _, key := range load.Keys(of) {
			text := fmt.Sprintf("defaults: {%s: {%s: false}}\ntasks: [{name: t, every: minute, command: x}]\n",
				of, key.Name)
			if !agree(t, s, key.Name, text, parsing(text)) {
				t.Errorf("the loader refuses\n%s%v", text, parsing(text)())
			}
		}
	}
	for _, key := range load.Keys(load.InTask) {
		text := "tasks: [{name: t, every: minute, command: x, " + key.Name + ": false}]\n"
		agree(t, s, key.Name, text, parsing(text))
	}
}

// The schema's text about a missing key says what the loader does without that key.
func TestTheDefaultsAreThoseOfTheLoader(t *testing.T) {
	loaded := func(more string) string {
		s, err := load.Text([]byte("tasks:\n- name: t\n  every: minute\n  command: x\n"+more),
			"/srv/shop/schedule.yaml", load.TestOptions())
		if err != nil {
			t.Fatalf("%s: %v", more, err)
		}
		of := fmt.Sprintf("%+v %+v", *s.Tasks[0], s.Tasks[0].Place)
		return strings.NewReplacer("[]", "", "<nil>", "").Replace(regexp.MustCompile(`0x[0-9a-f]+`).ReplaceAllString(of, ""))
	}
	for _, key := range load.Keys(load.InTask) {
		if key.Type.Default == "" || key.Name == "missed_within" || key.Name == "missed_at_most" ||
			key.Name == "wait_at_most" {
			continue
		}
		if with, without := loaded("  "+key.Name+": "+key.Type.Default+"\n"), loaded(""); with != without {
			t.Errorf("%s: %s is not what holds without it:\n%s\n%s", key.Name, key.Type.Default, with, without)
		}
	}
}

// A page for people says what a schema leaves to `sched check`.
func TestTheDocsSayWhatASchemaCannot(t *testing.T) {
	page, err := os.ReadFile("../../docs/editors.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range unsaid {
		if !strings.Contains(strings.Join(strings.Fields(string(page)), " "), u.sentence) {
			t.Errorf("docs/editors.md does not say: %s", u.sentence)
		}
	}
}

// Each row of a table says which values its key may have.
func TestEveryKeyHasATypeAndAnExample(t *testing.T) {
	for _, of := range []load.Mapping{load.Top, load.InTask, load.InGroup, load.Defaults, load.Included, load.InHistory,
		load.InMetrics, load.InMail, load.InRetry, load.InExpect, load.InLimits, load.InOutput, load.InHook} {
		keys := load.Keys(of)
		if len(keys) == 0 {
			t.Errorf("%s has no keys", of)
		}
		for _, key := range keys {
			if key.Type.Of == "" && key.Type.Words == nil || key.Type.Example == "" {
				t.Errorf("the key %s of a %s has no type or no example (document.Type)", key.Name, of)
			}
		}
	}
}

// The schema in docs is the schema of the modelines of our examples. The modeline of each example
// leads to it.
func TestTheExamplesLeadEditorsToTheSchema(t *testing.T) {
	const kept = "../../docs/schedule.schema.json"
	text, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text, load.Schema()) {
		t.Errorf("%s is not what sched schema prints: go run . schema -o docs/schedule.schema.json", kept)
	}
	files := []string{"../../schedule.yaml"}
	for _, pattern := range []string{"../../examples/*.yaml", "../../examples/*/*.yaml", "../../examples/*/*/*.yaml"} {
		found, _ := filepath.Glob(pattern)
		files = append(files, found...)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		leads, _ := filepath.Rel(filepath.Dir(file), kept)
		if first, _, _ := strings.Cut(string(text), "\n"); first != load.Modeline(leads) {
			t.Errorf("%s does not begin with %s", file, load.Modeline(leads))
		}
	}
}
