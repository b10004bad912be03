package preflight

import (
	"path/filepath"
	"slices"
	"strings"

	"sched/schedule"
)

// This file finds the script that an interpreter is given, and the program behind nohup.

// An interpreter runs the file that is its first argument.
type interpreter struct {
	names      string // without a version
	options    string // letters of options that take no value, and after which the file follows
	extensions string // the file is looked for as it is only with one of them; empty for any file
}

var interpreters = []interpreter{
	{names: "sh dash ash bash ksh zsh", options: "eux"},
	{names: "python", options: "uBEsO"},
	{names: "php perl ruby Rscript"},
	{names: "node nodejs", extensions: ".js .mjs .cjs .ts"},
}

// wrappers run the program that is their first argument.
var wrappers = []string{"nohup", "setsid"}

// firstWords returns the words with which a command begins, as far as no shell changes them.
func firstWords(c schedule.Command) (words []string) {
	if len(c.List) > 0 {
		return c.List
	}
	if len(c.Shell) == 0 || !isShell(c.Shell[0]) || slices.ContainsFunc(c.Shell[1:], readsProfile) ||
		FirstProgram(c.Line) == "" {
		return nil
	}
	for _, word := range strings.Fields(c.Line) {
		word, isLast := strings.CutSuffix(word, ";")
		if !isPlainWord(word) {
			break
		}
		words = append(words, word)
		if isLast {
			break
		}
	}
	return words
}

// wrapped returns the program that the command starts by a wrapper, or "" if uncertain.
func wrapped(c schedule.Command) string {
	words := firstWords(c)
	if len(words) < 2 || !slices.Contains(wrappers, filepath.Base(words[0])) || strings.HasPrefix(words[1], "-") {
		return ""
	}
	return words[1]
}

// scriptOf returns the interpreter with which a command begins, and the file that it will run. Both
// are "" if uncertain.
func scriptOf(c schedule.Command) (program, script string) {
	words := firstWords(c)
	if wrapped(c) != "" {
		words = words[1:]
	}
	if len(words) < 2 {
		return "", ""
	}
	name := strings.TrimRight(filepath.Base(words[0]), "0123456789.")
	for _, i := range interpreters {
		if !slices.Contains(strings.Fields(i.names), name) {
			continue
		}
		rest := words[1:]
		if letters, isOption := strings.CutPrefix(rest[0], "-"); isOption && letters != "" &&
			strings.Trim(letters, i.options) == "" {
			rest = rest[1:]
		}
		isFile := len(rest) > 0 && rest[0] != "" && !strings.ContainsAny(rest[0][:1], "-+") &&
			(i.extensions == "" || slices.Contains(strings.Fields(i.extensions), filepath.Ext(rest[0])))
		if isFile {
			return words[0], rest[0]
		}
	}
	return "", ""
}
