package notify

import (
	"strings"

	"sched/schedule/humanize"
)

// A slackMessage is the body that the incoming webhooks of Slack and Mattermost accept.
type slackMessage struct {
	Text string `json:"text"`
}

// maxSlackOutput is how many bytes of escaped output the text carries. Slack splits texts of more
// than 4,000 characters, and with them the block of code.
const maxSlackOutput = 2500

// slackText is the message as Slack's mrkdwn.
func (m Message) slackText() string {
	var facts []string
	for _, fact := range m.facts() {
		switch fact.name {
		case "server":
			facts = append(facts, "on "+escapeSlack(head(fact.value, 100)))
		case "due", "took":
			facts = append(facts, fact.name+" "+escapeSlack(fact.value))
		case "more":
			facts = append(facts, "`"+strings.ReplaceAll(escapeSlack(head(fact.value, 300)), "`", "'")+"`")
		}
	}
	lines := []string{escapeSlack(m.subject())}
	if description := head(line(m.Description), 300); description != "" {
		lines = append(lines, escapeSlack(description))
	}
	lines = append(lines, strings.Join(facts, ", "))
	if heldBack := m.heldBackText(); heldBack != "" {
		lines = append(lines, heldBack)
	}
	if output := slackCode(m.Output); output != "" {
		lines = append(lines, "```", output, "```")
	}
	return strings.Join(lines, "\n")
}

// slackCode is the escaped end of the output, at most maxSlackOutput bytes long. Nothing in it
// ends the block of code.
func slackCode(output string) string {
	output = strings.ReplaceAll(strings.TrimRight(humanize.Plain(output), " \t\n"), "```", "'''")
	for limit := maxSlackOutput; ; {
		end := strings.Trim(tail(output, limit), "\n")
		escaped := escapeSlack(end)
		if len(escaped) <= maxSlackOutput {
			return escaped
		}
		limit = len(end) - (len(escaped)-maxSlackOutput)/4 - 1 // a character grows by four bytes at most
	}
}

// escapeSlack escapes characters with a meaning for Slack: `<!channel>` in an output would notify
// everybody.
func escapeSlack(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}
