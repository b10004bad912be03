package redis

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"sched/mutex"
)

// A lease must leave time for a renewal that fails, and another one; and the lock of a machine that
// died must not last for days.
const (
	shortestLease = 3 * time.Second
	longestLease  = 24 * time.Hour
)

// Check says what is wrong with a config, without connecting and without quoting passwords.
func Check(c mutex.Config) error {
	_, err := targetsOf(c)
	return err
}

func targetsOf(c mutex.Config) ([]*target, error) {
	wrong := func(hint, text string, args ...any) ([]*target, error) {
		return nil, &mutex.StoreError{Text: fmt.Sprintf(text, args...), Hint: hint}
	}
	switch n := len(c.Servers); {
	case n == 0:
		return wrong(anyHint, "the store has no server")
	case n%2 == 0:
		return wrong(fmt.Sprintf("a majority of %d is %d: it survives no more failures than %d would; take one away, or add one", n, n/2+1, n-1),
			"the store has %d servers, and needs one or an odd number", n)
	case c.Namespace == "":
		return wrong("give the schedule a name: it must be the same on every server", "the store needs a name for its keys")
	case c.Lease != 0 && (c.Lease < shortestLease || c.Lease > longestLease):
		return wrong("", "a lease of %s is not between %s and %s", c.Lease, shortestLease, longestLease)
	}
	var targets []*target
	first := map[string]int{}
	for i, text := range c.Servers {
		t, problem, hint := targetOf(text, c.Dir)
		switch {
		case problem != "" && len(c.Servers) == 1:
			return wrong(hint, "the URL of the store %s", problem)
		case problem != "":
			return wrong(hint, "URL %d of the store %s", i+1, problem)
		case t.moves() && len(c.Servers) > 1:
			return wrong("a list is of servers that stand alone, of which a majority decides; write one URL: redis+sentinel://host,host,host/PRIMARY or redis+cluster://host,host,host",
				"URL %d of the store is of Sentinels or of a Cluster, in a list of servers", i+1)
		}
		address := t.options.Addrs[0]
		if j, found := first[address]; found {
			return wrong("each must be a server of its own, which fails alone; another database of the same one is not",
				"URLs %d and %d of the store are of the same server, %s", j+1, i+1, address)
		}
		first[address] = i
		targets = append(targets, t)
	}
	return targets, nil
}

// readCertificates prepares TLS. Bad files fail each request; tasks without a store still run.
func (t *target) readCertificates(query url.Values, dir string) {
	file := func(name string) string {
		path := query.Get(name)
		if path != "" && !filepath.IsAbs(path) {
			return filepath.Join(dir, path)
		}
		return path
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: query.Get("server_name"), InsecureSkipVerify: query.Has("skip_verify")}
	t.options.TLSConfig = config
	wrong := func(format string, a ...any) {
		t.broken = t.failed("cannot be reached: "+fmt.Sprintf(format, a...),
			"these are PEM files, a key must have no password; a path in the URL is relative to the folder of the schedule")
	}
	if ca := file("ca"); ca != "" {
		text, err := os.ReadFile(ca)
		config.RootCAs = x509.NewCertPool()
		if err != nil {
			wrong("the CA cannot be read: %v", err)
		} else if !config.RootCAs.AppendCertsFromPEM(text) {
			wrong("there is no certificate in the file of the CA, %s", ca)
		}
	}
	if cert, key := file("cert"), file("key"); cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			wrong("the certificate in %s cannot be used with the key in %s: %v", cert, key, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
}
