package notify

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/wneessen/go-mail/smtp"
)

// A smtpServer is what the URL of a mail says about the server.
type smtpServer struct {
	host, port     string
	user, password string // both or neither
	implicitTLS    bool   // smtps: TLS from the first byte (RFC 8314)
	tls            tlsPolicy
	secrets        []string // as secretsOf returns them
}

// A tlsPolicy says which encryption a connection needs that begins without TLS.
type tlsPolicy int

const (
	// tlsIfOffered uses STARTTLS when the server offers it, whatever its certificate: an attacker
	// who could forge the certificate could as well remove the offer (RFC 7435). Mail servers do
	// the same among themselves.
	tlsIfOffered tlsPolicy = iota
	tlsRequired
	tlsNone
)

// parseMailURL reads the URL of a mail. The problem is a text for people that repeats nothing of
// the URL; it is empty if the URL is good.
//
// A password is sent only if TLS with a trusted certificate is required. The exceptions are a
// server on this machine, and a URL that says tls=none.
func parseMailURL(text string) (s smtpServer, problem string) {
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || u.Hostname() == "" {
		return s, "the URL of the mail server does not begin with smtp:// or smtps:// and a host"
	}
	s = smtpServer{host: u.Hostname(), port: u.Port(), secrets: secretsOf(u)}
	switch u.Scheme {
	case "smtp":
		s.port = cmp.Or(s.port, "25")
	case "smtps":
		s.port, s.implicitTLS = cmp.Or(s.port, "465"), true
	default:
		return s, "the URL of the mail server does not begin with smtp:// or smtps://"
	}
	if u.User != nil {
		s.user = u.User.Username()
		s.password, _ = u.User.Password()
		if s.user == "" || s.password == "" {
			return s, "the URL of the mail server has half of a user and password"
		}
		if ip := net.ParseIP(s.host); s.host != "localhost" && (ip == nil || !ip.IsLoopback()) { // not on this machine
			s.tls = tlsRequired
		}
	}
	if strings.Trim(u.Path, "/") != "" || u.Fragment != "" {
		return s, "the URL of the mail server has a path, which means nothing"
	}
	for name, values := range u.Query() {
		switch {
		case name == "tls" && len(values) == 1 && values[0] == "required":
			s.tls = tlsRequired
		case name == "tls" && len(values) == 1 && values[0] == "none" && !s.implicitTLS:
			s.tls = tlsNone
		default:
			return s, "the URL of the mail server may have ?tls=required or, with smtp://, ?tls=none, and nothing else"
		}
	}
	return s, ""
}

// MailServer returns the host:port of the URL of a mail; "" for an empty URL, which means sendmail,
// and for a wrong one.
func MailServer(mailURL string) string {
	if s, problem := parseMailURL(mailURL); problem == "" {
		return s.address()
	}
	return ""
}

// address is the host and port to connect to. Errors name the server by it.
func (s smtpServer) address() string { return net.JoinHostPort(s.host, s.port) }

// A session sends one mail over one connection. It leads the dialogue itself, because go-mail's
// Client (v0.8.1) has three flaws. It sends to no address if the server refuses one address, it
// hides the code of a reply, and it ignores the context after TCP is connected. The commands and
// the ways to authenticate are from go-mail.
type session struct {
	explainer
	*smtp.Client
	target Target
	server smtpServer
	raw    net.Conn // the connection below TLS: closing it does not wait for the other side
}

// sendSMTP hands the mail to a mail server. Nil means that the server has accepted it for all
// addresses.
func sendSMTP(ctx context.Context, t Target, server smtpServer, e email) error {
	s := &session{explainer: newExplainer(ctx, server.secrets), target: t, server: server}
	conn, err := s.dial()
	if err != nil {
		return s.connectionError(err)
	}
	defer s.raw.Close()
	defer context.AfterFunc(ctx, func() { s.raw.Close() })() // ends every wait for the server
	if err := s.greet(conn, e.host); err != nil {
		return err
	}
	defer s.quit()
	return s.send(e)
}

