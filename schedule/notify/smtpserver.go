package notify

import (
	"net"
	"net/url"
	"strings"
)

// A server is what the URL of a mail says.
type server struct {
	host, port     string
	user, password string
	wrapped        bool // smtps: TLS from the first byte
	tls            tlsRule
	secrets        []string
}

// A tlsRule says what is asked of TLS on a connection that begins without it.
type tlsRule int

const (
	// tlsOffered uses it when the server offers it, whatever its certificate: who could forge that could
	// as well take the offer out (RFC 7435). So do mail servers among themselves.
	tlsOffered tlsRule = iota
	tlsRequired
	tlsNone
)

// parseServer reads a URL. The problem has nothing of the URL in it.
//
// A password is sent only where TLS, with a certificate that can be trusted, is required. The exceptions
// are a server on this machine, and a URL that says tls=none.
func parseServer(text string) (s server, problem string) {
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || u.Hostname() == "" {
		return s, "the URL of the mail server is none"
	}
	s = server{host: u.Hostname(), port: u.Port(), secrets: secrets(u)}
	switch u.Scheme {
	case "smtp":
		s.port = or(s.port, "25")
	case "smtps":
		s.port, s.wrapped = or(s.port, "465"), true
	default:
		return s, "the URL of the mail server does not begin with smtp:// or smtps://"
	}
	if u.User != nil {
		s.user = u.User.Username()
		s.password, _ = u.User.Password()
		if s.user == "" || s.password == "" {
			return s, "the URL of the mail server has half of a user and password"
		}
		if !s.local() {
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
		case name == "tls" && len(values) == 1 && values[0] == "none" && !s.wrapped:
			s.tls = tlsNone
		default:
			return s, "the URL of the mail server may have ?tls=required or, with smtp://, ?tls=none, and nothing else"
		}
	}
	return s, ""
}

// local reports whether the server is on this machine.
func (s server) local() bool {
	ip := net.ParseIP(s.host)
	return s.host == "localhost" || ip != nil && ip.IsLoopback()
}

func (s server) place() string { return net.JoinHostPort(s.host, s.port) }

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
