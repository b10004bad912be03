package humanize

import "strings"

// Nearest returns the known word nearest to word, or "". It ignores case and takes "-" for "_".
func Nearest(word string, known []string) string {
	word = strings.ReplaceAll(strings.ToLower(word), "-", "_")
	best, nearest := 1+min(len(word)/3, 3), ""
	for _, k := range known {
		if k == word {
			return k
		}
		if d := Distance(word, k, best); d < best {
			best, nearest = d, k
		}
	}
	return nearest
}

// Distance returns how many letters must be added, left out, changed or swapped with the next one
// to make b of a, or enough where that is not below enough (Damerau's distance).
func Distance(a, b string, enough int) int {
	if max(len(a)-len(b), len(b)-len(a)) >= enough {
		return enough
	}
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
