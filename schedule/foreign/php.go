package foreign

import (
	"regexp"
	"strings"

	"sched/schedule/humanize"
)

// withoutComments writes blanks for the comments of PHP. Texts in quotes stay.
func withoutComments(text string) string {
	out := []byte(text)
	for i := 0; i < len(out); i++ {
		switch c := text[i]; {
		case strings.IndexByte(phpQuotes, c) >= 0:
			i = endOfText(text, i)
		case strings.IndexByte("/#", c) >= 0:
			length := commentLength(text[i:])
			blank(out[i : i+length])
			i += max(0, length-1)
		case c == '<':
			if begin, length := heredoc(text[i:]); length > 0 {
				blank(out[i+begin : i+length])
				i += length - 1
			}
		}
	}
	return string(out)
}

// withoutTexts writes blanks for what stands in quotes, in PHP without comments.
func withoutTexts(text string) string {
	out := []byte(text)
	for i := 0; i < len(out); i++ {
		if strings.IndexByte(phpQuotes, text[i]) >= 0 {
			end := endOfText(text, i)
			blank(out[i+1 : max(i+1, min(end, len(out)))])
			i = end
		}
	}
	return string(out)
}

// blank writes a blank for each byte that ends no line.
func blank(text []byte) {
	for i, c := range text {
		if c != '\n' {
			text[i] = ' '
		}
	}
}

const phpQuotes = "'\"`"

// endOfText returns the place of the quote that closes the text whose quote is at a place; the
// length of the PHP if none does.
func endOfText(php string, at int) int {
	for i := at + 1; i < len(php); i++ {
		switch php[i] {
		case '\\':
			i++
		case php[at]:
			return i
		}
	}
	return len(php)
}

// commentLength returns the length of the comment with which a text begins, or 0.
func commentLength(text string) int {
	before, end := 0, "\n"
	switch {
	case strings.HasPrefix(text, "/*"):
		before, end = 2, "*/"
	case strings.HasPrefix(text, "#["), !strings.HasPrefix(text, "//") && text[0] != '#':
		return 0 // an attribute, or a division
	}
	if at := strings.Index(text[before:], end); at >= 0 {
		return before + at + len(end)
	}
	return len(text)
}

var heredocBegin = humanize.Pattern(`^<<<[ \t]*(?:"(\w+)"|'(\w+)'|(\w+))[ \t]*\r?\n`)

// heredoc returns where the lines of the heredoc begin with which a text begins, and the length of
// it all; 0 if the text begins with none.
func heredoc(text string) (begin, length int) {
	found := heredocBegin().FindStringSubmatch(text)
	if found == nil {
		return 0, 0
	}
	begin = len(found[0])
	last := regexp.MustCompile(`(?m)^[ \t]*` + found[1] + found[2] + found[3] + `\b`).FindStringIndex(text[begin:])
	if last == nil {
		return begin, len(text)
	}
	return begin, begin + last[1]
}
