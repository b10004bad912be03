package notify

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"sched/schedule/text"
)

// A conversation is one attempt to talk to a server.
type conversation struct {
	ctx     context.Context
	began   time.Time
	secrets []string
}

func converse(ctx context.Context, secrets []string) conversation {
	return conversation{ctx, time.Now(), secrets}
}

// silence tells why there is no connection, or no answer: it follows the name of the server.
func (c conversation) silence(err error) (reason, hint string) {
	var (
		unknown     *net.DNSError
		plain       tls.RecordHeaderError
		certificate *tls.CertificateVerificationError
		alert       tls.AlertError
	)
	is := func(targets ...error) bool {
		return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
	}
	switch {
	case errors.Is(c.ctx.Err(), context.DeadlineExceeded):
		return "no answer within " + text.DurationPrecise(time.Since(c.began)), "is the machine up, and no firewall between?"
	case c.ctx.Err() != nil:
		return "stopped before it answered", ""
	case errors.As(err, &unknown) && unknown.IsNotFound:
		return "there is no host of that name", "see the URL"
	case errors.As(err, &unknown):
		return "its name cannot be looked up", "does this machine reach its name server? see /etc/resolv.conf"
	case is(syscall.ECONNREFUSED):
		return "connection refused", "is it running, and is that its port?"
	case is(syscall.EHOSTUNREACH, syscall.ENETUNREACH):
		return "there is no way to that host", ""
	case errors.As(err, &plain):
		return "it does not speak TLS on this port", "see the scheme and the port of the URL"
	case errors.As(err, &certificate):
		return "its certificate cannot be trusted: " + without(c.secrets, strings.TrimPrefix(certificate.Err.Error(), "x509: ")),
			"name the file of its CA in SSL_CERT_FILE, or add it to those of the machine"
	case errors.As(err, &alert):
		return "it refuses the TLS connection: " + strings.TrimPrefix(alert.Error(), "tls: "), ""
	case is(io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE):
		return "it closed the connection before it answered", ""
	case is(os.ErrDeadlineExceeded, syscall.ETIMEDOUT):
		return "no answer within " + text.DurationPrecise(time.Since(c.began)), "is the machine up, and no firewall between?"
	}
	return without(c.secrets, err.Error()), ""
}
