package notify

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"sched/schedule/humanize"
)

// The formats of the body of a webhook.
const (
	Plain   = ""        // every field of the message as JSON, as docs/notifications.md lists them
	Slack   = "slack"   // one text, for the incoming webhooks of Slack and Mattermost
	Text    = "text"    // plain text, for ntfy and the like
	Teams   = "teams"   // an adaptive card, for workflows of Microsoft Teams
	Discord = "discord" // for the webhooks of Discord
)

// The bytes of output that a body carries.
const (
	// maxOutput: Slack splits texts of more than 4,000 characters, and with them the block of code;
	// ntfy makes an attachment of more than 4,096 bytes.
	maxOutput = 2500
	// maxDiscord is how much of the 2,000 characters of Discord the whole text may take.
	maxDiscord = 1950
)

func sendWebhook(ctx context.Context, t Target, m Message) error {
	content := webhookBody(m, t.Format)
	if text, plain := content.(string); plain {
		return doHTTP(ctx, t, http.MethodPost, t.Webhook, "text/plain; charset=utf-8", text)
	}
	var body strings.Builder
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	encoder.Encode(content) // strings and numbers, which are always JSON
	return doHTTP(ctx, t, http.MethodPost, t.Webhook, "application/json", body.String())
}

// webhookBody returns what is posted in a format, as a text or as a value for JSON.
func webhookBody(m Message, format string) any {
	switch format {
	case Slack:
		return map[string]string{"text": joinLines(summary(m, escapeSlack), "```", slackCode(m), "```")}
	case Text:
		return joinLines(summary(m, func(text string) string { return text }), "", codeOf(m, maxOutput))
	case Teams:
		return card(m)
	case Discord:
		return discord(m)
	}
	return plain(m)
}

// A plainBody is the JSON of a webhook in the format Plain. Its names are the names of `sched
// history --json`. Times are RFC 3339 in UTC; a missing time is null. Programs read it: a field may
// be added, and no field may go or change. docs/notifications.md explains each field.
type plainBody struct {
	ID          string             `json:"id"`
	Text        string             `json:"text"`
	Event       Event              `json:"event"`
	At          *humanize.JSONTime `json:"at"`
	Schedule    string             `json:"schedule"`
	Task        string             `json:"task"`
	Description string             `json:"description"`
	Run         string             `json:"run"`
	Server      string             `json:"server"`
	Slot        *humanize.JSONTime `json:"slot"`
	Started     *humanize.JSONTime `json:"started"`
	Ended       *humanize.JSONTime `json:"ended"`
	Duration    *float64           `json:"duration"` // seconds
	Outcome     string             `json:"outcome"`
	Warning     bool               `json:"warning"`
	Reason      string             `json:"reason"`
	ExitCode    *int               `json:"exit_code"`
	Attempts    int                `json:"attempts"`
	Output      string             `json:"output"`
	OutputCut   bool               `json:"output_cut"`
	HeldBack    int                `json:"held_back"`
	HeldSince   *humanize.JSONTime `json:"held_since"`

	Params map[string]string  `json:"params,omitempty"`
	Values map[string]float64 `json:"values,omitempty"`
	Test   bool               `json:"test,omitempty"`
	Late   bool               `json:"late,omitempty"`
}

// plain returns the body of a webhook in the format Plain.
func plain(m Message) plainBody {
	b := plainBody{
		ID:          m.ID,
		Text:        m.subject(),
		Event:       m.Event,
		At:          humanize.UTCOrNil(m.At),
		Schedule:    m.Schedule,
		Task:        m.Task,
		Description: m.Description,
		Run:         m.Run,
		Server:      m.Server,
		Slot:        humanize.UTCOrNil(m.Slot),
		Started:     humanize.UTCOrNil(m.Started),
		Ended:       humanize.UTCOrNil(m.Ended),
		Outcome:     string(m.Outcome),
		Warning:     m.Warning,
		Reason:      m.Reason,
		ExitCode:    m.ExitCode,
		Attempts:    m.Attempt,
		Output:      strings.ToValidUTF8(m.Output, "\uFFFD"),
		OutputCut:   m.Cut,
		HeldBack:    m.HeldBack,
		HeldSince:   humanize.UTCOrNil(m.HeldSince),
		Params:      m.Params,
		Values:      m.Values,
		Test:        m.Test,
		Late:        m.Late,
	}
	if !m.Started.IsZero() && !m.Ended.IsZero() {
		b.Duration = new(m.Duration.Seconds())
	}
	return b
}

// summary is the message without its output, in lines; escape is for foreign text.
func summary(m Message, escape func(string) string) []string {
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
func codeOf(m Message, limit int) string {
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
func slackCode(m Message) string {
	for limit := maxOutput; ; {
		end := codeOf(m, limit)
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

// An object is a value of JSON that is only written.
type object = map[string]any

// discord is the body that the webhooks of Discord accept. Nothing in it calls anybody.
func discord(m Message) object {
	escape := strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "~", `\~`, "|", `\|`, "`", "\\`").Replace
	lines := summary(m, escape)
	rest := maxDiscord - len(strings.Join(lines, "\n"))
	text := joinLines(lines, "```", codeOf(m, rest), "```")
	return object{"content": head(text, 2000), "allowed_mentions": object{"parse": []string{}}}
}

// card is the message as an adaptive card of the last lines, as a workflow of Teams posts it. No
// text in it is markup.
func card(m Message) object {
	var lines []object
	add := func(run object) {
		run["type"] = "TextRun"
		lines = append(lines, object{"type": "RichTextBlock", "spacing": "None", "inlines": []object{run}})
	}
	for i, text := range summary(m, func(text string) string { return text }) {
		run := object{"text": strings.ReplaceAll(text, "`", "")}
		if i == 0 {
			run["weight"] = "Bolder"
		}
		add(run)
	}
	if output := codeOf(m, maxOutput); output != "" {
		printed := strings.Split(output, "\n")
		for _, text := range printed[max(0, len(printed)-teamsLines):] {
			add(object{"text": text + " ", "fontType": "Monospace"}) // an empty run is refused
		}
	}
	card := object{"type": "AdaptiveCard", "version": "1.4", "body": lines}
	attachment := object{"contentType": "application/vnd.microsoft.card.adaptive", "content": card}
	return object{"type": "message", "attachments": []object{attachment}}
}

// teamsLines is how many lines of output a card has at most: it may take 28 KB.
const teamsLines = 40
