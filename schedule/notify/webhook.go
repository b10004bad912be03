package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// post posts the news to a webhook.
func (t Target) post(ctx context.Context, n News) error {
	var message any = n.body()
	if t.Webhook.Format == Slack {
		message = slackMessage{n.slack()}
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(message); err != nil {
		return t.wrong("the news is no JSON", "") // it has nothing that could not be
	}
	r, err := http.NewRequest(http.MethodPost, t.Webhook.URL, &body)
	if err != nil {
		return t.wrong("the URL is none", "") // Check has seen it
	}
	r.Header.Set("Content-Type", "application/json")
	return t.do(ctx, r)
}

// body is the JSON of a webhook. The names are those of `sched history --json`; docs/notifications.md has them all.
type body struct {
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

func (n News) body() body {
	b := body{
		ID: n.ID, Text: n.subject(), Event: n.Event, At: utc(n.At), Schedule: n.Schedule, Task: n.Task, Description: n.Description,
		Run: n.Run, Server: n.Server, Slot: utc(n.Slot), Started: utc(n.Started), Ended: utc(n.Ended), Outcome: n.Outcome, Reason: n.Reason,
		ExitCode: n.ExitCode, Attempts: n.Attempt, Output: strings.ToValidUTF8(n.Output, "\uFFFD"), OutputCut: n.Cut, HeldBack: n.HeldBack,
		HeldSince: utc(n.HeldSince),
	}
	if !n.Started.IsZero() && !n.Ended.IsZero() {
		seconds := n.Duration.Seconds()
		b.Duration = &seconds
	}
	return b
}

func utc(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := t.UTC().Format(time.RFC3339)
	return &text
}
