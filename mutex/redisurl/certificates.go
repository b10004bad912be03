package redisurl

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"os"
)

// certificates say how TLS is spoken.
type certificates struct {
	wanted        bool
	ca, cert, key string // paths of PEM files; "" where the URL has none
	serverName    string // in the certificates of the servers; "" for the host of each
	unchecked     bool   // those of the servers are not verified
}

// load reads the files. Nil without an error means that no TLS is wanted. The error is an *Error.
func (c certificates) load() (*tls.Config, error) {
	if !c.wanted {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.serverName, InsecureSkipVerify: c.unchecked}
	if c.ca != "" {
		text, err := os.ReadFile(c.ca)
		if err != nil {
			return nil, unreadable("the CA", c.ca, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, &Error{"cannot be reached: there is no certificate in the file of the CA, " + c.ca, "it begins with -----BEGIN CERTIFICATE-----"}
		}
	}
	if c.cert != "" {
		for what, path := range map[string]string{"the certificate": c.cert, "the key": c.key} {
			if _, err := os.ReadFile(path); err != nil {
				return nil, unreadable(what, path, err)
			}
		}
		pair, err := tls.LoadX509KeyPair(c.cert, c.key)
		if err != nil {
			return nil, &Error{"cannot be reached: the certificate in " + c.cert + " does not go with the key in " + c.key,
				"both are PEM files; a key must have no password"}
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

func unreadable(what, path string, err error) error {
	reason := err.Error()
	if inner := (*fs.PathError)(nil); errors.As(err, &inner) {
		reason = inner.Err.Error()
	}
	return &Error{"cannot be reached: the file of " + what + ", " + path + ", cannot be read: " + reason,
		"the path in the URL is relative to the folder of the schedule"}
}
