package cron

import (
	"errors"
	"regexp"
	"strings"
	"testing"
)

// proposed finds a field, or whole times, that a hint proposes.
var proposed = regexp.MustCompile(`^write ([^ ;]+(?: [^ ;]+){4,5}|[^ ;]+)(?:$| for|, and| or|;)`)

// A person who writes what a hint proposes must not get another error.
func TestEachFieldThatAHintProposesIsRead(t *testing.T) {
	fields := strings.Fields("22-6 fri-mon FRI-SUN SAT-MON NOV-FEB DEC-MARCH monday juni sept wednes WL 60 24 55-5/5 H(0) " +
		"H/5-10 H(3 6-0 5-5 50-10 31-1 12-1 5-1 L-MON 1-5-7 *5 0-60 1,,2 ?5 H-5 20-4/2")
	for _, field := range fields {
		for pos := range 5 {
			words := strings.Fields("0 0 * * *")
			words[pos] = field
			checkHint(t, words, pos)
		}
	}
	for _, times := range []string{`"0 3 * * *"`, `'0 3 * * *`, "schedule: 0 3 * * *", "0 3 ∗ * *", "0 3 * * * # nightly"} {
		checkHint(t, []string{times}, 0)
	}
}

// checkHint checks what the hint proposes for a word of an expression.
func checkHint(t *testing.T, words []string, pos int) {
	t.Helper()
	text := strings.Join(words, " ")
	_, err := Parse(text, "seed")
	wrong, ok := errors.AsType[*Error](err)
	if !ok {
		return
	}
	if found := proposed.FindStringSubmatch(wrong.Hint); found != nil {
		words[pos] = found[1]
		if _, err := Parse(strings.Join(words, " "), "seed"); err != nil {
			t.Errorf("%q: %s: hint %s: %v", text, wrong, wrong.Hint, err)
		}
	}
}
