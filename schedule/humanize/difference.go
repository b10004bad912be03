package humanize

import "strings"

// Difference returns the lines of two texts, each behind "+" if it is only in the second text, "-"
// if it is only in the first, and else behind a blank. Of very long texts it compares no lines.
func Difference(before, after string) (lines []string) {
	const maxPairs = 1 << 20 // pairs of lines
	a, b := strings.Split(strings.TrimSpace(before), "\n"), strings.Split(strings.TrimSpace(after), "\n")
	if before == "" {
		a = nil
	}
	if len(a)*len(b) > maxPairs {
		return []string{"+" + Count(len(b), "line") + " in the place of " + Count(len(a), "line")}
	}
	common := make([][]int, len(a)+1) // how many lines a[i:] and b[j:] share
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			lines, i, j = append(lines, " "+a[i]), i+1, j+1
		case i < len(a) && (j == len(b) || common[i+1][j] >= common[i][j+1]):
			lines, i = append(lines, "-"+a[i]), i+1
		default:
			lines, j = append(lines, "+"+b[j]), j+1
		}
	}
	return lines
}
