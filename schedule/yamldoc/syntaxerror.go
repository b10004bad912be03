package yamldoc

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

// A syntaxError explains an error of the YAML parser.
type syntaxError struct {
	message string // the message of the parser has this part; empty for any message
	line    string // the line with the error matches this regexp, whose group begins at the error; empty for any
	text    string // for people
	hint    string
}

// flowHint is the hint for a plain text that cannot stand inside brackets.
const flowHint = "put the whole value in quotes, or write each key on a line of its own"

// syntaxErrors explain errors. The first one whose message and line fit counts. Regexps are
// compiled only after an error.
var syntaxErrors = []syntaxError{
	{
		line: `^(<<<<<<<|>>>>>>>|=======)`,
		text: "a mark of a merge conflict",
		hint: "decide for one of the two versions",
	},
	{
		line: `^ *(\t)`,
		text: "the indentation holds a tab",
		hint: "indent with spaces",
	},
	{
		line: `^[ -]*(\x{a0})`,
		text: "the indentation holds a no-break space",
		hint: "text from a web page has such spaces: write a blank for it",
	},
	{
		line: `:(\x{a0})`,
		text: "a no-break space follows the colon",
		hint: "text from a web page has such spaces: write a blank for it",
	},
	{
		message: "tab character",
		text:    "a tab stands where only spaces may",
		hint:    "indent with spaces",
	},
	{
		message: "cannot start any token",
		line:    "(?:[:,\\[-]\\s+|^\\s*)(`)",
		text:    "text cannot start with a backtick",
		hint:    "put the text in quotes; a shell runs what stands in $(…)",
	},
	{
		message: "cannot start any token",
		line:    "(?:[:,\\[-]\\s+|^\\s*)(@)",
		text:    "text cannot start with this character",
		hint:    "put the text in quotes, as in `cron: \"@daily\"`",
	},
	{
		message: "cannot start any token",
		line:    `(?:[:,\[-]\s+|^\s*)(%)`,
		text:    "text cannot start with this character",
		hint:    "put the text in quotes",
	},
	{
		message: "alphabetic or numeric",
		line:    `(?:[:,\[-]\s+|^\s*)([*&])`,
		text:    "text cannot start with this character",
		hint:    "put the text in quotes, as in `cron: \"*/5 * * * *\"`",
	},
	{
		message: "alphabetic or numeric",
		line:    `[:-]\s+(\[).*\]\s+&&`,
		text:    "something follows the closing bracket",
		hint:    "put the whole text in quotes",
	},
	{
		message: "expected comment or line break",
		line:    `[:-]\s+([|>])\s*[^\s#]`,
		text:    "text cannot start with this character",
		hint:    "put the text in quotes",
	},
	{
		message: "mapping values are not allowed",
		line:    `: .*?(:)(?: |$)`,
		text:    "a second \": \" in one line",
		hint:    "put the text in quotes, or start a new line",
	},
	{
		message: "mapping values are not allowed",
		text:    "a key stands where none may",
		hint:    "check the indentation of this line and the one above",
	},
	{
		message: "unknown anchor",
		line:    `(?:[:,\[-]\s+|^\s*)(\*)`,
		text:    "an alias of something that is not there",
		hint:    "text that starts with \"*\" needs quotes",
	},
	{
		message: "contains itself",
		text:    "an alias inside the value it stands for",
	},
	{
		message: "did not find expected key",
		line:    `[:-]\s+(["'\[{]).*["'\]}]\s*[^\s#]`,
		text:    "something follows the closing quote or bracket",
		hint:    "put the whole text in quotes, or write it after `|` on a line of its own",
	},
	{
		message: "did not find expected key",
		text:    "this line does not fit the ones above",
		hint:    "check the indentation, and the quotes and brackets",
	},
	{
		message: "'-' indicator",
		text:    "this line does not fit the list above",
		hint:    "check the indentation, and that each entry starts with `- `",
	},
	{
		message: "block sequence entries",
		text:    "a list cannot start here",
		hint:    "start it on a line of its own",
	},
	{
		message: "expected ','",
		line:    `[:,\[{]\s*[^"'\s{\[,]*?(\$+\{)`,
		text:    "a brace inside a mapping or a list in brackets",
		hint:    "put the text with ${…} in quotes there",
	},
	{
		message: "expected ','",
		line:    `[{,]\s*[\w-]+: +[^\s"'\[{,][^,}]*?(: )`,
		text:    "a second \": \" in a value inside {…}",
		hint:    "put a comma before a new key; else " + flowHint,
	},
	{
		message: "expected ','",
		line:    `[{,]\s*[\w-]+: +[^\s"'\[{,][^,}]*?\s(#)`,
		text:    "a \"#\" after a blank begins a comment, also inside {…}",
		hint:    flowHint,
	},
	{
		message: "expected ','",
		line:    `[{,]\s*[\w-]+: +[^\s"'\[{,][^,}]*?([\[{])`,
		text:    "a bracket in a value inside {…}",
		hint:    flowHint,
	},
	{
		message: "expected ','",
		line:    `[{,]\s*[\w-]+: +("[^"]*"|'[^']*')\s*[^\s,}\]]`,
		text:    "something follows the closing quote",
		hint:    "put the whole text in quotes, or write each key on a line of its own",
	},
	{
		message: "expected ','",
		text:    "a comma or the closing bracket is missing",
		hint:    "inside {…} and […] commas part the values; a text with a comma, a bracket or \": \" needs quotes",
	},
	{
		message: "expected node content",
		text:    "a value is missing, or a bracket is not closed",
	},
	{
		message: "could not find expected ':'",
		text:    "a key without `:`",
		hint:    "write `key: value`; check the indentation",
	},
	{
		message: "found unexpected end of stream",
		line:    `[:,\[{-]\s+(["'])[^"']*$`,
		text:    "the quotes are not closed",
		hint:    "close them where the text ends",
	},
	{
		message: "found unexpected end of stream",
		text:    "the quotes are not closed",
		hint:    "close them where the text ends",
	},
	{
		message: "unknown escape character",
		line:    `(\\[^0abtnvfre "/\\N_LPxuU])`,
		text:    "an unknown escape in double quotes",
		hint:    `write a backslash as \\, or use single quotes`,
	},
}

