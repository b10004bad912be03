package preflight

import (
	"path/filepath"
	"slices"
	"strings"

	"sched/schedule"
)

// This file finds the script that an interpreter is given, and the program behind nohup and other
// wrappers.

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

// A wrapper runs the program behind its options and operands.
type wrapper struct {
	name     string
	flags    string // letters of options that take no value
	valued   string // letters of options that take a value, in the same word or in the next one
	operands int    // how many words follow the options
}

// wrappers are programs of util-linux and GNU coreutils. A long option must have its value behind a
// =, or be without one.
var wrappers = []wrapper{
	{name: "nohup"},
	{name: "setsid", flags: "cfw"},
	{name: "nice", valued: "n"},
	{name: "ionice", flags: "t", valued: "cn"},
	{name: "stdbuf", valued: "ioe"},
	{name: "timeout", flags: "v", valued: "ks", operands: 1},
	{name: "flock", flags: "eFnosux", valued: "Ew", operands: 1},
}

// longFlags are the long options of wrappers that take no value.
const longFlags = "--exclusive --fork --foreground --ignore --no-fork --nonblock " +
	"--preserve-status --shared --verbose"

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
		isOption := strings.HasPrefix(word, "--") && isPlainWord(strings.Replace(word, "=", "", 1))
		if !isPlainWord(word) && !isOption {
			break
		}
		words = append(words, word)
		if isLast {
			break
		}
	}
	return words
}

// behind returns the words behind the wrapper with its options and operands; nil if uncertain.
func (w wrapper) behind(words []string) []string {
	for rest := words[1:]; len(rest) > 0; rest = rest[1:] {
		option := rest[0]
		switch {
		case !strings.HasPrefix(option, "-"):
			if len(rest) <= w.operands || strings.HasPrefix(rest[w.operands], "-") {
				return nil
			}
			return rest[w.operands:]
		case slices.Contains(strings.Fields(longFlags), option):
		case strings.HasPrefix(option, "--") && strings.Contains(option, "="):
		case len(option) > 1 && strings.Trim(option[1:], w.flags) == "":
		case len(option) > 2 && strings.Contains(w.valued, option[1:2]):
		case len(option) == 2 && strings.Contains(w.valued, option[1:]) && len(rest) > 1:
			rest = rest[1:]
		default:
			return nil
		}
	}
	return nil
}

// unwrap returns the words of the program that wrappers start at last, and the names of the
// wrappers and programs that they start on the way. It returns the words themselves for a command
// without wrappers, and no words if uncertain.
func unwrap(words []string) (last, programs []string) {
	for len(words) > 0 {
		i := slices.IndexFunc(wrappers, func(w wrapper) bool { return w.name == filepath.Base(words[0]) })
		if i < 0 {
			return words, programs
		}
		words = wrappers[i].behind(words)
		if len(words) > 0 {
			programs = append(programs, words[0])
		}
	}
	return nil, programs
}

// wrapped returns the programs that the command starts by wrappers.
func wrapped(c schedule.Command) []string {
	_, programs := unwrap(firstWords(c))
	return programs
}

// scriptOf returns the interpreter with which a command begins, and the file that it will run. Both
// are "" if uncertain.
func scriptOf(c schedule.Command) (program, script string) {
	words, _ := unwrap(firstWords(c))
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
