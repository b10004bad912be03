package redis

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"sched/mutex"
	"sched/schedule/humanize"
)

// forms is what to write instead of a URL that cannot be used.
const forms = "write redis://[user:password@]host[:port][/database], rediss://… for TLS, unix:///path/to/socket[?db=1], " +
	"redis+sentinel://host,host,host/PRIMARY, redis+cluster://host,host,host, or a list of URLs for servers that stand alone; " +
	"in a password write %40 for @, %2F for /, %3A for :, %23 for #, %3F for ? and %25 for %; docs/many-servers.md has more"

// form has as its parts the scheme, the kind, the user, the hosts, and what follows.
var form = humanize.Pattern(`(?s)^(rediss?|unix|rediss?\+(sentinel|cluster))://([^/?#]*@)?([^/?#]*)(.*)$`)

// serversOf reads the URLs of a config, without connecting; see forms.
func serversOf(c mutex.Config) (servers []*server, err error) {
	wrong := func(hint, text string, args ...any) ([]*server, error) {
		return nil, &mutex.StoreError{Text: fmt.Sprintf(text, args...), Hint: hint}
	}
	switch n := len(c.Servers); {
	case n == 0:
		return wrong(forms, "the store has no server")
	case n%2 == 0:
		return wrong("a majority decides: one server more would make it no safer; take one away, or add one",
			"the store has %d servers, and needs one or an odd number", n)
	}
	for i, text := range c.Servers {
		s, problem := serverOf(text, c.Dir)
		if problem == "" && s.kind != "" && len(c.Servers) > 1 {
			problem = "is of Sentinels or of a Cluster, in a list of servers"
		}
		if problem != "" && len(c.Servers) == 1 {
			return wrong(forms, "the URL of the store %s", problem)
		} else if problem != "" {
			return wrong(forms, "URL %d of the store %s", i+1, problem)
		}
		isSame := func(other *server) bool { return other.options.Addrs[0] == s.options.Addrs[0] }
		if j := slices.IndexFunc(servers, isSame); j >= 0 {
			return wrong("each must be a server of its own, which fails alone; another database of the same one is not",
				"URLs %d and %d of the store are of the same server, %s", j+1, i+1, s.options.Addrs[0])
		}
		s.limit = timeout / time.Duration(min(2, len(c.Servers)))
		servers = append(servers, s)
	}
	return servers, nil
}

