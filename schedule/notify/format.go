package notify

import (
	"slices"
	"strings"

	"sched/schedule/humanize"
)

// A Format says what the body of a webhook looks like.
type Format string

const (
	Plain   Format = ""        // every field of the message as JSON, as docs/notifications.md lists them
	Slack   Format = "slack"   // one text, for the incoming webhooks of Slack and Mattermost
	Text    Format = "text"    // plain text, for ntfy and the like
	Teams   Format = "teams"   // an adaptive card, for workflows of Microsoft Teams
	Discord Format = "discord" // for the webhooks of Discord
)

func (f Format) known() bool { return slices.Contains([]Format{Plain, Slack, Text, Teams, Discord}, f) }

// The bytes of output that a body carries.
const (
	// maxOutput: Slack splits texts of more than 4,000 characters, and with them the block of code;
	// ntfy makes an attachment of more than 4,096 bytes.
	maxOutput = 2500
	// maxDiscord is how much of the 2,000 characters of Discord the whole text may take.
	maxDiscord = 1950
)

// body returns what is posted in a format, as a text or as a value for JSON.
func (m Message) body(f Format) any {
	switch f {
	case Slack:
		return map[string]string{"text": joinLines(m.summary(escapeSlack), "```", m.slackCode(), "```")}
	case Text:
		return joinLines(m.summary(func(text string) string { return text }), "", m.codeOf(maxOutput))
	case Teams:
		return m.card()
	case Discord:
		return m.discord()
	}
	return m.webhookBody()
}

// summary is the message without its output, in lines; escape is for foreign text.
func (m Message) summary(escape func(string) string) []string {
	var facts []string
	for _, fact := range m.facts() {
		switch fact.name {
		case "server":
			facts = append(facts, "on "+escape(head(fact.value, 100)))
		case "due", "took":
			facts = append(facts, fact.name+" "+escape(fact.value))
		case "more":
			facts = append(facts, "`"+strings.ReplaceAll(escape(head(fact.value, 300)), "`", "'")+"`")
		}
	}
	lines := []string{escape(m.subject())}
	if description := head(line(m.Description), 300); description != "" {
		lines = append(lines, escape(description))
	}
	lines = append(lines, strings.Join(facts, ", "))
	if heldBack := m.heldBackText(); heldBack != "" {
		lines = append(lines, heldBack)
	}
	return lines
}

// codeOf is the end of the output, at most so many bytes. Nothing in it ends a block of code.
func (m Message) codeOf(limit int) string {
	output := strings.ReplaceAll(strings.TrimRight(humanize.Plain(m.Output), " \t\n"), "```", "'''")
	return strings.Trim(tail(output, max(0, limit)), "\n")
}

// joinLines joins lines and the output, if there is any, behind a separator and before others.
func joinLines(lines []string, before, output string, after ...string) string {
	if output != "" {
		lines = append(append(lines, before, output), after...)
	}
	return strings.Join(lines, "\n")
}

// slackCode is the escaped end of the output, at most maxOutput bytes long.
func (m Message) slackCode() string {
	for limit := maxOutput; ; {
		end := m.codeOf(limit)
		escaped := escapeSlack(end)
		if len(escaped) <= maxOutput {
			return escaped
		}
		limit = len(end) - (len(escaped)-maxOutput)/4 - 1 // a character grows by four bytes at most
	}
}

// escapeSlack escapes characters with a meaning for Slack: `<!channel>` in an output would notify
// everybody.
func escapeSlack(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// A discordMessage is the body that the webhooks of Discord accept. Nothing in it calls anybody.
type discordMessage struct {
	Content  string              `json:"content"`
	Mentions map[string][]string `json:"allowed_mentions"`
}

func (m Message) discord() discordMessage {
	escape := strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "~", `\~`, "|", `\|`, "`", "\\`").Replace
	lines := m.summary(escape)
	rest := maxDiscord - len(strings.Join(lines, "\n"))
	text := joinLines(lines, "```", m.codeOf(rest), "```")
	return discordMessage{head(text, 2000), map[string][]string{"parse": {}}}
}

// A teamsMessage is the body that a workflow of Teams posts as a card.
type teamsMessage struct {
	Type        string            `json:"type"`
	Attachments []teamsAttachment `json:"attachments"`
}

type teamsAttachment struct {
	ContentType string    `json:"contentType"`
	Content     teamsCard `json:"content"`
}

type teamsCard struct {
	Type    string      `json:"type"`
	Version string      `json:"version"`
	Body    []teamsLine `json:"body"`
}

// A teamsLine is a line whose text is no markup.
type teamsLine struct {
	Type    string     `json:"type"`
	Spacing string     `json:"spacing"`
	Inlines []teamsRun `json:"inlines"`
}

type teamsRun struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	Weight string `json:"weight,omitempty"`
	Font   string `json:"fontType,omitempty"`
}

// card is the message as an adaptive card of the last lines.
func (m Message) card() teamsMessage {
	card := teamsCard{Type: "AdaptiveCard", Version: "1.4"}
	add := func(run teamsRun) {
		run.Type = "TextRun"
		card.Body = append(card.Body, teamsLine{"RichTextBlock", "None", []teamsRun{run}})
	}
	for i, line := range m.summary(func(text string) string { return text }) {
		run := teamsRun{Text: strings.ReplaceAll(line, "`", "")}
		if i == 0 {
			run.Weight = "Bolder"
		}
		add(run)
	}
	if output := m.codeOf(maxOutput); output != "" {
		lines := strings.Split(output, "\n")
		for _, line := range lines[max(0, len(lines)-teamsLines):] {
			add(teamsRun{Text: line + " ", Font: "Monospace"}) // an empty run is refused
		}
	}
	return teamsMessage{"message", []teamsAttachment{{"application/vnd.microsoft.card.adaptive", card}}}
}

// teamsLines is how many lines of output a card has at most: it may take 28 KB.
const teamsLines = 40
