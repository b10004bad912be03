package notify

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"sched/schedule/humanize"
)

// An explainer says why one attempt to reach a server failed, without its secrets.
type explainer struct {
	ctx     context.Context // of the attempt
	began   time.Time
	secrets []string // as secretsOf returns them
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
		return "no answer in " + humanize.DurationPrecise(time.Since(e.began)) + ", and then sched had to end", ""
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return "there is no host of that name", "correct its URL; of mail that is `mail.url`"
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

func newExplainer(ctx context.Context, secrets []string) explainer {
	return explainer{ctx, time.Now(), secrets}
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
	return longestFirst(all)
}

// longestFirst sorts secrets as redact needs them.
func longestFirst(all []string) []string {
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
