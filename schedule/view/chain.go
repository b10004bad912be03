package view

import (
	"fmt"
	"slices"
	"strings"
)

// TriggeredBy says after which tasks another one is started: "after extract", "after extract, load or clean".
func TriggeredBy(by []Chained) string {
	var names []string
	for _, c := range by {
		if !slices.Contains(names, c.Task) {
			names = append(names, c.Task)
		}
	}
	last := len(names) - 1
	if last == 0 {
		return "after " + names[0]
	}
	return fmt.Sprintf("after %s or %s", strings.Join(names[:last], ", "), names[last])
}
