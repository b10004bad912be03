package notify_test

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"sched/schedule/notify"
)

const reference = "../../docs/notifications.md"

// documented is the first block in that language after a heading of the reference.
func documented(t *testing.T, heading, language string) string {
	t.Helper()
	text, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "\n"+heading+"\n")
	block := regexp.MustCompile("(?ms)^```" + language + "\n(.*?)^```$").FindStringSubmatch(after)
	if !found || block == nil {
		t.Fatalf("%s has no %s under %q", reference, language, heading)
	}
	return block[1]
}

// posted is the body that a webhook gets.
func posted(t *testing.T, format string, msg notify.Message) string {
	t.Helper()
	last, server := record(t)
	if e := send(t, notify.Target{Webhook: server + "/hook?a=b", Format: format}, msg); e != nil {
		t.Fatal(e)
	}
	contentType := "application/json"
	if format == notify.Text {
		contentType = "text/plain; charset=utf-8"
	}
	if last.Method != "POST" || last.RequestURI != "/hook?a=b" || last.Header.Get("Content-Type") != contentType {
		t.Errorf("%s %s %v", last.Method, last.RequestURI, last.Header)
	}
	return last.body
}

func indented(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Indent(&out, []byte(text), "", "  "); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return strings.TrimSpace(out.String())
}

func TestAWebhookGetsWhatTheReferenceShows(t *testing.T) {
	if got, want := indented(t, posted(t, notify.Plain, failure())),
		indented(t, documented(t, "### Webhook", "json")); got != want {
		t.Errorf("got\n%s\nthe reference has\n%s", got, want)
	}
	if got, want := indented(t, posted(t, notify.Slack, failure())),
		indented(t, documented(t, "### Slack and Mattermost", "json")); got != want {
		t.Errorf("got\n%s\nthe reference has\n%s", got, want)
	}
}

func TestTheReferenceExplainsEveryField(t *testing.T) {
	text, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(posted(t, notify.Plain, failure())), &fields); err != nil {
		t.Fatal(err)
	}
	for name := range fields {
		if !regexp.MustCompile("(?m)^\\|[^|]*`" + name + "`[^|]*\\|").Match(text) {
			t.Errorf("%s does not explain %s", reference, name)
		}
	}
}

func TestAWebhookOfASkip(t *testing.T) {
	msg := failure()
	skip := notify.Message{ID: "1", Event: notify.Skip, Task: msg.Task, Server: msg.Server, Slot: msg.Slot,
		Outcome: "skipped", Reason: "still running", HeldBack: 4}
	want := `{"id":"1","text":"nightly-report skipped: still running","event":"skip","at":null,"schedule":"","task":"nightly-report",` +
		`"description":"","run":"","server":"web-1","slot":"2026-11-21T07:30:00Z","started":null,"ended":null,"duration":null,"outcome":"skipped","warning":false,` +
		`"reason":"still running","exit_code":null,"attempts":0,"output":"","output_cut":false,"held_back":4,"held_since":null}` + "\n"
	if got := posted(t, notify.Plain, skip); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var message struct{ Text string }
	if err := json.Unmarshal([]byte(posted(t, notify.Slack, skip)), &message); err != nil {
		t.Fatal(err)
	}
	if want := "nightly-report skipped: still running\non web-1, due 2026-11-21 02:30:00 EST, `sched why nightly-report`\n" +
		"4 more like this were not sent since the last one."; message.Text != want {
		t.Errorf("got  %q\nwant %q", message.Text, want)
	}
}

func TestAWebhookTakesAnyOutput(t *testing.T) {
	msg := failure()
	msg.Output = strings.Repeat("x", 2*notify.OutputLimit) + "\n\xff\x1b[31m<&>\x00\u2028 \"end\"\r\n"
	var got struct {
		Output    string
		OutputCut bool `json:"output_cut"`
	}
	if err := json.Unmarshal([]byte(posted(t, notify.Plain, msg)), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Output) > notify.OutputLimit+2 ||
		!strings.HasSuffix(got.Output, "\n\uFFFD\x1b[31m<&>\x00\u2028 \"end\"\r\n") || !got.OutputCut {
		t.Errorf("%d bytes, cut %t, ends in %q", len(got.Output), got.OutputCut, got.Output[len(got.Output)-40:])
	}
}

