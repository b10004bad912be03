package notify

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	netmail "net/mail"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"github.com/wneessen/go-mail/smtp"
)

// A session is a conversation with a mail server. We lead it ourselves: a Client of go-mail sends to nobody when
// the server refuses one of several addresses, and minds a context only until it is connected.
type session struct {
	conversation
	*smtp.Client
	target Target
	server server
	raw    net.Conn // the connection below TLS: to close that one takes no time
}

// smtp hands the message to a mail server.
func (t Target) smtp(ctx context.Context, to server, e email) error {
	s := &session{conversation: converse(ctx, to.secrets), target: t, server: to}
	conn, err := s.dial()
	if err != nil {
		return s.failed(err)
	}
	defer s.raw.Close()
	defer context.AfterFunc(ctx, func() { s.raw.Close() })() // ends whatever waits for the server
	if err := s.begin(conn, e.host); err != nil {
		return err
	}
	defer s.leave()
	return s.send(e)
}

func (s *session) dial() (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(s.ctx, "tcp", s.server.place())
	if err != nil {
		return nil, err
	}
	s.raw = &limited{conn, maxAnswers}
	if !s.server.wrapped {
		return s.raw, nil
	}
	secure := tls.Client(s.raw, s.tlsConfig())
	if err := secure.HandshakeContext(s.ctx); err != nil {
		s.raw.Close()
		return nil, err
	}
	return secure, nil
}

// leave says goodbye. The mail is taken or refused already, so nobody waits long for the answer.
func (s *session) leave() {
	s.raw.SetDeadline(time.Now().Add(2 * time.Second))
	s.Quit()
}

func (s *session) tlsConfig() *tls.Config {
	return &tls.Config{
		ServerName:         s.server.host,
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: !s.server.wrapped && s.server.tls == tlsOffered, // see tlsOffered
	}
}

// begin greets the server, until it would take a mail.
func (s *session) begin(conn net.Conn, host string) (err error) {
	if s.Client, err = smtp.NewClient(conn, s.server.host); err != nil {
		return s.failed(err)
	}
	if err := s.Hello(host); err != nil {
		return s.failed(err)
	}
	if err := s.secure(); err != nil {
		return err
	}
	return s.authenticate()
}

// secure switches to TLS as the URL wants it.
func (s *session) secure() error {
	offered, _ := s.Extension("STARTTLS")
	switch {
	case s.server.wrapped, s.server.tls == tlsNone, s.server.tls == tlsOffered && !offered:
		return nil
	case !offered && s.server.password != "":
		return s.broken("offers no TLS, and the password would be sent in the open",
			"write smtps:// if it speaks TLS on another port, or add ?tls=none if the network may be trusted")
	case !offered:
		return s.broken("offers no TLS", "write smtps:// if it speaks TLS on another port, or leave ?tls=required out")
	}
	if err := s.StartTLS(s.tlsConfig()); err != nil {
		return s.failed(err)
	}
	return nil
}

// authenticate gives user and password in the best of the ways that both sides know.
func (s *session) authenticate() error {
	if s.server.password == "" {
		return nil
	}
	offered, ways := s.Extension("AUTH")
	if !offered {
		return s.broken("takes no user and password", "leave them out of the URL; or it takes them on another port, often 587 or 465")
	}
	user, password, host := s.server.user, s.server.password, s.server.host
	all := []struct {
		name string
		auth smtp.Auth
	}{
		{"SCRAM-SHA-256", smtp.ScramSHA256Auth(user, password)},
		{"SCRAM-SHA-1", smtp.ScramSHA1Auth(user, password)},
		{"CRAM-MD5", smtp.CRAMMD5Auth(user, password)},
		{"PLAIN", smtp.PlainAuth("", user, password, host, true)}, // without TLS only where tlsRule lets it
		{"LOGIN", smtp.LoginAuth(user, password, host, true)},
	}
	for _, way := range all {
		if !slices.Contains(strings.Fields(ways), way.name) {
			continue
		}
		err := s.Auth(way.auth)
		var reply *textproto.Error
		switch {
		case err == nil:
			return nil
		case errors.As(err, &reply) && reply.Code/100 == 5:
			return s.broken("refuses the user or the password"+s.quote(reply), "in a password %40 is @ and %2F is /; some providers want a password made for programs")
		}
		return s.failed(err)
	}
	return s.broken("knows no way to give it a password that sched knows: "+without(s.secrets, ways), "")
}

// send sends the message to all addresses that the server takes.
func (s *session) send(e email) error {
	if err := s.Mail(envelope(e.from)); err != nil {
		return s.refused("does not take mail from "+e.from.Address, err)
	}
	var taken, later, never []string
	var last error
	for i, to := range e.to {
		err := s.Rcpt(envelope(to))
		switch {
		case err == nil:
			taken = append(taken, to.Address)
			continue
		case permanent(err):
			never = append(never, to.Address)
		case answered(err):
			later = append(later, s.target.Mail.To[i])
		default:
			return s.failed(err)
		}
		last = err
	}
	if len(taken) > 0 {
		if err := s.deliver(e); err != nil {
			return err
		}
	}
	if last == nil {
		return nil
	}
	return s.partly(len(taken), later, never, last)
}

func (s *session) deliver(e email) error {
	w, err := s.Data()
	if err == nil {
		_, err = w.Write(e.text)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return s.refused("does not take the mail", err)
	}
	return nil
}

// partly is the error when not all addresses were taken.
func (s *session) partly(taken int, later, never []string, last error) *Error {
	refused := strings.Join(append(never, addresses(later)...), ", ")
	e := s.refused("does not take mail for "+refused, last)
	if taken > 0 {
		e.Text += "; the others have it"
	}
	e.Permanent = len(later) == 0
	if len(later) > 0 && len(later) < len(s.target.Mail.To) {
		rest := *s.target.Mail
		rest.To = later
		e.Rest = &Target{Mail: &rest}
	}
	return e
}

func envelope(a *netmail.Address) string { return (&netmail.Address{Address: a.Address}).String() }
