package notify

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"sched/schedule/preset"
)

// maxDetails is how many characters the details of a message have, if a preset does not say it.
const maxDetails = 2500

// checkPreset reports what is wrong with the URL of a preset, whose other places do not matter.
func checkPreset(t Target) error {
	if places := preset.Places(t.Preset.URL); strings.HasPrefix(t.Preset.URL, "{{") && len(places) > 0 {
		_, path, _ := strings.Cut(t.Preset.URL, "}}")
		base, err := url.Parse(t.Preset.With[places[0].Name])
		if err == nil && path != "" && (base.RawQuery != "" || base.Fragment != "") {
			return t.permanent("the URL of the server has more than a path", "write https://HOST")
		}
	}
	return checkHTTP(t, t.Preset.Fill(func(preset.Place) string { return "x" }).URL)
}

func sendPreset(ctx context.Context, t Target, m Message) error {
	filled := t.Preset.Fill(func(at preset.Place) string { return fieldOf(m, at) })
	return exchange(ctx, t, request{
		method:      filled.Method,
		address:     filled.URL,
		contentType: filled.ContentType,
		body:        filled.Body,
		headers:     filled.Headers,
		secrets:     t.Preset.Secrets(),
		missing:     t.Preset.Missing,
	})
}

// fieldOf returns a field of the message for a preset.
func fieldOf(m Message, at preset.Place) string {
	p := plain(m)
	switch at.Name {
	case "text":
		return p.Text
	case "details":
		return detailsOf(m, at.Limit)
	case "output":
		return codeOf(m, limitOr(at.Limit, OutputLimit))
	case "id":
		return p.ID
	case "event":
		return string(p.Event)
	case "at":
		return utc(m.At)
	case "schedule":
		return p.Schedule
	case "task":
		return p.Task
	case "description":
		return p.Description
	case "run":
		return p.Run
	case "server":
		return p.Server
	case "slot":
		return utc(m.Slot)
	case "started":
		return utc(m.Started)
	case "ended":
		return utc(m.Ended)
	case "duration":
		if p.Duration != nil {
			return fmt.Sprint(*p.Duration)
		}
	case "outcome":
		return p.Outcome
	case "reason":
		return line(p.Reason)
	case "exit_code":
		if p.ExitCode != nil {
			return fmt.Sprint(*p.ExitCode)
		}
	case preset.Late:
		if m.Late {
			return preset.Late
		}
	case "attempts":
		return fmt.Sprint(p.Attempts)
	}
	return ""
}

// detailsOf returns the lines below the headline: what the task is for, where and when it ran, and
// the end of its output, in at most limit characters.
func detailsOf(m Message, limit int) string {
	limit = limitOr(limit, maxDetails)
	lines := summary(m, func(text string) string { return strings.ReplaceAll(text, "`", "") })[1:]
	rest := limit - len(strings.Join(lines, "\n")) - len("\n\n")
	return head(joinLines(lines, "", codeOf(m, rest)), limit)
}

func limitOr(limit, without int) int {
	if limit > 0 {
		return limit
	}
	return without
}

// utc writes a time for programs; "" for no time.
func utc(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
