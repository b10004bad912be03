package version

import (
	"os"
	"regexp"
	"testing"

	"sched/cmd/app"
)

// The newest version of the changelog, and the one that editors and pre-commit are told to take,
// are what the program says it is.
func TestPagesNameTheVersionOfTheProgram(t *testing.T) {
	for page, version := range map[string]*regexp.Regexp{
		"../../CHANGELOG.md":         regexp.MustCompile(`(?m)^## (?:Unreleased \()?([0-9.]+)`),
		"../../docs/editors.md":      regexp.MustCompile(`(?m)^ *rev: v([0-9.]+)$`),
		"../../docs/many-servers.md": regexp.MustCompile(`(?m)^web-1 +([0-9.]+) `),
	} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		found := version.FindSubmatch(text)
		if found == nil || string(found[1]) != app.Version {
			t.Errorf("%s names %q, and the program is %s", page, found, app.Version)
		}
	}
}
