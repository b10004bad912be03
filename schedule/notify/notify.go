// Package notify delivers messages. Send makes one attempt to deliver a message to one target: it
// pings a URL, posts to a webhook or to a service, or sends a mail by SMTP or sendmail(8). A Sender
// keeps messages in the outbox, a table of sched.db, until they were delivered.
//
// Each message is delivered at least once, whatever is killed. A ping says how things are now, so a
// newer ping replaces an older one. The callers decide which events of a run have a message.
//
// An attempt ends when its context does. An error says what is wrong, what to do, and whether
// another attempt makes sense. No error has a secret in it: all of a URL but scheme, host and port
// counts as secret. The output of a command is harmless in every format.
//
// The package reads the proxies, SSL_CERT_FILE, PATH and USER of the environment, and passes no
// secret of it on to sendmail. Everything exported may be used concurrently.
package notify

import (
	"cmp"
	"context"
	"slices"

	"sched/schedule"
)

// Check reports what is wrong with the target itself, as an *Error that is permanent. It connects
// to nothing, so nil does not mean that the target can be reached.
func Check(t Target) error {
	switch {
	case t.Webhook != "" && !slices.Contains([]string{Plain, Slack, Text, Teams, Discord}, t.Format):
		return t.permanent("has a format that sched does not know", "write slack, text, teams or discord")
	case len(t.Mail) > 0:
		return checkMail(t)
	case t.Sentry != "":
		return checkDSN(t)
	case t.Preset != nil:
		return checkPreset(t)
	case !schedule.Notification(t).Empty():
		return checkHTTP(t, cmp.Or(t.Ping, t.Webhook, t.OTLP))
	}
	return &Error{Text: "a notification without a target", Permanent: true}
}

// Send makes one attempt to deliver m to t. Nil means that the target has accepted it: a 2xx
// status, the reply of a mail server to the end of the mail, or exit code 0 of sendmail. Any other
// result is an *Error. Send checks t first.
//
// Send returns at the latest when ctx is done. Then the message may have arrived or not, and
// another attempt may deliver it twice; Message.ID lets the other side notice.
func Send(ctx context.Context, t Target, m Message) error {
	if err := Check(t); err != nil {
		return err
	}
	m = m.boundOutput()
	switch {
	case t.Ping != "":
		return sendPing(ctx, t, m)
	case t.Webhook != "":
		return sendWebhook(ctx, t, m)
	case t.Sentry != "":
		return sendCheckIn(ctx, t, m)
	case t.OTLP != "":
		return sendSpan(ctx, t, m)
	case t.Preset != nil:
		return sendPreset(ctx, t, m)
	}
	return sendMail(ctx, t, m)
}
