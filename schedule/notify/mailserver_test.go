package notify_test

import (
	"bufio"
	"crypto/hmac"
	"crypto/md5"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// A mailServer is a real SMTP server that refuses what its fields say.
type mailServer struct {
	certificate *tls.Certificate // offers STARTTLS, or speaks TLS at once when wrapped
	wrapped     bool
	mechanism   string // wants B0B and hunter2 in this way
	sender      error
	recipients  map[string]error
	data        error

	mu   sync.Mutex
	seen []delivery
}

type delivery struct {
	from, to  string
	text      string
	encrypted bool
	user      bool
}

// start returns the host and port.
func (m *mailServer) start(t *testing.T) string {
	t.Helper()
	s := smtp.NewServer(m)
	s.Domain, s.AllowInsecureAuth, s.ErrorLog = "mail.test", true, quiet{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	place := l.Addr().String()
	if m.certificate != nil {
		s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{*m.certificate}}
		if m.wrapped {
			l = tls.NewListener(l, s.TLSConfig)
		}
	}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return place
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}
func (quiet) Println(...any)        {}

func (m *mailServer) deliveries() []delivery {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen
}

func (m *mailServer) NewSession(c *smtp.Conn) (smtp.Session, error) {
	return &mailSession{mailServer: m, conn: c}, nil
}

type mailSession struct {
	*mailServer
	conn *smtp.Conn
	delivery
}

func (s *mailSession) AuthMechanisms() []string {
	if s.mechanism == "" {
		return nil
	}
	return []string{"X-UNKNOWN", s.mechanism}
}

func (s *mailSession) Auth(string) (sasl.Server, error) {
	check := func(user, password string) error {
		if s.user = user == "B0B" && password == "hunter2"; !s.user {
			return &smtp.SMTPError{Code: 535, EnhancedCode: smtp.EnhancedCode{5, 7, 8}, Message: "no user " + user +
				" with password " + password}
		}
		return nil
	}
	var step int
	var user string
	return dialogue(func(answer []byte) (challenge []byte, done bool, err error) {
		step++
		switch parts := strings.Split(string(answer), "\x00"); s.mechanism {
		case "PLAIN":
			return nil, true, check(parts[1], parts[2])
		case "LOGIN":
			switch step {
			case 1:
				return []byte("Username:"), false, nil
			case 2:
				user = string(answer)
				return []byte("Password:"), false, nil
			}
			return nil, true, check(user, string(answer))
		default: // CRAM-MD5
			if step == 1 {
				return []byte("<1@mail.test>"), false, nil
			}
			sum := hmac.New(md5.New, []byte("hunter2"))
			sum.Write([]byte("<1@mail.test>"))
			if string(answer) == "B0B "+hex.EncodeToString(sum.Sum(nil)) {
				return nil, true, check("B0B", "hunter2")
			}
			return nil, true, check("", "")
		}
	}), nil
}

type dialogue func([]byte) ([]byte, bool, error)

func (d dialogue) Next(answer []byte) ([]byte, bool, error) { return d(answer) }

func (s *mailSession) Mail(from string, _ *smtp.MailOptions) error {
	if s.mechanism != "" && !s.user {
		return smtp.ErrAuthRequired
	}
	s.from = from
	return s.sender
}

func (s *mailSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	if err := s.recipients[to]; err != nil {
		return err
	}
	s.to = strings.TrimPrefix(s.to+", "+to, ", ")
	return nil
}

func (s *mailSession) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if s.data != nil {
		return s.data
	}
	_, s.encrypted = s.conn.TLSConnectionState()
	s.delivery.text = string(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, s.delivery)
	return nil
}

func (s *mailSession) Reset()        { s.from, s.to = "", "" }
func (s *mailSession) Logout() error { return nil }

// smtpError is an answer without an enhanced code.
func smtpError(code int, text string) error {
	return &smtp.SMTPError{Code: code, EnhancedCode: smtp.NoEnhancedCode, Message: text}
}

// oddServer is a server that answers each command with the result of talk. It hangs if the result
// is "hang", and closes the connection if it is "". Its greeting is talk's answer to "".
func oddServer(t *testing.T, talk func(command string) string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { close(done); l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			go func() {
				defer conn.Close()
				r := bufio.NewReader(conn)
				for command := ""; ; {
					switch answer := talk(command); answer {
					case "":
						return
					case "hang":
						<-done
						return
					default:
						fmt.Fprintf(conn, "%s\r\n", answer)
					}
					if command == "DATA" { // the mail itself
						for command != "." {
							if command, err = readLine(r); err != nil {
								return
							}
						}
						continue
					}
					if command, err = readLine(r); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

func readLine(r *bufio.Reader) (string, error) {
	text, err := r.ReadString('\n')
	word, _, _ := strings.Cut(strings.TrimRight(text, "\r\n"), " ")
	return word, err
}

// polite answers as a server does that takes every mail.
func polite(command string) string {
	switch command {
	case "":
		return "220 mail.test ESMTP"
	case "DATA":
		return "354 go on"
	case "QUIT":
		return "221 bye"
	}
	return "250 ok"
}

// politeBut is polite, but answers one command otherwise.
func politeBut(command, answer string) func(string) string {
	return func(given string) string {
		if given == command {
			return answer
		}
		return polite(given)
	}
}
