package humanize

import "strings"

// Difference returns the lines of two texts, each behind "+" if it is only in the second text, "-"
// if it is only in the first, and else behind a blank. Of very long texts it compares the
// beginnings and the ends alone.
func Difference(before, after string) (lines []string) {
	const maxPairs = 1 << 20 // pairs of lines
	a, b := strings.Split(strings.TrimSpace(before), "\n"), strings.Split(strings.TrimSpace(after), "\n")
	if before == "" {
		a = nil
	}
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	add := func(sign string, of []string) {
		for _, line := range of {
			lines = append(lines, sign+line)
		}
	}
	add(" ", a[:head])
	end := a[len(a)-tail:]
	if a, b = a[head:len(a)-tail], b[head:len(b)-tail]; len(a)*len(b) > maxPairs {
		add("-", a)
		add("+", b)
	} else {
		lines = append(lines, differing(a, b)...)
	}
	add(" ", end)
	return lines
}

// differing is Difference for few lines.
func differing(a, b []string) (lines []string) {
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
