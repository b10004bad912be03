package notify

import (
	"net/mail"
	"net/url"
	"strings"

	"sched/schedule"
	"sched/schedule/preset"
)

// A Target is where messages go: a notification with the values of its variables. Exactly one of
// Ping, Webhook, Mail, Sentry, OTLP and Preset is set. It holds secrets; the text of String has no
// secrets.
//
//   - Ping is a GET request to exactly that URL. It says nothing but that an event happened. With
//     On it speaks the pinging API of healthchecks.io instead: the end of the path is the event and
//     the outcome, the parameter rid is the run's id, and the end of the output is the body of a
//     POST request.
//   - Webhook is a POST request with a message, as JSON or as text (Format).
//   - Mail goes to its addresses in one piece: each addressee sees the others. Without MailFrom it
//     comes from the user of this process at Message.Server. MailURL is smtp or
//     smtps://[user:password@]host[:port][?tls=none or required].
//   - Sentry gets a check-in of its Crons at the start and at the end of a run. It is a DSN:
//     https://KEY@HOST/PROJECT.
//   - OTLP is a collector of OpenTelemetry: a POST request with one span, as JSON. v1/traces is
//     appended to its URL.
//   - Preset is a request that a file describes (package preset).
type Target schedule.Notification

// String names the target to people, in one line: its kind, and its host or addresses.
func (t Target) String() string {
	switch {
	case t.Ping != "":
		return strings.TrimSpace("ping " + hostOf(t.Ping))
	case t.Webhook != "":
		return strings.TrimSpace("webhook " + hostOf(t.Webhook))
	case t.Sentry != "":
		return strings.TrimSpace("Sentry " + hostOf(t.Sentry))
	case t.OTLP != "":
		return strings.TrimSpace("traces to " + hostOf(t.OTLP))
	case t.Preset != nil:
		address := t.Preset.Fill(func(preset.Place) string { return "x" }).URL
		return strings.TrimSpace(t.Preset.Name + " " + hostOf(address))
	case len(t.Mail) > 0:
		return "mail to " + strings.Join(bareAddresses(t.Mail), ", ")
	}
	return "nobody"
}

// permanent returns an error that another attempt would meet again.
func (t Target) permanent(text, hint string) *Error {
	return &Error{Text: t.String() + ": " + text, Hint: hint, Permanent: true}
}

// temporary returns an error that another attempt may not meet.
func (t Target) temporary(text, hint string) *Error {
	return &Error{Text: t.String() + ": " + text, Hint: hint}
}

// hostOf returns the host of a URL, with the port if the URL names a port; "" if the URL has no
// host.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// bareAddresses leaves out the names of people. It does not repeat a text that is no address,
// because that text may be a secret in the wrong place.
func bareAddresses(list []string) (bare []string) {
	for _, text := range list {
		if address, err := mail.ParseAddress(text); err == nil {
			bare = append(bare, address.Address)
		} else {
			bare = append(bare, "an invalid address")
		}
	}
	return bare
}
