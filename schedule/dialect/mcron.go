package dialect

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"sched/schedule/humanize"
)

// mcronNumber is a number of a month field that is no step.
var mcronNumber = humanize.Pattern(`(^|[,-])(\d+)`)

// readMcron writes an expression with months from 1 and without names: to mcron January is 0. It
// puts a number in the place of each name once, wherever the name stands.
func readMcron(text string) (string, error) {
	given := text
	for _, letter := range []byte("Mw") {
		for i, name := range kinds[indexOf(letter)].names {
			at := strings.Index(strings.ToLower(text), name[:3])
			if at < 0 {
				continue
			}
			rest := strings.TrimLeft(text[at:], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
			text = text[:at] + strconv.Itoa(i) + rest
		}
	}
	if strings.HasPrefix(text, "@") {
		return "", fmt.Errorf("it knows no macros such as %s", given)
	}
	words := strings.Fields(text)
	if len(words) != 5 {
		return "", fmt.Errorf("it has %s, and must have 5", humanize.Count(len(words), "field"))
	}
	var err error
	words[3] = mcronNumber().ReplaceAllStringFunc(words[3], func(found string) string {
		digits := strings.TrimLeft(found, ",-")
		n, notNumber := strconv.Atoi(digits)
		if notNumber != nil || n > 11 {
			err = errors.New("its months are 0 to 11")
		}
		return found[:len(found)-len(digits)] + strconv.Itoa(n+1)
	})
	return strings.Join(words, " "), err
}
