package notify

import "strings"

// slackMessage is what the incoming webhooks of Slack and Mattermost take.
type slackMessage struct {
	Text string `json:"text"`
}

// slackLimit is how much output a message has: Slack breaks messages of more than 4,000 characters in two, and with them the
// block of code.
const slackLimit = 2500

// slack is the news as the text of a message: what happened, the facts, and the end of the output as code.
func (m Message) slack() string {
	var facts []string
	for _, fact := range m.facts() {
		switch fact[0] {
		case "server":
			facts = append(facts, "on "+slackEscaped(head(fact[1], 100)))
		case "due", "took":
			facts = append(facts, fact[0]+" "+slackEscaped(fact[1]))
		case "more":
			facts = append(facts, "`"+strings.ReplaceAll(slackEscaped(head(fact[1], 300)), "`", "'")+"`")
		}
	}
	lines := []string{slackEscaped(m.subject())}
	if description := head(line(m.Description), 300); description != "" {
		lines = append(lines, slackEscaped(description))
	}
	lines = append(lines, strings.Join(facts, ", "))
	if held := m.heldBack(); held != "" {
		lines = append(lines, held)
	}
	if output := slackCode(m.Output); output != "" {
		lines = append(lines, "```", output, "```")
	}
	return strings.Join(lines, "\n")
}

// slackCode is the end of the output, escaped, such that nothing in it ends the block of code.
func slackCode(output string) string {
	output = strings.ReplaceAll(strings.TrimRight(plain(output), " \t\n"), "```", "'''")
	for limit := slackLimit; ; {
		cut := strings.Trim(tail(output, limit), "\n")
		escaped := slackEscaped(cut)
		if len(escaped) <= slackLimit {
			return escaped
		}
		limit = len(cut) - (len(escaped)-slackLimit)/4 - 1 // a character grows by four bytes at most
	}
}

// slackEscaped escapes the three characters that Slack wants escaped: `<!channel>` in an output would call
// everybody.
func slackEscaped(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}
