// Package notify delivers messages. Target.Send makes one attempt to deliver a message to one
// target: it pings a URL, posts to a webhook, or sends a mail by SMTP or sendmail(8). A Sender
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
	"crypto/tls"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/mail"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"sched/schedule"
	"sched/schedule/humanize"
)

// A Target is where messages go: a notification with the values of its variables. Exactly one of
// Ping, Webhook, Mail, Sentry and OTLP is set. It holds secrets; the text of String has no secrets.
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
type Target schedule.Notification

// Check reports what is wrong with the target itself, as an *Error that is permanent. It connects
// to nothing, so nil does not mean that the target can be reached.
func (t Target) Check() error {
	switch {
	case t.Webhook != "" && !slices.Contains([]string{Plain, Slack, Text, Teams, Discord}, t.Format):
		return t.permanent("has a format that sched does not know", "write slack, text, teams or discord")
	case len(t.Mail) > 0:
		return t.checkMail()
	case t.Sentry != "":
		return t.checkDSN()
	case !schedule.Notification(t).Empty():
		return t.checkHTTP(cmp.Or(t.Ping, t.Webhook, t.OTLP))
	}
	return &Error{Text: "a notification without a target", Permanent: true}
}

// Send makes one attempt to deliver m to t. Nil means that the target has accepted it: a 2xx
// status, the reply of a mail server to the end of the mail, or exit code 0 of sendmail. Any other
// result is an *Error. Send checks t first.
//
// Send returns at the latest when ctx is done. Then the message may have arrived or not, and
// another attempt may deliver it twice; Message.ID lets the other side notice.
func (t Target) Send(ctx context.Context, m Message) error {
	if err := t.Check(); err != nil {
		return err
	}
	m = m.boundOutput()
	switch {
	case t.Ping != "":
		return t.sendPing(ctx, m)
	case t.Webhook != "":
		return t.sendWebhook(ctx, m)
	case t.Sentry != "":
		return t.sendCheckIn(ctx, m)
	case t.OTLP != "":
		return t.sendSpan(ctx, m)
	}
	return t.sendMail(ctx, m)
}

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
	case len(t.Mail) > 0:
		return "mail to " + strings.Join(bareAddresses(t.Mail), ", ")
	}
	return "nobody"
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

// An explainer says why one attempt to reach a server failed, without its secrets.
type explainer struct {
	ctx     context.Context // of the attempt
	began   time.Time
	secrets []string // as secretsOf returns them
}

func newExplainer(ctx context.Context, secrets []string) explainer {
	return explainer{ctx, time.Now(), secrets}
}

// explain says why there is no connection or answer. It quotes unknown errors without secrets.
func (e explainer) explain(err error) (reason, hint string) {
	var (
		lookup      *net.DNSError
		notTLS      tls.RecordHeaderError
		certificate *tls.CertificateVerificationError
		alert       tls.AlertError
	)
	isAny := func(targets ...error) bool {
		return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
	}
	switch {
	case errors.Is(e.ctx.Err(), context.DeadlineExceeded):
		return e.noAnswer()
	case e.ctx.Err() != nil:
		return "stopped before it answered", ""
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return "there is no host of that name", "see the URL"
	case errors.As(err, &lookup):
		return "its name cannot be looked up", "does this machine reach its name server? see /etc/resolv.conf"
	case isAny(syscall.ECONNREFUSED):
		return "connection refused", "is it running, and is that its port?"
	case isAny(syscall.EHOSTUNREACH, syscall.ENETUNREACH):
		return "there is no way to that host", ""
	case errors.As(err, &notTLS):
		return "it does not speak TLS on this port", "see the scheme and the port of the URL"
	case errors.As(err, &certificate):
		return "its certificate cannot be trusted: " +
				redact(strings.TrimPrefix(certificate.Err.Error(), "x509: "), e.secrets),
			"name the file of its CA in SSL_CERT_FILE, or add it to the CAs of the machine"
	case errors.As(err, &alert):
		return "it refuses the TLS connection: " + strings.TrimPrefix(alert.Error(), "tls: "), ""
	case isAny(io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE):
		return "it closed the connection before it answered", ""
	case isAny(os.ErrDeadlineExceeded, syscall.ETIMEDOUT):
		return e.noAnswer()
	}
	return redact(err.Error(), e.secrets), ""
}

func (e explainer) noAnswer() (reason, hint string) {
	return "no answer within " + humanize.DurationPrecise(time.Since(e.began)),
		"is the machine up, and no firewall between?"
}

// An Error says why a message was not delivered, or cannot be. Text and Hint are one line each and
// have no secret in them. An Error wraps no other error, because that error could have a secret in
// it.
type Error struct {
	Text      string // begins with Target.String
	Hint      string // what to do about it; may be empty
	Permanent bool   // the same attempt would fail again, because of the target or of the other side's answer
	// Rest are the addresses of the next attempt, if only some of a mail need one. The other
	// addresses have got the mail, or will never accept it. Nil: all.
	Rest []string
}

func (e *Error) Error() string { return e.Text }

// permanent returns an error that another attempt would meet again.
func (t Target) permanent(text, hint string) *Error {
	return &Error{Text: t.String() + ": " + text, Hint: hint, Permanent: true}
}

// temporary returns an error that another attempt may not meet.
func (t Target) temporary(text, hint string) *Error {
	return &Error{Text: t.String() + ": " + text, Hint: hint}
}

// secretsOf returns the parts of a URL that no error may show: all but scheme, host and port. Each
// part comes as written, decoded, and as SMTP sends it (base64). The longest come first, as redact
// needs them.
func secretsOf(u *url.URL) (all []string) {
	add := func(texts ...string) {
		for _, text := range texts {
			if text = strings.Trim(text, "/"); text != "" {
				all = append(all, text)
			}
		}
	}
	add(u.Path, u.EscapedPath(), u.RawQuery, u.EscapedFragment())
	add(strings.Split(u.Path, "/")...)
	add(strings.Split(u.EscapedPath(), "/")...)
	for _, values := range u.Query() {
		add(values...)
	}
	if u.User != nil {
		user := u.User.Username()
		password, _ := u.User.Password()
		escapedUser, escapedPassword, _ := strings.Cut(u.User.String(), ":")
		add(u.User.String(), user, escapedUser, password, escapedPassword)
		for _, sent := range []string{user, password, user + ":" + password, "\x00" + user + "\x00" + password} {
			add(strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(sent)), "="))
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(all)
}

// redact returns text as one short line with *** for each secret. A secret that is part of a longer
// secret must come after it; otherwise the rest of the longer secret would stay readable.
func redact(text string, secrets []string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, "***")
	}
	return head(line(text), 200)
}
