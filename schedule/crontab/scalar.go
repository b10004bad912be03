package crontab

import (
	"strconv"
	"strings"

	"sched/schedule/humanize"
	"sched/schedule/yamldoc"
)

// scalar writes a text plain if YAML takes it for text, else in quotes.
func scalar(text string) string {
	isShowable := !strings.ContainsFunc(text, func(r rune) bool { return !showable(r) })
	if isShowable && plainText().MatchString(text) && !OtherType().MatchString(text) && !yamlMark().MatchString(text) {
		return text
	}
	return quote(text)
}

// flowScalar is scalar for an element of a list or a mapping in one line.
func flowScalar(text string) string {
	if flowMark().MatchString(text) {
		return quote(text)
	}
	return scalar(text)
}

// inline writes a value in one line; write writes a scalar.
func inline(n *yamldoc.Node, write func(string) string) string {
	var parts []string
	switch {
	case n.IsList():
		for _, item := range n.Items() {
			parts = append(parts, inline(item, flowScalar))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case n.IsMapping():
		for key, value := range n.Pairs() {
			parts = append(parts, key.Value+": "+inline(value, flowScalar))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case n.IsBool() || n.IsNull() || n.IsInteger() || n.Tag == "!!float":
		return n.Value
	}
	return write(n.Value)
}

// block writes a command in one line, or as a block if that line would need escapes. The lines of
// the block have the indent.
func block(indent, command string) string {
	if text := scalar(command); !strings.HasPrefix(text, `"`) && !strings.Contains(text, "''") {
		return text
	}
	isHidden := func(r rune) bool { return !showable(r) && r != '\n' }
	if strings.ContainsFunc(command, isHidden) || strings.HasPrefix(command, " ") || strings.HasSuffix(command, "\n") {
		return quote(command)
	}
	var text strings.Builder
	text.WriteString("|-")
	for line := range strings.SplitSeq(command, "\n") {
		text.WriteByte('\n')
		if line != "" {
			text.WriteString(indent + line)
		}
	}
	return text.String()
}

// quote writes a text in the quotes that need fewer escapes.
func quote(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !showable(r) || r == '\t' }) {
		return strconv.Quote(text)
	}
	if strings.ContainsAny(text, `"\`) || strings.HasPrefix(text, "'") {
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	return `"` + text + `"`
}

// printable leaves out what YAML cannot show.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f || r == '\uFFFD' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
}

// escape writes a text for a key in which ${VAR} is expanded.
func escape(text string) string { return strings.ReplaceAll(text, "${", "$${") }

// Texts that YAML takes for text, for a number or the like, for a part of a list or a mapping, and
// for a mark or a comment.
var (
	plainText = humanize.Pattern(`^[A-Za-z0-9/._$(+][^\x00-\x1f\x7f]*$`)
	OtherType = humanize.Pattern(`(?i)^([-+.]?[0-9][-+0-9_.,:exabcdfo]*|[-+]?\.(inf|nan)|true|false|yes|no|on|off|y|n|null|~|=|<<)$|^\d{4}-\d`)
	flowMark  = humanize.Pattern(`[\[\]{},]`)
	yamlMark  = humanize.Pattern(`: |:$| #|\s$`)
)

// showable reports whether a character may stand in YAML as it is.
func showable(r rune) bool {
	return r == '\t' || r >= ' ' && r != 0x7f && !(r >= 0x80 && r < 0xa0) && r != 0x2028 && r != 0x2029 &&
		r != 0xfeff && (r < 0xfff0 || r >= 0x10000)
}