// reportSyntaxError records the error of the YAML parser, at its true place and in our words.
func reportSyntaxError(r *Report, data []byte, err error) {
	lines := bytes.SplitAfter(data, []byte("\n"))
	message := regexp.MustCompile(`^yaml: (line \d+: )?`).ReplaceAllString(err.Error(), "")
	line := brokenLine(data, lines)
	problem := explainByLineAbove(lines, line, message)
	if problem == nil {
		problem = explain(lines, line, message)
	}
	problem.Place.File = r.File
	r.ProblemAt(problem.Place, problem.Hint, "%s", problem.Text)
}

// explainByLineAbove explains an error whose cause is in a line above the broken one. It returns
// nil for any other error.
func explainByLineAbove(lines [][]byte, line int, message string) *Problem {
	switch {
	case strings.Contains(message, "could not find expected ':'"):
		if regexp.MustCompile(`: *[|>][-+0-9]*\s*$`).Match(lineOf(lines, line-1)) {
			return &Problem{
				Place: Place{Line: line, Column: columnOfText(lineOf(lines, line))},
				Text:  "the text of the key above is not indented",
				Hint:  "indent its lines further than the key",
			}
		}
	case strings.Contains(message, "mapping values are not allowed"):
		if column := keyWithoutSpace(lineOf(lines, line-1)); column > 0 {
			return &Problem{
				Place: Place{Line: line - 1, Column: column},
				Text:  "a colon without a space after it",
				Hint:  "write `key: value`",
			}
		}
		if above, key, value := keyWithoutColon(lines, line); above > 0 {
			return &Problem{
				Place: Place{Line: above, Column: 1 + bytes.Index(lineOf(lines, above), []byte(key))},
				Text:  "a key without `:`",
				Hint:  "write `" + strings.TrimSpace(key+": "+value) + "`; or check the indentation",
			}
		}
	}
	return nil
}

// explain explains an error by the first of syntaxErrors that fits.
func explain(lines [][]byte, line int, message string) *Problem {
	text := lineOf(lines, line)
	problem := &Problem{Place: Place{Line: line, Column: columnOfText(text)}}
	for _, known := range syntaxErrors {
		if !strings.Contains(message, known.message) {
			continue
		}
		if known.line != "" {
			match := regexp.MustCompile(known.line).FindSubmatchIndex(text)
			if match == nil {
				continue
			}
			problem.Place.Column = 1 + utf8.RuneCount(text[:match[2]])
		}
		problem.Text, problem.Hint = known.text, known.hint
		return problem
	}
	problem.Text = "the YAML is broken: " + message
	return problem
}

// columnOfText returns the column of the first character of a line that is not a space.
func columnOfText(line []byte) int { return 1 + len(line) - len(bytes.TrimLeft(line, " ")) }

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