// dial connects, with TLS if TLS comes first.
func (s *session) dial() (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(s.ctx, "tcp", s.server.address())
	if err != nil {
		return nil, err
	}
	s.raw = &limitedConn{conn, maxReplies}
	if !s.server.implicitTLS {
		return s.raw, nil
	}
	encrypted := tls.Client(s.raw, s.tlsConfig())
	if err := encrypted.HandshakeContext(s.ctx); err != nil {
		s.raw.Close()
		return nil, err
	}
	return encrypted, nil
}

// quit ends the session. The mail is already accepted or refused, so quit waits at most two
// seconds.
func (s *session) quit() {
	s.raw.SetDeadline(time.Now().Add(2 * time.Second))
	s.Quit()
}

func (s *session) tlsConfig() *tls.Config {
	return &tls.Config{
		ServerName:         s.server.host,
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: !s.server.implicitTLS && s.server.tls == tlsIfOffered, // see there
	}
}

func (s *session) greet(conn net.Conn, host string) (err error) {
	if s.Client, err = smtp.NewClient(conn, s.server.host); err != nil {
		return s.connectionError(err)
	}
	if err := s.Hello(host); err != nil {
		return s.connectionError(err)
	}
	if err := s.startTLS(); err != nil {
		return err
	}
	return s.authenticate()
}

func (s *session) startTLS() error {
	offered, _ := s.Extension("STARTTLS")
	switch {
	case s.server.implicitTLS, s.server.tls == tlsNone, s.server.tls == tlsIfOffered && !offered:
		return nil
	case !offered && s.server.password != "":
		return s.permanent("offers no TLS, and the password would be sent in the open",
			"write smtps:// if it speaks TLS on another port, or add ?tls=none if the network may be trusted")
	case !offered:
		return s.permanent("offers no TLS",
			"write smtps:// if it speaks TLS on another port, or leave ?tls=required out")
	}
	if err := s.StartTLS(s.tlsConfig()); err != nil {
		return s.connectionError(err)
	}
	return nil
}

// authenticate sends user and password, if the URL has them, in the safest way that both sides
// know.
func (s *session) authenticate() error {
	if s.server.password == "" {
		return nil
	}
	offered, mechanisms := s.Extension("AUTH")
	if !offered {
		return s.permanent("takes no user and password",
			"leave them out of the URL; or it takes them on another port, often 587 or 465")
	}
	auth := s.server.auth(strings.Fields(mechanisms))
	if auth == nil {
		return s.permanent("knows no way to give it a password that sched knows: "+redact(mechanisms, s.secrets), "")
	}
	err := s.Auth(auth)
	if err == nil {
		return nil
	}
	if reply, ok := errors.AsType[*textproto.Error](err); ok && reply.Code/100 == 5 {
		return s.permanent("refuses the user or the password"+s.quote(reply),
			"in a password %40 is @ and %2F is /; some providers want a password made for programs")
	}
	return s.connectionError(err)
}

// auth returns the safest of the offered ways to authenticate; nil if it knows no offered way.
// PLAIN and LOGIN send the password itself. Allowing them without TLS is safe because tlsPolicy has
// decided before (parseMailURL).
func (s smtpServer) auth(offered []string) smtp.Auth {
	for _, known := range []struct {
		mechanism string
		auth      smtp.Auth
	}{
		{"SCRAM-SHA-256", smtp.ScramSHA256Auth(s.user, s.password)},
		{"SCRAM-SHA-1", smtp.ScramSHA1Auth(s.user, s.password)},
		{"CRAM-MD5", smtp.CRAMMD5Auth(s.user, s.password)},
		{"PLAIN", smtp.PlainAuth("", s.user, s.password, s.host, true)},
		{"LOGIN", smtp.LoginAuth(s.user, s.password, s.host, true)},
	} {
		if slices.Contains(offered, known.mechanism) {
			return known.auth
		}
	}
	return nil
}

// send sends the mail once, to all addresses that the server accepts. The error is about the other
// addresses.
func (s *session) send(e email) error {
	if err := s.Mail(envelope(e.from)); err != nil {
		return s.replyError("does not take mail from "+e.from.Address, err)
	}
	accepted := 0
	var later, never []string
	var last error
	for i, to := range e.to {
		err := s.Rcpt(envelope(to))
		switch {
		case err == nil:
			accepted++
			continue
		case isPermanentReply(err):
			never = append(never, to.Address)
		case errors.As(err, new(*textproto.Error)):
			later = append(later, s.target.Mail[i])
		default:
			return s.connectionError(err)
		}
		last = err
	}
	if accepted > 0 {
		if err := s.transmit(e.text); err != nil {
			return err
		}
	}
	if last == nil {
		return nil
	}
	return s.recipientError(accepted, later, never, last)
}

