//go:build linux

package main

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// A cell is one column of a line: a character and its colour, which is the parameter of SGR
// (ECMA-48) or empty.
type cell struct {
	char   rune
	colour string
}

// prompt is the line that a person types.
func prompt(command string) (row []cell) {
	for _, r := range "$ " {
		row = append(row, cell{r, "2"})
	}
	for _, r := range command {
		row = append(row, cell{r, "1"})
	}
	return row
}

// variableParts are the parts that differ from run to run, and what stands in their place. A
// replacement is padded to the width of what it replaces where a column follows.
var variableParts = []struct {
	pattern     *regexp.Regexp
	replacement string
}{
	{regexp.MustCompile(`(prune-sessions.*?succeeded\x1b\[0m) {2,}\d+ ms`), "$1      72 ms"},
	{regexp.MustCompile(`(import .*?succeeded\x1b\[0m) {2,}\d+ ms`), "$1     231 ms"},
	{regexp.MustCompile(`(stock-levels.*?failed\x1b\[0m) {2,}\d+ ms`), "$1        118 ms"},
	{regexp.MustCompile(`(sched logs )[0-9a-f]{12}`), "${1}0e867166d5ef"},
	{regexp.MustCompile(`in (?:\d+ ms|\d\.\d s)`), "in 449 ms"},
}

// withoutVariableParts replaces what differs from run to run.
func withoutVariableParts(printed string) string {
	lines := strings.Split(printed, "\n")
	for i := range lines {
		for _, v := range variableParts {
			lines[i] = v.pattern.ReplaceAllString(lines[i], v.replacement)
		}
	}
	return strings.Join(lines, "\n")
}

// screen returns what a terminal shows after the bytes: lines, colours (SGR), a carriage return,
// and the erasure of the rest of a line (EL). It panics on any other sequence: sched prints none.
// Characters are one column wide.
func screen(printed string) [][]cell {
	rows, col, colour := [][]cell{nil}, 0, ""
	for printed != "" {
		row := &rows[len(rows)-1]
		r, size := utf8.DecodeRuneInString(printed)
		switch r {
		case '\r':
			col = 0
		case '\n':
			rows, col = append(rows, nil), 0
		case '\x1b':
			size = strings.IndexAny(printed, "mK") + 1
			switch sequence := printed[:size]; {
			case sequence == "\x1b[K":
				*row = (*row)[:min(col, len(*row))]
			case strings.HasPrefix(sequence, "\x1b[") && strings.HasSuffix(sequence, "m"):
				colour = strings.TrimSuffix(strings.TrimSuffix(sequence[2:], "m"), "0")
			default:
				panic(fmt.Sprintf("%q is not known", sequence))
			}
		default:
			for len(*row) <= col {
				*row = append(*row, cell{char: ' '})
			}
			(*row)[col] = cell{r, colour}
			col++
		}
		printed = printed[size:]
	}
	if len(rows[len(rows)-1]) == 0 {
		rows = rows[:len(rows)-1]
	}
	return rows
}
