package preflight

import (
	"path/filepath"
	"slices"
	"strings"
)

// wrappers are programs that start another one, which they are given as words of their own: how many words stand before it, and
// which options of theirs have a value in a word of its own.
var wrappers = map[string]struct {
	words  int
	values string
}{
	"flock":   {1, "-w -E --timeout --wait --conflict-exit-code"},
	"timeout": {1, "-k -s --kill-after --signal"},
	"nice":    {0, "-n --adjustment"},
	"ionice":  {0, "-c -n --class --classdata"},
	"chronic": {0, ""},
	"nohup":   {0, ""},
	"setsid":  {0, ""},
}

// wrapped returns the program that words start, and behind wrappers (flock, timeout, nice, …) those that they start. It ends at what
// is not certain: a word that a shell expands, and flock -c, which takes a text for a shell.
func wrapped(words []string) (programs []string) {
	for len(words) > 0 && isPlain(words[0]) {
		programs = append(programs, words[0])
		w, is := wrappers[filepath.Base(words[0])]
		if !is {
			return programs
		}
		words = behind(words[1:], w.words, strings.Fields(w.values))
	}
	return programs
}

// behind returns the words behind the options and so many arguments of a wrapper.
func behind(words []string, arguments int, values []string) []string {
	for len(words) > 0 {
		switch word := words[0]; {
		case word == "-c" && arguments > 0: // flock FILE -c TEXT
			return nil
		case !strings.HasPrefix(word, "-") && arguments == 0:
			return words
		case !strings.HasPrefix(word, "-"):
			if arguments--; arguments == 0 && len(words) > 1 && strings.HasPrefix(words[1], "-c") {
				return nil
			}
		case slices.Contains(values, word) && len(words) > 1:
			words = words[1:]
		}
		words = words[1:]
	}
	return nil
}
