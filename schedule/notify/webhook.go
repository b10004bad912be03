package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

func (t Target) sendWebhook(ctx context.Context, m Message) error {
	var content any = m.webhookBody()
	if t.Webhook.Format == Slack {
		content = slackMessage{m.slackText()}
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	encoder.Encode(content) // strings and numbers, which are always JSON
	r, err := http.NewRequest(http.MethodPost, t.Webhook.URL, &body)
	if err != nil {
		return t.permanent("the URL is none", "") // Check has seen it
	}
	r.Header.Set("Content-Type", "application/json")
	return t.do(ctx, r)
}

// webhookBody is the JSON of a webhook. Its names are the names of `sched history --json`. Times
// are RFC 3339 in UTC; a missing time is null. Programs read it: a field may be added, and no field
// may go or change. docs/notifications.md explains each field.
type webhookBody struct {
	ID          string   `json:"id"`
	Text        string   `json:"text"`
	Event       Event    `json:"event"`
	At          *string  `json:"at"`
	Schedule    string   `json:"schedule"`
	Task        string   `json:"task"`
	Description string   `json:"description"`
	Run         string   `json:"run"`
	Server      string   `json:"server"`
	Slot        *string  `json:"slot"`
	Started     *string  `json:"started"`
	Ended       *string  `json:"ended"`
	Duration    *float64 `json:"duration"` // seconds
	Outcome     string   `json:"outcome"`
	Reason      string   `json:"reason"`
	ExitCode    *int     `json:"exit_code"`
	Attempts    int      `json:"attempts"`
	Output      string   `json:"output"`
	OutputCut   bool     `json:"output_cut"`
	HeldBack    int      `json:"held_back"`
	HeldSince   *string  `json:"held_since"`
}

func (m Message) webhookBody() webhookBody {
	b := webhookBody{
		ID: m.ID, Text: m.subject(), Event: m.Event, At: utc(m.At), Schedule: m.Schedule, Task: m.Task, Description: m.Description,
		Run: m.Run, Server: m.Server, Slot: utc(m.Slot), Started: utc(m.Started), Ended: utc(m.Ended), Outcome: m.Outcome, Reason: m.Reason,
		ExitCode: m.ExitCode, Attempts: m.Attempt, Output: strings.ToValidUTF8(m.Output, "\uFFFD"), OutputCut: m.Cut, HeldBack: m.HeldBack,
		HeldSince: utc(m.HeldSince),
	}
	if !m.Started.IsZero() && !m.Ended.IsZero() {
		seconds := m.Duration.Seconds()
		b.Duration = &seconds
	}
	return b
}

// utc is a time in RFC 3339, nil for the zero time.
func utc(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := t.UTC().Format(time.RFC3339)
	return &text
}
