package notify

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"strings"
)

func isReply(err error) bool { return errors.As(err, new(*textproto.Error)) }

// isPermanentReply reports whether the server would reply the same to another attempt (RFC 5321,
// 4.2.1).
func isPermanentReply(err error) bool {
	reply := (*textproto.Error)(nil)
	return errors.As(err, &reply) && reply.Code/100 == 5
}

// connectionError is the error for a server that did not reply, or replied something that no server
// may reply at that point.
func (s *session) connectionError(err error) *Error {
	var (
		reply    *textproto.Error
		protocol textproto.ProtocolError
	)
	switch {
	case s.ctx.Err() == nil && errors.As(err, &reply):
		return s.replyError("refuses to talk", err)
	case s.ctx.Err() == nil && errors.As(err, &protocol):
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
	var reply *textproto.Error
	if !errors.As(err, &reply) || s.ctx.Err() != nil {
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
	if len(later) > 0 && len(later) < len(s.target.Mail.To) {
		rest := *s.target.Mail
		rest.To = later
		e.Rest = &Target{Mail: &rest}
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
