package load

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const reference = "../../docs/schedule-yaml.md"

func TestTheReferenceKnowsEveryKeyAndNoOther(t *testing.T) {
	text, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	top, tasks, _ := strings.Cut(string(text), "\n## Groups\n")
	known := taskKeys.Names(anywhere)
	known = slices.DeleteFunc(known, func(key string) bool { return key == "tasks" }) // documented at the top
	for _, part := range []struct {
		text  string
		known []string
	}{{top, topKeys.Names(0)}, {tasks, known}} {
		var documented []string
		for _, heading := range regexp.MustCompile("(?m)^### .*$").FindAllString(part.text, -1) {
			for _, key := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(heading, -1) {
				documented = append(documented, key[1])
			}
		}
		slices.Sort(documented)
		slices.Sort(part.known)
		if !slices.Equal(documented, part.known) {
			t.Errorf("%s documents\n%v, the keys are\n%v", reference, documented, part.known)
		}
	}
	for _, key := range slices.Concat(retryKeys.Names(0), historyKeys.Names(0), outputKeys.Names(0),
		metricsKeys.Names(0), hookKeys.Names(0)) {
		if !strings.Contains(string(text), "`"+key+"`") && !regexp.MustCompile("`\\{[^`]*\\b"+key+"\\b").Match(text) {
			t.Errorf("%s does not know %s", reference, key)
		}
	}
}

// Each row of a table has a text about the meaning of its key.
func TestEveryKeyHasOneDoc(t *testing.T) {
	check(t, "top", &topKeys)
	check(t, "task", &taskKeys)
	check(t, "include", &includeKeys)
	check(t, "history", &historyKeys)
	check(t, "metrics", &metricsKeys)
	check(t, "mail", &mailKeys)
	check(t, "retry", &retryKeys)
	check(t, "expect", &expectKeys)
	check(t, "limits", &limitKeys)
	check(t, "output", &outputKeys)
	check(t, "value", &valueKeys)
	check(t, "budget", &budgetKeys)
	check(t, "printed", &printedKeys)
	check(t, "file", &fileKeys)
	check(t, "hook", &hookKeys)
	check(t, "time", &timeKeys)
}

func check[T any](t *testing.T, table string, keys *keys[T]) {
	t.Helper()
	seen := map[string]string{}
	for _, key := range keys.Rows() {
		if key.Doc == "" || strings.HasSuffix(key.Doc, ".") ||
			strings.ToLower(key.Doc[:1]) != key.Doc[:1] && key.Doc[:3] != "URL" {
			t.Errorf("the %s key %s says %q", table, key.Name, key.Doc)
		}
		if other := seen[key.Doc]; other != "" || seen[key.Name] != "" {
			t.Errorf("the %s key %s is there twice, or means what %s does", table, key.Name, other)
		}
		seen[key.Doc], seen[key.Name] = key.Name, key.Name
	}
}

func TestTheExamplesOfTheReferenceLoad(t *testing.T) {
	for file, least := range map[string]int{reference: 20, laravelGuide: 1} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
		if len(blocks) < least {
			t.Fatalf("%s: only %d examples", file, len(blocks))
		}
		for _, block := range blocks {
			dir := writeFiles(t, map[string]string{"schedule.yaml": block[1]})
			s, err := File(filepath.Join(dir, "schedule.yaml"), testOptions())
			if err != nil {
				t.Errorf("%s: %s%v", file, block[1], err)
			} else if strings.Contains(block[1], "tasks:") && len(s.Warnings) > 0 {
				t.Errorf("%s: %s%v", file, block[1], s.Warnings)
			}
		}
	}
}

func TestTheExamplesLoad(t *testing.T) {
	files := []string{"../../schedule.yaml"}
	for _, pattern := range []string{"../../examples/*.yaml", "../../examples/*/schedule.yaml"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 11 {
		t.Fatalf("only %d examples", len(files))
	}
	for _, file := range files {
		s, err := File(file, testOptions())
		if err != nil {
			t.Errorf("%s:\n%v", file, err)
			continue
		}
		if len(s.Tasks) == 0 || len(s.Warnings) > 0 {
			t.Errorf("%s: %d tasks, warnings: %v", file, len(s.Tasks), s.Warnings)
		}
		sameFromArchive(t, s)
	}
}

// The first `sched run` of a newcomer shows something, in any minute of any day.
func TestTheShippedScheduleAlwaysHasSomethingDue(t *testing.T) {
	s, err := File("../../schedule.yaml", testOptions())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Tasks[0].When.Slots(at("2024-06-01 00:00:00"))) == 0 {
		t.Skip("no time is ever due yet")
	}
	for _, minute := range []string{"2024-06-01 00:00:00", "2024-02-29 03:30:00", "2025-12-31 23:59:00"} {
		kinds := map[bool]int{}
		for _, slot := range s.Due(at(minute)) {
			kinds[slot.Task.Background]++
		}
		if kinds[true] == 0 || kinds[false] == 0 {
			t.Errorf("at %s: %d in the foreground, %d in the background", minute, kinds[false], kinds[true])
		}
	}
}