// serverOf reads a URL. The problem follows "the URL of the store" and quotes nothing of the URL:
// any part may be a password. Files of certificates are relative to dir.
func serverOf(text, dir string) (s *server, problem string) {
	parts := form().FindStringSubmatch(text)
	if parts == nil {
		return nil, "does not begin with redis://, rediss://, unix://, redis+sentinel://, redis+cluster://, postgres:// or mysql://"
	}
	s = &server{kind: parts[2], name: strings.ToLower(parts[4])}
	u, err := url.Parse(parts[1] + "://" + parts[3] + "hosts" + parts[5])
	var hosts []string
	noHost, port, allowed := false, "6379", []string{"db"}
	if s.kind == "sentinel" {
		port, allowed = "26379", append(allowed, "sentinel_user", "sentinel_password")
	}
	for _, name := range strings.Split(s.name, ",") {
		host, hostErr := url.Parse("redis://" + name)
		if err = cmp.Or(err, hostErr); err != nil {
			return nil, "is not a URL"
		}
		hosts = append(hosts, net.JoinHostPort(host.Hostname(), cmp.Or(host.Port(), port)))
		noHost = noHost || host.Hostname() == ""
	}
	secure, query := strings.HasPrefix(text, "rediss"), u.Query()
	if secure {
		allowed = append(allowed, "ca", "cert", "key", "server_name", "skip_verify")
	}
	path, primary := strings.Trim(u.Path, "/"), ""
	switch {
	case parts[1] == "unix":
		noHost = s.name != "" || path == ""
		hosts, s.name, path = []string{u.Path}, u.Path, ""
	case s.kind == "sentinel":
		primary, path, _ = strings.Cut(path, "/")
		s.name = primary + " (Sentinels " + s.name + ")"
	case s.kind == "cluster":
		s.name = "the Cluster of " + s.name
	}
	db, err := strconv.ParseUint(cmp.Or(query.Get("db"), path, "0"), 10, 31)
	password, hasPassword := u.User.Password()
	odd := false
	for name, values := range query {
		odd = odd || !slices.Contains(allowed, name) || len(values) > 1 || values[0] == "" || name == "skip_verify" && values[0] != "true"
	}
	for _, wrong := range []struct {
		is      bool
		problem string
	}{
		{u.Fragment != "", `has a "#" in it`},
		{noHost, "names no host, or no socket"},
		{s.kind == "" && len(hosts) > 1, "names several hosts"},
		{u.User != nil && !hasPassword, "has a user without a password; with a password alone it is redis://:password@host"},
		{s.kind == "sentinel" && primary == "", "does not name the primary"},
		{s.kind == "cluster" && (path != "" || query.Has("db")), "has a path or a database, and a Redis Cluster has none"},
		{err != nil, "has a database that is not a number"},
		{odd, "has a parameter that is empty, there twice, or not one of " + strings.Join(allowed, ", ")},
		{query.Has("cert") != query.Has("key"), "has a certificate without its key, or a key without its certificate"},
	} {
		if wrong.is {
			return nil, wrong.problem
		}
	}
	s.options = &goredis.UniversalOptions{
		Addrs: hosts, DB: int(db), MasterName: primary, Username: u.User.Username(), Password: password,
		SentinelUsername: query.Get("sentinel_user"), SentinelPassword: query.Get("sentinel_password"),
	}
	if secure {
		if s.options.TLSConfig, err = readCertificates(query, dir); err != nil {
			why := s.failed("cannot be reached: "+err.Error(),
				"these are PEM files, a key must have no password; a path in the URL is relative to the folder of the schedule")
			s.silent.Store(&silence{why, time.Now().AddDate(100, 0, 0)})
		}
	}
	return s, ""
}

// readCertificates prepares TLS. Bad files fail each request; tasks without a store still run.
func readCertificates(query url.Values, dir string) (*tls.Config, error) {
	file := func(name string) string {
		if path := query.Get(name); !filepath.IsAbs(path) {
			return filepath.Join(dir, path)
		}
		return query.Get(name)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: query.Get("server_name"), InsecureSkipVerify: query.Has("skip_verify")}
	if query.Has("ca") {
		text, err := os.ReadFile(file("ca"))
		if err != nil {
			return config, fmt.Errorf("the CA cannot be read: %w", err)
		}
		if config.RootCAs = x509.NewCertPool(); !config.RootCAs.AppendCertsFromPEM(text) {
			return config, fmt.Errorf("there is no certificate in the file of the CA, %s", file("ca"))
		}
	}
	if query.Has("cert") {
		pair, err := tls.LoadX509KeyPair(file("cert"), file("key"))
		if err != nil {
			return config, fmt.Errorf("the certificate in %s cannot be used with the key in %s: %w", file("cert"), file("key"), err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

func (s *server) connect() goredis.UniversalClient {
	o := *s.options
	// A connection that is silent for half of the time is replaced once, and so is a broken one.
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout/2, timeout/2, timeout/2, timeout
	o.ContextTimeoutEnabled, o.MaxRetries, o.DialerRetries = true, 1, 1
	o.PoolSize = mutex.SideBySide
	o.ReadBufferSize, o.WriteBufferSize = 4096, 4096 // a run that waits has one connection, and should be small
	o.Protocol, o.DisableIdentity = 2, true          // without the extra requests of a new connection
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	if s.kind == "cluster" {
		c := o.Cluster()
		c.MaxRetries, c.DisableRoutingPolicies = 0, true // it repeats and redirects by itself
		return goredis.NewClusterClient(c)
	}
	return goredis.NewUniversalClient(&o) // of the primary, if the options name one
}