func (s *session) transmit(text []byte) error {
	w, err := s.Data()
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return s.replyError("does not take the mail", err)
	}
	return nil
}

// envelope is an address without a name, as MAIL and RCPT want it.
func envelope(a *netmail.Address) string { return (&netmail.Address{Address: a.Address}).String() }

// isPermanentReply reports whether the server would reply the same to another attempt (RFC 5321,
// 4.2.1).
func isPermanentReply(err error) bool {
	reply, ok := errors.AsType[*textproto.Error](err)
	return ok && reply.Code/100 == 5
}

// connectionError is the error for a server that did not reply, or replied something that no server
// may reply at that point.
func (s *session) connectionError(err error) *Error {
	switch {
	case s.ctx.Err() == nil && errors.As(err, new(*textproto.Error)):
		return s.replyError("refuses to talk", err)
	case s.ctx.Err() == nil && errors.As(err, new(textproto.ProtocolError)):
		return s.temporary("what it answers is not SMTP", "see the port of the URL")
	case s.ctx.Err() == nil && errors.Is(err, errTooLong):
		return s.temporary(errTooLong.Error(), "see the port of the URL")
	}
	text, hint := s.explain(err)
	switch {
	case errors.As(err, new(tls.RecordHeaderError)):
		hint = "write smtp:// instead of smtps://, or its other port, often 465"
	case s.ctx.Err() != nil && s.server.port == "465" && !s.server.implicitTLS:
		hint = "a server that speaks TLS on this port waits for it: then write smtps://"
	case s.ctx.Err() != nil && s.server.port == "25":
		hint = "many networks block port 25: does the server take mail on 587 or 465, too?"
	}
	return s.temporary(text, hint)
}

// replyError is the error for a server that refused something. It is permanent if the server says
// so.
func (s *session) replyError(what string, err error) *Error {
	reply, ok := errors.AsType[*textproto.Error](err)
	if !ok || s.ctx.Err() != nil {
		return s.connectionError(err)
	}
	e := s.permanent(what+s.quote(reply), "")
	e.Permanent = isPermanentReply(err)
	return e
}

// recipientError is the error for a mail that not all addresses accepted. The server would accept
// the mail for the addresses in later at another time, and never for the addresses in never.
func (s *session) recipientError(accepted int, later, never []string, last error) *Error {
	refused := strings.Join(append(never, bareAddresses(later)...), ", ")
	e := s.replyError("does not take mail for "+refused, last)
	if accepted > 0 {
		e.Text += "; the others have it"
	}
	e.Permanent = len(later) == 0
	if len(later) < len(s.target.Mail) {
		e.Rest = later
	}
	return e
}

// permanent returns a permanent error of the server: what follows the server's name.
func (s *session) permanent(what, hint string) *Error {
	return s.target.permanent(s.server.address()+" "+what, hint)
}

// temporary returns a temporary error of the connection: why follows the name of the server.
func (s *session) temporary(why, hint string) *Error {
	return s.target.temporary(s.server.address()+": "+why, hint)
}

func (s *session) quote(reply *textproto.Error) string {
	return fmt.Sprintf(": %d %s", reply.Code, redact(reply.Msg, s.secrets))
}

// maxReplies is how many bytes a mail server may send in a session, TLS included: one line of SMTP
// has at most 512.
const maxReplies = 256 << 10

var errTooLong = errors.New("it answers without an end")

// A limitedConn fails with errTooLong after so many bytes, because a line without an end would fill
// memory.
type limitedConn struct {
	net.Conn
	left int
}

func (l *limitedConn) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooLong
	}
	n, err := l.Conn.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}

type email struct {
	from *netmail.Address
	to   []*netmail.Address
	host string // the name in the greeting of SMTP
	text []byte // header and body; lines end in \r\n
}
