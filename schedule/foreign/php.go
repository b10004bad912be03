package foreign

import (
	"slices"
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
			for k := range length {
				if text[i+k] != '\n' {
					out[i+k] = ' '
				}
			}
			i += max(0, length-1)
		}
	}
	return string(out)
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

var (
	phpIf = humanize.Pattern(
		`(?i)\b(if|else|elseif|for|foreach|while|do|switch|match|try|catch|when|unless|each|map)\b`)
	phpEnd   = humanize.Pattern(`(?i)\bend(if|for|foreach|while|switch)\b`)
	phpLeave = humanize.Pattern(`(?i)\b(return|exit|die|throw|abort(_if|_unless)?)\b`)
)

// phpBlocks are the blocks around a place in PHP without comments.
type phpBlocks struct {
	isAlternative bool   // some blocks have no braces, or a condition leaves before the place
	at, begin     int    // what was read, and where the last statement begins
	quote         byte   // the text that is open
	conditional   []bool // for each brace that is open: it belongs to if, foreach and the like

	bodies map[int]bool // of functions: the places of braces, and whether they are conditional
}

// read reads on, and reports whether the statement that begins there depends on others. The
// text before floor is no part of the statement.
func (b *phpBlocks) read(text string, to, floor int) (isConditional bool) {
	for ; b.at < to; b.at++ {
		switch c := text[b.at]; {
		case b.quote != 0 && c == '\\':
			b.at++
		case b.quote != 0:
			if c == b.quote {
				b.quote = 0
			}
		case c == '\'' || c == '"':
			b.quote = c
		case c == ';':
			b.isAlternative = b.isAlternative || b.isGuard(text[b.begin:b.at])
			b.begin = b.at + 1
		case c == '{':
			isConditional, isKnown := b.bodies[b.at]
			b.conditional = append(b.conditional, isConditional || !isKnown && phpIf().MatchString(text[b.begin:b.at]))
			b.begin = b.at + 1
		case c == '}':
			b.conditional, b.begin = b.conditional[:max(0, len(b.conditional)-1)], b.at+1
		}
	}
	before := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text[max(min(b.begin, to), floor):to]), "<?php"))
	return b.isInside() || b.isAlternative || before != ""
}

// isInside reports whether one of the open braces belongs to a condition.
func (b *phpBlocks) isInside() bool {
	return slices.Contains(b.conditional, true)
}

// isGuard reports whether a statement leaves if something holds.
func (b *phpBlocks) isGuard(statement string) bool {
	return phpLeave().MatchString(statement) && (b.isInside() || phpIf().MatchString(statement))
}
