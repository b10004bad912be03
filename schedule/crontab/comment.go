package crontab

import (
	"strings"
)

var (
	rule     = compiled(`^[\s#=*_.~|+-]*$`)
	heading  = compiled(`(?i)\bm(in\w*)?\s+h(our\w*)?\s+(dom|day)|user-?name\s+command|^\s*[|.*\s-]+\s*(minute|hour|day|month)|edit this file to introduce|regular cron jobs for the \S+ package`)
	trailing = compiled(`\s#\s+([^'"` + "`" + `]+)$`)
)

// mostDescription is the longest comment, in bytes, that becomes a description. A longer one stays
// a comment.
const mostDescription = 160

// describe takes the last paragraph of the comment above an entry for its description, and returns
// the other paragraphs. Lines about a crontab's columns end a comment that is about the file.
func describe(e Entry) (description string, comment []string) {
	var about []string
	ended := false
	for _, line := range e.Comment {
		switch {
		case heading().MatchString(line):
			about, comment = nil, nil
		case rule().MatchString(line):
			ended = true
			continue
		case ended:
			comment, about = append(comment, about...), []string{strings.TrimSpace(line)}
		default:
			about = append(about, strings.TrimSpace(line))
		}
		ended = false
	}
	joined := strings.TrimSuffix(strings.Join(about, " "), ":")
	if len(joined) > mostDescription {
		return "", append(comment, about...)
	}
	if found := trailing().FindStringSubmatch(e.Command); joined == "" && found != nil {
		joined = strings.TrimSpace(found[1])
	}
	return printable(joined), comment
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
