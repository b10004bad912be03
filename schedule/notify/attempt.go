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

// An attempt is one try to reach one server. It knows what its errors have to say, and which
// secrets they must not say.
type attempt struct {
	ctx     context.Context
	began   time.Time
	secrets []string // as secretsOf returns them
}

func beginAttempt(ctx context.Context, secrets []string) attempt {
	return attempt{ctx, time.Now(), secrets}
}

// explain says why there is no connection or answer. It quotes unknown errors without secrets.
func (a attempt) explain(err error) (reason, hint string) {
	var (
		lookup      *net.DNSError
		notTLS      tls.RecordHeaderError
		certificate *tls.CertificateVerificationError
		alert       tls.AlertError
	)
	is := func(targets ...error) bool {
		return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
	}
	switch {
	case errors.Is(a.ctx.Err(), context.DeadlineExceeded):
		return a.noAnswer()
	case a.ctx.Err() != nil:
		return "stopped before it answered", ""
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return "there is no host of that name", "see the URL"
	case errors.As(err, &lookup):
		return "its name cannot be looked up", "does this machine reach its name server? see /etc/resolv.conf"
	case is(syscall.ECONNREFUSED):
		return "connection refused", "is it running, and is that its port?"
	case is(syscall.EHOSTUNREACH, syscall.ENETUNREACH):
		return "there is no way to that host", ""
	case errors.As(err, &notTLS):
		return "it does not speak TLS on this port", "see the scheme and the port of the URL"
	case errors.As(err, &certificate):
		return "its certificate cannot be trusted: " + redact(strings.TrimPrefix(certificate.Err.Error(), "x509: "), a.secrets),
			"name the file of its CA in SSL_CERT_FILE, or add it to those of the machine"
	case errors.As(err, &alert):
		return "it refuses the TLS connection: " + strings.TrimPrefix(alert.Error(), "tls: "), ""
	case is(io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE):
		return "it closed the connection before it answered", ""
	case is(os.ErrDeadlineExceeded, syscall.ETIMEDOUT):
		return a.noAnswer()
	}
	return redact(err.Error(), a.secrets), ""
}

func (a attempt) noAnswer() (reason, hint string) {
	return "no answer within " + humanize.DurationPrecise(time.Since(a.began)), "is the machine up, and no firewall between?"
}

// An Error says why a message was not delivered, or cannot be. Text and Hint are one line each and
// have no secret in them. An Error wraps no other error, because that error could have a secret in
// it.
type Error struct {
	Text      string // begins with Target.String
	Hint      string // what to do about it; may be empty
	Permanent bool   // the same attempt would fail again, because of the target or of the other side's answer
	// Rest is the target of the next attempt, if only some addresses of a mail need one. The other
	// addresses have got the mail, or will never accept it. Nil: the whole target.
	Rest *Target
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
