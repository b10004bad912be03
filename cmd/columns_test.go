package cmd

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docs/why.md explains each column of history --csv, and none that does not exist.
func TestColumnsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/why.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "| column | is |")
	section, _, _ = strings.Cut(section, "\n\n")
	var documented, columns []string
	for line := range strings.Lines(section) {
		cell, _, _ := strings.Cut(strings.TrimPrefix(line, "|"), "|")
		for _, name := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(cell, -1) {
			documented = append(documented, name[1])
		}
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[recordJSON]()) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			columns = append(columns, name)
		}
	}
	slices.Sort(documented)
	slices.Sort(columns)
	if !slices.Equal(documented, columns) {
		t.Errorf("documented: %v\ncolumns:    %v", documented, columns)
	}
}
