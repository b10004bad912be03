package redis

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"sched/mutex"
	"sched/schedule/humanize"
	"sched/schedule/statedir"
)

// urlHint is what to write instead of a URL that cannot be used.
const urlHint = "write redis://[user:password@]host[:port][/database], rediss://… for TLS, " +
	"unix:///path/to/socket[?db=1], redis+sentinel://host,host,host/PRIMARY, " +
	"redis+cluster://host,host,host, or a list of URLs for servers that stand alone; " +
	"in a password write %40 for @, %2F for /, %3A for :, %23 for #, %3F for ? and %25 for %; " +
	"docs/many-servers.md has more"

// urlPattern matches a URL: its scheme with the kind of server, the user, the hosts, and the rest.
var urlPattern = humanize.Pattern(`(?s)^(?P<scheme>rediss?|unix|rediss?\+(?P<kind>sentinel|cluster))://` +
	`(?P<user>[^/?#]*@)?(?P<hosts>[^/?#]*)(?P<rest>.*)$`)

// serversOf reads the URLs of a config, without connecting; see urlHint.
func serversOf(c mutex.Config) (servers []*server, err error) {
	n := len(c.Servers)
	switch {
	case n == 0:
		return nil, refusal(urlHint, "the store has no server")
	case n%2 == 0:
		return nil, refusal("a majority decides: one server more would make it no safer; take one away, or add one",
			"the store has %d servers, and needs one or an odd number", n)
	}
	for i, text := range c.Servers {
		s, problem := serverOf(text, c.Dir)
		if problem == "" && s.kind != "" && n > 1 {
			problem = "is of Sentinels or of a Cluster, in a list of servers"
		}
		if problem != "" && n > 1 {
			return nil, refusal(hintOf(text), "URL %d of the store %s", i+1, problem)
		} else if problem != "" {
			return nil, refusal(hintOf(text), "the URL of the store %s", problem)
		}
		isSame := func(other *server) bool { return other.options.Addrs[0] == s.options.Addrs[0] }
		if j := slices.IndexFunc(servers, isSame); j >= 0 {
			return nil, refusal(
				"each must be a server of its own, which fails alone; another database of the same one is not",
				"URLs %d and %d of the store are of the same server, %s", j+1, i+1, s.options.Addrs[0])
		}
		s.limit = timeout
		if n > 1 {
			s.limit = timeout / 2 // so a silent server leaves time for the others
		}
		servers = append(servers, s)
	}
	return servers, nil
}

// foreignSchemes are what people write for a scheme of ours.
var foreignSchemes = map[string]string{
	"psql": "postgres", "pg": "postgres", "pgsql": "postgres", "tcp": "redis", "valkey": "redis", "valkeys": "rediss",
	"redis-sentinel": "redis+sentinel", "redis-cluster": "redis+cluster",
}

// hintOf says what to write instead of a URL: another scheme, or a whole URL. It quotes nothing of
// the URL.
func hintOf(text string) string {
	schemes := []string{"redis", "rediss", "unix", "redis+sentinel", "redis+cluster", "postgres", "postgresql", "mysql"}
	scheme, _, isURL := strings.Cut(text, ":")
	scheme = strings.ToLower(scheme)
	meant := cmp.Or(foreignSchemes[scheme], humanize.Nearest(scheme, schemes))
	if !isURL || meant == "" || strings.HasPrefix(text, meant+"://") {
		return urlHint
	}
	return "did you mean " + meant + "://?"
}

func refusal(hint, format string, args ...any) error {
	return &mutex.StoreError{Text: fmt.Sprintf(format, args...), Hint: hint}
}

// serverOf reads a URL. The problem follows "the URL of the store" and quotes nothing of the URL:
// any part may be a password. Files of certificates are relative to dir.
func serverOf(text, dir string) (s *server, problem string) {
	u, problem := parseURL(text)
	if problem == "" {
		problem = u.whyUnusable()
	}
	if problem != "" {
		return nil, problem
	}
	db, _ := u.database()
	password, _ := u.user.Password()
	s = &server{kind: u.kind, name: u.name}
	s.options = &goredis.UniversalOptions{
		Addrs:            u.hosts,
		DB:               db,
		MasterName:       u.primary,
		Username:         u.user.Username(),
		Password:         password,
		SentinelUsername: u.query.Get("sentinel_user"),
		SentinelPassword: u.query.Get("sentinel_password"),
	}
	if u.secure {
		// A broken certificate is no problem of the URL: tasks that need no store still run.
		var err error
		if s.options.TLSConfig, err = readCertificates(u.query, dir); err != nil {
			s.disable(s.failed("cannot be reached: "+err.Error(),
				"these are PEM files, a key must have no password; "+
					"a path in the URL is relative to the folder of the schedule"))
		}
	}
	return s, ""
}

// A storeURL is a URL in parts. The method whyUnusable says whether the parts fit each other.
type storeURL struct {
	kind     string // as in server
	name     string // as in server
	secure   bool   // by TLS
	user     *url.Userinfo
	hosts    []string // with ports; for a socket its path
	noHost   bool     // a host has no name, or a socket has no path, or has a host
	primary  string   // the name under which Sentinels know the primary
	path     string   // the database, as text; "" if the path of the URL has none
	query    url.Values
	fragment string
}

