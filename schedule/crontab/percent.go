package crontab

import "strings"

// percent applies the rules of cron for % and \ to the text after the fields: the command ends at
// the first % without a \ before it, and what follows is its standard input, in which % is a line
// break. \% is a %, and in the command \\ is a \. input is nil where there is none.
func percent(text string) (command string, input *string) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '%':
			in := inputOf(text[i+1:])
			return b.String(), &in
		case c == '\\' && i+1 < len(text) && (text[i+1] == '%' || text[i+1] == '\\'):
			i++
			b.WriteByte(text[i])
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteString(text[i-1 : i+1])
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), nil
}

// inputOf adds a line break at the end unless there is nothing to write.
func inputOf(text string) string {
	text = strings.ReplaceAll(text, `\%`, "\x00")
	text = strings.ReplaceAll(text, "%", "\n")
	text = strings.ReplaceAll(text, "\x00", "%")
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}
