package schedule

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// parse returns the one value that the text is, without aliases and merge keys, or nil and a problem.
func (l *loader) parse(data []byte) *yaml.Node {
	if line, column, text := notText(data); text != "" {
		l.badAt(Place{l.at, line, column}, "", "%s", text)
		return nil
	}
	documents, err := documentsOf(bytes.NewReader(data))
	switch {
	case err != nil:
		l.syntax(data, err)
	case len(documents) > 1:
		l.bad(documents[1], "remove the line `---`", "a second document starts here, and a schedule is one")
	case len(documents) == 0 || isNull(documents[0].Content[0]):
		l.badAt(Place{l.at, 1, 1}, "a schedule starts with `tasks:`", "the file is empty")
	default:
		root := documents[0].Content[0]
		if l.resolve(root, data) {
			return root
		}
	}
	return nil
}

// documentsOf returns the first two documents of the text.
func documentsOf(r io.Reader) (documents []*yaml.Node, err error) {
	defer func() { // yaml.v3 panics on a few texts that it reads wrongly itself
		if v := recover(); v != nil {
			err = errors.New("this is not YAML that can be read")
		}
	}()
	decoder := yaml.NewDecoder(r)
	for len(documents) < 2 {
		n := new(yaml.Node)
		if err := decoder.Decode(n); err == io.EOF {
			return documents, nil
		} else if err != nil {
			return nil, err
		}
		documents = append(documents, n)
	}
	return documents, nil
}

// notText returns the first place that holds what YAML text may not hold, and what that is.
func notText(data []byte) (line, column int, text string) {
	line, column = 1, 1
	for i := 0; i < len(data); {
		c := data[i]
		switch {
		case c == '\n':
			line, column = line+1, 0
		case c >= ' ' && c < 0x7f || c == '\t' || c == '\r':
		case c < utf8.RuneSelf:
			return line, column, fmt.Sprintf("the file holds the control character 0x%02x: it is not text", c)
		default:
			r, size := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && size == 1 {
				return line, column, fmt.Sprintf("the byte 0x%02x is not UTF-8: the file is not text in UTF-8", c)
			}
			if r >= 0x80 && r < 0xa0 && r != 0x85 || r == 0xfffe || r == 0xffff {
				return line, column, fmt.Sprintf("the file holds the control character 0x%02x: it is not text", r)
			}
			i += size - 1
		}
		i++
		column++
	}
	return 0, 0, ""
}

// A fault is an error of the YAML parser in our words.
type fault struct {
	says       string // by the parser, or a part of it
	line       string // a regexp: what the line looks like where this fault is meant; its group is the column
	text, hint string
}

// faults are in order: the first that fits is the one. They are compiled when they are needed, since
// every start of sched would pay for it.
var faults = []fault{
	{"", `^(<<<<<<<|>>>>>>>|=======)`, "a mark of a merge conflict", "decide for one of the two versions"},
	{"", `^ *(\t)`, "the indentation holds a tab", "indent with spaces"},
	{"tab character", "", "a tab stands where only spaces may", "indent with spaces"},
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

// syntax notes the error of the YAML parser, at its true place and in our words.
func (l *loader) syntax(data []byte, err error) {
	line, says := faultLine(data), strings.TrimPrefix(err.Error(), "yaml: ")
	says = regexp.MustCompile(`^line \d+: `).ReplaceAllString(says, "")
	text := string(lineOf(data, line))
	at := Place{l.at, line, 1 + len(text) - len(strings.TrimLeft(text, " "))}
	for _, f := range faults {
		if !strings.Contains(says, f.says) {
			continue
		}
		if f.line != "" {
			found := regexp.MustCompile(f.line).FindStringSubmatchIndex(text)
			if found == nil {
				continue
			}
			at.Column = 1 + utf8.RuneCountInString(text[:found[2]])
		}
		l.badAt(at, f.hint, "%s", f.text)
		return
	}
	l.badAt(at, "", "the YAML is broken: %s", says)
}

// faultLine returns the line that breaks the text: the one up to which all is well, and with which
// no longer. The parser itself names the line where the enclosing block began.
//
// The parser sees a fault at most a few lines after it, so we go back from there. Only quotes and
// brackets that are not closed are seen much later: then we halve what is before. In a text so
// large that this would take seconds, the line is where the parser stopped.
func faultLine(data []byte) int {
	lines := &lineReader{data: data}
	documentsOf(lines)
	fine := func(line int) bool {
		_, err := documentsOf(bytes.NewReader(data[:lines.end(line)]))
		return err == nil
	}
	const small = 2 << 20
	broken, work := max(lines.lines, 1), 0
	for back := 0; broken > 1 && back < 30 && work < small; back++ {
		if fine(broken - 1) {
			return broken
		}
		broken--
		work += lines.end(broken)
	}
	good := 0
	for broken-good > 1 && len(data) <= small {
		if middle := (good + broken) / 2; fine(middle) {
			good = middle
		} else {
			broken = middle
		}
	}
	return broken
}

// A lineReader gives a line at a time and so knows how far its reader has come.
type lineReader struct {
	data  []byte
	at    int
	lines int
	ends  []int
}

func (r *lineReader) Read(p []byte) (int, error) {
	if r.at == len(r.data) {
		return 0, io.EOF
	}
	rest := r.data[r.at:]
	if i := bytes.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i+1]
	}
	n := copy(p, rest)
	r.at += n
	if n == len(rest) {
		r.lines++
		r.ends = append(r.ends, r.at)
	}
	return n, nil
}

// end returns where the line ends, counted from 1.
func (r *lineReader) end(line int) int {
	if line < 1 || line > len(r.ends) {
		return 0
	}
	return r.ends[line-1]
}

// lineOf returns a line without its end, counted from 1.
func lineOf(data []byte, line int) []byte {
	for range line - 1 {
		i := bytes.IndexByte(data, '\n')
		if i < 0 {
			return nil
		}
		data = data[i+1:]
	}
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		data = data[:i]
	}
	return bytes.TrimSuffix(data, []byte("\r"))
}