// parseURL takes a URL apart. The problem is as in serverOf.
func parseURL(text string) (u storeURL, problem string) {
	found := urlPattern().FindStringSubmatch(text)
	if found == nil {
		return u, "does not begin with redis://, rediss://, unix://, redis+sentinel://, redis+cluster://, " +
			"postgres:// or mysql://"
	}
	part := func(name string) string { return found[urlPattern().SubexpIndex(name)] }
	scheme, kind, hosts := part("scheme"), part("kind"), strings.ToLower(part("hosts"))
	parsed, err := url.Parse(scheme + "://" + part("user") + "hosts" + part("rest")) // net/url takes no list of hosts
	if err != nil {
		return u, "is not a URL"
	}
	u = storeURL{
		kind:     kind,
		name:     hosts,
		secure:   strings.HasPrefix(scheme, "rediss"),
		user:     parsed.User,
		path:     strings.Trim(parsed.Path, "/"),
		query:    parsed.Query(),
		fragment: parsed.Fragment,
	}
	if scheme == "unix" {
		u.noHost = hosts != "" || u.path == ""
		u.hosts, u.name, u.path = []string{parsed.Path}, parsed.Path, ""
		return u, ""
	}
	port := "6379"
	switch kind {
	case "sentinel":
		port = "26379"
		u.primary, u.path, _ = strings.Cut(u.path, "/")
		u.name = u.primary + " (Sentinels " + hosts + ")"
	case "cluster":
		u.name = "the Cluster of " + hosts
	}
	return u.withHosts(hosts, port)
}

// withHosts sets the hosts of a list, each with its port.
func (u storeURL) withHosts(list, defaultPort string) (_ storeURL, problem string) {
	for _, text := range strings.Split(list, ",") {
		host, err := url.Parse("redis://" + text)
		if err != nil {
			return u, "is not a URL"
		}
		u.noHost = u.noHost || host.Hostname() == ""
		u.hosts = append(u.hosts, net.JoinHostPort(host.Hostname(), cmp.Or(host.Port(), defaultPort)))
	}
	return u, ""
}

func (u storeURL) database() (int, error) {
	db, err := strconv.ParseUint(cmp.Or(u.query.Get("db"), u.path, "0"), 10, 31)
	return int(db), err
}

// knownParameters are the names that the query may have.
func (u storeURL) knownParameters() []string {
	names := []string{"db"}
	if u.kind == "sentinel" {
		names = append(names, "sentinel_user", "sentinel_password")
	}
	if u.secure {
		names = append(names, "ca", "cert", "key", "server_name", "skip_verify")
	}
	return names
}

// whyUnusable says why the URL names no server; "" if it does.
func (u storeURL) whyUnusable() string {
	_, hasPassword := u.user.Password()
	_, err := u.database()
	switch {
	case u.fragment != "":
		return `has a "#" in it`
	case u.noHost:
		return "names no host, or no socket"
	case u.kind == "" && len(u.hosts) > 1:
		return "names several hosts"
	case u.user != nil && !hasPassword:
		return "has a user without a password; with a password alone it is redis://:password@host"
	case u.kind == "sentinel" && u.primary == "":
		return "does not name the primary"
	case u.kind == "cluster" && (u.path != "" || u.query.Has("db")):
		return "has a path or a database, and a Redis Cluster has none"
	case err != nil:
		return "has a database that is not a number"
	}
	for name, values := range u.query {
		isKnown := slices.Contains(u.knownParameters(), name)
		if !isKnown || len(values) > 1 || values[0] == "" || name == "skip_verify" && values[0] != "true" {
			return "has a parameter that is empty, there twice, or not one of " +
				strings.Join(u.knownParameters(), ", ")
		}
	}
	if u.query.Has("cert") != u.query.Has("key") {
		return "has a certificate without its key, or a key without its certificate"
	}
	return ""
}

// readCertificates returns the settings of TLS. They are not nil even after an error: explain tells
// by them that the URL asks for TLS.
func readCertificates(query url.Values, dir string) (*tls.Config, error) {
	file := func(name string) string {
		if path := query.Get(name); !filepath.IsAbs(path) {
			return filepath.Join(dir, path)
		}
		return query.Get(name)
	}
	config := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		ServerName:         query.Get("server_name"),
		InsecureSkipVerify: query.Has("skip_verify"),
	}
	if query.Has("ca") {
		text, err := statedir.ReadFile(file("ca"))
		if err != nil {
			return config, fmt.Errorf("the CA cannot be read: %w", err)
		}
		if config.RootCAs = x509.NewCertPool(); !config.RootCAs.AppendCertsFromPEM(text) {
			return config, fmt.Errorf("there is no certificate in the file of the CA, %s", file("ca"))
		}
	}
	if query.Has("cert") {
		var pair tls.Certificate
		cert, err := statedir.ReadFile(file("cert"))
		key, keyErr := statedir.ReadFile(file("key"))
		if err = cmp.Or(err, keyErr); err == nil {
			pair, err = tls.X509KeyPair(cert, key)
		}
		if err != nil {
			return config, fmt.Errorf("the certificate in %s cannot be used with the key in %s: %w",
				file("cert"), file("key"), err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