func TestNoOutputIsMarkupForSlack(t *testing.T) {
	msg := failure()
	msg.Description = "figures & <!channel>"
	msg.Reason = "no `end`\nof it"
	msg.Output = "<!everyone> ``` & \x1b[1mbold\x1b[0m\n"
	var message struct{ Text string }
	if err := json.Unmarshal([]byte(posted(t, notify.Slack, msg)), &message); err != nil {
		t.Fatal(err)
	}
	want := "[shop] nightly-report failed: no `end` of it\nfigures &amp; &lt;!channel&gt;\n" +
		"on web-1, due 2026-11-21 02:30:00 EST, took 11.5 s, `sched logs 5c2f9a1b3d4e`\n" +
		"```\n&lt;!everyone&gt; ''' &amp; bold\n```"
	if message.Text != want {
		t.Errorf("got  %q\nwant %q", message.Text, want)
	}
	for _, output := range []string{strings.Repeat("&<>", 30_000), strings.Repeat("line <&\n", 10_000),
		strings.Repeat("ä", 60_000), strings.Repeat("```", 5000)} {
		msg.Output = output
		if err := json.Unmarshal([]byte(posted(t, notify.Slack, msg)), &message); err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(message.Text, "```")
		if len(message.Text) > 3900 || len(parts) != 3 || parts[2] != "" || len(parts[1]) < 1000 ||
			regexp.MustCompile(`(^|[^&])(amp|lt|gt);`).MatchString(parts[1]) {
			t.Errorf("%d bytes: %q", len(message.Text), message.Text)
		}
	}
}

func TestPlainTextIsForNtfy(t *testing.T) {
	msg := failure()
	msg.Output = "\x1b[31mno such table\x1b[0m\n"
	want := "[shop] nightly-report failed: exit code 7\nYesterday's figures\n" +
		"on web-1, due 2026-11-21 02:30:00 EST, took 11.5 s, `sched logs 5c2f9a1b3d4e`\n\nno such table"
	if got := posted(t, notify.Text, msg); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	msg.Output = strings.Repeat("x\n", 60_000)
	if got := posted(t, notify.Text, msg); len(got) < 2500 || len(got) > 4096 {
		t.Errorf("%d bytes", len(got))
	}
}

func TestNoOutputIsMarkupForDiscord(t *testing.T) {
	msg := failure()
	msg.Description = "figures *of* a_day"
	msg.Output = "@everyone ``` end\n"
	want := `{"allowed_mentions":{"parse":[]},"content":"[shop] nightly-report failed: exit code 7\nfigures \\*of\\* a\\_day\n` +
		"on web-1, due 2026-11-21 02:30:00 EST, took 11.5 s, `sched logs 5c2f9a1b3d4e`" + `\n` + "```" + `\n@everyone ''' end\n` + "```" +
		`"}` + "\n"
	if got := posted(t, notify.Discord, msg); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, output := range []string{strings.Repeat("ä", 60_000), strings.Repeat("```", 5000),
		strings.Repeat("line\n", 5000)} {
		msg.Output = output
		var message struct{ Content string }
		if err := json.Unmarshal([]byte(posted(t, notify.Discord, msg)), &message); err != nil {
			t.Fatal(err)
		}
		if parts := strings.Split(message.Content, "```"); len([]rune(message.Content)) > 2000 ||
			len(parts) != 3 || parts[2] != "" {
			t.Errorf("%d bytes: %q", len(message.Content), message.Content)
		}
	}
}

func TestTeamsGetsACard(t *testing.T) {
	msg := failure()
	msg.Output = "**one**\n\ntwo\n"
	var got struct {
		Type        string
		Attachments []struct {
			ContentType string
			Content     struct {
				Type, Version string
				Body          []struct {
					Type    string
					Inlines []struct{ Type, Text string }
				}
			}
		}
	}
	text := posted(t, notify.Teams, msg)
	if err := json.Unmarshal([]byte(text), &got); err != nil || len(got.Attachments) != 1 {
		t.Fatalf("%v: %s", err, text)
	}
	card, lines := got.Attachments[0], []string{}
	for _, line := range card.Content.Body {
		if line.Type != "RichTextBlock" || len(line.Inlines) != 1 || line.Inlines[0].Type != "TextRun" {
			t.Errorf("%+v", line)
		}
		lines = append(lines, line.Inlines[0].Text)
	}
	want := "[shop] nightly-report failed: exit code 7|Yesterday's figures|" +
		"on web-1, due 2026-11-21 02:30:00 EST, took 11.5 s, sched logs 5c2f9a1b3d4e|**one** | |two "
	if got.Type != "message" || card.ContentType != "application/vnd.microsoft.card.adaptive" ||
		card.Content.Type != "AdaptiveCard" || strings.Join(lines, "|") != want {
		t.Errorf("%s\ngot  %s\nwant %s", text, strings.Join(lines, "|"), want)
	}
	msg.Output = strings.Repeat("\n<&>", 60_000)
	if text := posted(t, notify.Teams, msg); len(text) > 28_000 {
		t.Errorf("%d bytes", len(text))
	}
}

func TestAnUnknownFormat(t *testing.T) {
	target := notify.Target{Webhook: "https://example.com/T0KEN", Format: "telegram"}
	expect(t, send(t, target, failure()), target, "has a format that sched does not know",
		"write slack, text, teams or discord", true)
}
