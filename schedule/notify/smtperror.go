package notify

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/textproto"
)

func permanent(err error) bool {
	reply := (*textproto.Error)(nil)
	return errors.As(err, &reply) && reply.Code/100 == 5
}

func answered(err error) bool { return errors.As(err, new(*textproto.Error)) }

// failed is the error of a server that did not answer, or answered what nobody expects there.
func (s *session) failed(err error) *Error {
	var (
		reply *textproto.Error
		other textproto.ProtocolError
	)
	switch {
	case s.ctx.Err() == nil && errors.As(err, &reply):
		return s.refused("refuses to talk", err)
	case s.ctx.Err() == nil && errors.As(err, &other):
		return s.target.failed(s.server.place()+": what it answers is not SMTP", "see the port of the URL")
	case s.ctx.Err() == nil && errors.Is(err, errTooMuch):
		return s.target.failed(s.server.place()+": "+errTooMuch.Error(), "see the port of the URL")
	}
	text, hint := s.silence(err)
	switch {
	case errors.As(err, new(tls.RecordHeaderError)):
		hint = "write smtp:// instead of smtps://, or its other port, often 465"
	case s.ctx.Err() != nil && s.server.port == "465" && !s.server.wrapped:
		hint = "a server that speaks TLS on this port waits for it: then write smtps://"
	case s.ctx.Err() != nil && s.server.port == "25":
		hint = "many networks block port 25: does the server take mail on 587 or 465, too?"
	}
	return s.target.failed(s.server.place()+": "+text, hint)
}

// refused is the error of a server that said no. It may change its mind if it says so (RFC 5321, 4.2.1).
func (s *session) refused(what string, err error) *Error {
	var reply *textproto.Error
	if !errors.As(err, &reply) || s.ctx.Err() != nil {
		return s.failed(err)
	}
	e := s.broken(what+s.quote(reply), "")
	e.Permanent = reply.Code/100 == 5
	return e
}

// broken is the error of a server to which we cannot talk in the way that the URL wants.
func (s *session) broken(what, hint string) *Error {
	return s.target.wrong(s.server.place()+" "+what, hint)
}

// quote is the answer of a server behind a sentence.
func (s *session) quote(reply *textproto.Error) string {
	return fmt.Sprintf(": %d %s", reply.Code, without(s.secrets, reply.Msg))
}

// maxAnswers is how much a mail server may answer, in bytes: a line of SMTP has 512.
const maxAnswers = 256 << 10

var errTooMuch = errors.New("it answers without an end")

// limited is a connection that reads no more than so many bytes: readers of lines wait for the end of the line.
type limited struct {
	net.Conn
	left int
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooMuch
	}
	n, err := l.Conn.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}
