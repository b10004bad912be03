package notify

import (
	"cmp"
	"net"
	"net/url"
	"strings"
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

// address is the host and port to connect to. Errors name the server by it.
func (s smtpServer) address() string { return net.JoinHostPort(s.host, s.port) }
