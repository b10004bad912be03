package yamldoc

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

type syntaxError struct {
	message    string // of the parser, or a part of it
	line       string // a regexp for the line that has this error; its group is the column
	text, hint string
}

// syntaxErrors are in order: the first that fits counts. Regexps are compiled only after an error.
var syntaxErrors = []syntaxError{
	{"", `^(<<<<<<<|>>>>>>>|=======)`, "a mark of a merge conflict", "decide for one of the two versions"},
	{"", `^ *(\t)`, "the indentation holds a tab", "indent with spaces"},
	{"tab character", "", "a tab stands where only spaces may", "indent with spaces"},
	{"cannot start any token", "(?:[:,\\[-]\\s+|^\\s*)(`)", "text cannot start with a backtick",
		"put the text in quotes; a shell runs what stands in $(…)"},
	{"cannot start any token", "(?:[:,\\[-]\\s+|^\\s*)([@`%])", "text cannot start with this character",
		"put the text in quotes, as in `cron: \"@daily\"`"},
	{"alphabetic or numeric", `(?:[:,\[-]\s+|^\s*)([*&])`, "text cannot start with this character",
		"put the text in quotes, as in `cron: \"*/5 * * * *\"`"},
	{"mapping values are not allowed", `: .*?(:)(?: |$)`, "a second \": \" in one line",
		"put the text in quotes, or start a new line"},
	{"mapping values are not allowed", "", "a key stands where none may", "check the indentation of this line and the one above"},
	{"unknown anchor", `(?:[:,\[-]\s+|^\s*)(\*)`, "an alias of something that is not there",
		"text that starts with \"*\" needs quotes"},
	{"contains itself", "", "an alias inside the value it stands for", ""},
	{"did not find expected key", `[:-]\s+(["'\[{]).*["'\]}]\s*[^\s#]`, "something follows the closing quote or bracket",
		"put the whole text in quotes, or write it after `|` on a line of its own"},
	{"did not find expected key", "", "this line does not fit the ones above", "check the indentation, and the quotes and brackets"},
	{"'-' indicator", "", "this line does not fit the list above", "check the indentation, and that each entry starts with `- `"},
	{"block sequence entries", "", "a list cannot start here", "start it on a line of its own"},
	{"expected ','", `[:,\[{]\s*[^"'\s{\[,]*?(\$+\{)`, "a brace inside a mapping or a list in brackets", "put the text with ${…} in quotes there"},
	{"expected ','", "", "a comma or the closing bracket is missing", ""},
	{"expected node content", "", "a value is missing, or a bracket is not closed", ""},
	{"could not find expected ':'", "", "a key without `:`", "write `key: value`; check the indentation"},
	{"found unexpected end of stream", "", "the quotes are not closed", ""},
	{"unknown escape character", `(\\[^0abtnvfre "/\\N_LPxuU])`, "an unknown escape in double quotes",
		`write a backslash as \\, or use single quotes`},
}

// reportSyntaxError records the error of the YAML parser, at its true place and in our words.
func reportSyntaxError(r *Reader, data []byte, err error) {
	lines := bytes.SplitAfter(data, []byte("\n"))
	line, message := brokenLine(data, lines), strings.TrimPrefix(err.Error(), "yaml: ")
	message = regexp.MustCompile(`^line \d+: `).ReplaceAllString(message, "")
	text := string(lineOf(lines, line))
	if match := keyWithoutSpace(lineOf(lines, line-1)); match > 0 && strings.Contains(message, "mapping values are not allowed") {
		r.ProblemAt(Place{r.File, line - 1, match}, "write `key: value`", "a colon without a space after it")
		return
	}
	if above, key, value := keyWithoutColon(lines, line); above > 0 && strings.Contains(message, "mapping values are not allowed") {
		at := Place{r.File, above, 1 + strings.Index(string(lineOf(lines, above)), key)}
		r.ProblemAt(at, "write `"+strings.TrimSpace(key+": "+value)+"`; or check the indentation", "a key without `:`")
		return
	}
	at := Place{r.File, line, 1 + len(text) - len(strings.TrimLeft(text, " "))}
	for _, known := range syntaxErrors {
		if !strings.Contains(message, known.message) {
			continue
		}
		if known.line != "" {
			match := regexp.MustCompile(known.line).FindStringSubmatchIndex(text)
			if match == nil {
				continue
			}
			at.Column = 1 + utf8.RuneCountInString(text[:match[2]])
		}
		r.ProblemAt(at, known.hint, "%s", known.text)
		return
	}
	r.ProblemAt(at, "", "the YAML is broken: %s", message)
}

// keyWithoutSpace returns the column of the colon in a line such as "- name:a", which YAML takes
// for a text. It returns 0 for any other line.
func keyWithoutSpace(line []byte) int {
	match := regexp.MustCompile(`^\s*(?:- +)?[a-z_]+(:)[^\s:/]\S*\s*$`).FindSubmatchIndex(line)
	if match == nil {
		return 0
	}
	return 1 + utf8.RuneCount(line[:match[2]])
}

// keyWithoutColon returns the line above if it looks like "- name a", with its key and its value;
// else 0. Blank lines between the two do not count. A broken line with two colons has its own
// message.
func keyWithoutColon(lines [][]byte, broken int) (line int, key, value string) {
	if regexp.MustCompile(`: .*?:(?: |$)`).Match(lineOf(lines, broken)) {
		return 0, "", ""
	}
	for line = broken - 1; line > 0; line-- {
		text := bytes.TrimSpace(lineOf(lines, line))
		if len(text) == 0 {
			continue
		}
		if found := regexp.MustCompile(`^(?:- +)?([a-z_]+)(?: +([^:#]+))?$`).FindSubmatch(text); found != nil {
			return line, string(found[1]), string(found[2])
		}
		break
	}
	return 0, "", ""
}

// brokenLine returns the line from which on the text is invalid. The parser names only the first
// line of the enclosing block.
//
// Most errors are near the line at which the parser stopped, so the search goes back line by line.
// For open quotes and brackets it halves the text before that line. In a huge text the result is
// the line at which the parser stopped.
func brokenLine(data []byte, lines [][]byte) int {
	parsed := &lineReader{lines: lines}
	documentsOf(parsed)
	sizeOf := func(lines [][]byte) (size int) {
		for _, line := range lines {
			size += len(line)
		}
		return size
	}
	isValid := func(line int) bool {
		_, err := documentsOf(bytes.NewReader(data[:sizeOf(lines[:line])]))
		return err == nil
	}
	const small = 2 << 20
	broken, work := max(parsed.read, 1), 0
	for back := 0; broken > 1 && back < 30 && work < small; back++ {
		if isValid(broken - 1) {
			return broken
		}
		broken--
		work += sizeOf(lines[:broken])
	}
	valid := 0
	for broken-valid > 1 && len(data) <= small {
		if middle := (valid + broken) / 2; isValid(middle) {
			valid = middle
		} else {
			broken = middle
		}
	}
	return broken
}

// A lineReader returns one line with each call of Read, and counts the lines that were read.
type lineReader struct {
	lines [][]byte
	rest  []byte // of the last line that was read
	read  int
}

func (r *lineReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		if r.read == len(r.lines) || len(r.lines[r.read]) == 0 {
			return 0, io.EOF
		}
		r.rest = r.lines[r.read]
		r.read++
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// lineOf returns a line without its end, counted from 1.
func lineOf(lines [][]byte, line int) []byte {
	if line < 1 || line > len(lines) {
		return nil
	}
	return bytes.TrimRight(lines[line-1], "\r\n")
}
