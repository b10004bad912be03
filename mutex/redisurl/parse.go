package redisurl

import (
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// What to write, by the kind of the URL.
const (
	aloneHint = "write redis://[user:password@]host[:port][/database], rediss://… for TLS, or unix:///path/to/socket[?db=1]; " + escapesHint
	// Hint shows each way to write a URL.
	Hint = "write redis://[user:password@]host[:port][/database], rediss://… for TLS, unix:///path/to/socket[?db=1], " +
		"redis+sentinel://host,host,host/PRIMARY, or redis+cluster://host,host,host; " + escapesHint
	sentinelHint = "write redis+sentinel://[user:password@]host[:port],host,host/PRIMARY[/database][?sentinel_password=…], " +
		"with the hosts of the Sentinels and the name that their `sentinel monitor` has for the primary; rediss+sentinel://… for TLS"
	clusterHint     = "write redis+cluster://[user:password@]host[:port],host,host, with some nodes of the Cluster; rediss+cluster://… for TLS"
	certificateHint = "with rediss://… write ?ca=FILE for the CA of the servers, and &cert=FILE&key=FILE for a certificate of our own"
	escapesHint     = "in a password write %40 for @, %2F for /, %3A for :, %23 for #, %3F for ? and %25 for %"
)

var schemes = []string{"redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster"}

// Parse reads a URL, without connecting and without opening the files that it names: those are relative to the folder dir. The
// error is an *Error.
func Parse(text, dir string) (*Target, error) {
	u, ok := parse(text)
	if !ok {
		return nil, &Error{"is not a URL", Hint}
	}
	for _, find := range []func(parsed) (problem, hint string){problemOf, problemOfDatabase, problemOfParameters} {
		if problem, hint := find(u); problem != "" {
			return nil, &Error{problem, hint}
		}
	}
	t := &Target{Kind: u.kind, files: certificatesOf(u, dir)}
	query := u.Query()
	t.sentinelUser, t.sentinelPassword = query.Get("sentinel_user"), query.Get("sentinel_password")
	database := strings.Trim(u.Path, "/")
	if u.kind == Sentinel {
		t.Primary, database, _ = strings.Cut(database, "/")
	}
	plain := *u.URL
	if u.Scheme != "unix" {
		plain.Scheme, plain.Path, plain.RawQuery = "redis", "/"+database, ""
		if db := query.Get("db"); db != "" {
			plain.Path = "/" + db
		}
	}
	options, err := redis.ParseURL(plain.String())
	if err != nil { // its text quotes the URL
		return nil, &Error{"is not one that can be used", Hint}
	}
	t.options = options
	if t.Moves() {
		for _, host := range u.hosts {
			t.Seeds = append(t.Seeds, strings.ToLower(withPort(host, t.defaultPort())))
		}
		options.Addr = t.Address()
	}
	return t, nil
}

func withPort(host *url.URL, port string) string {
	if host.Port() != "" {
		port = host.Port()
	}
	return net.JoinHostPort(host.Hostname(), port)
}

// problemOf says what is wrong with the way to the servers, and quotes nothing of it.
func problemOf(u parsed) (problem, hint string) {
	_, password := u.User.Password()
	switch {
	case !slices.Contains(schemes, u.Scheme):
		return "begins with none of redis://, rediss:// and unix://, redis+sentinel:// and redis+cluster://", Hint
	case u.Fragment != "":
		return `has a "#" in it`, hintOf(u)
	case u.Scheme == "unix" && (u.Host != "" || u.Path == ""):
		return "names no socket", aloneHint
	case u.Scheme != "unix" && slices.ContainsFunc(u.hosts, func(h *url.URL) bool { return h.Hostname() == "" }):
		return "names no host", hintOf(u)
	case slices.ContainsFunc(u.hosts, wrongPort):
		return "has a port that is not in 1-65535", hintOf(u)
	case u.kind == Alone && len(u.hosts) > 1:
		return "names several hosts", "write a list of URLs for servers that stand alone; for Sentinels redis+sentinel://host,host,host/PRIMARY, for a Cluster redis+cluster://host,host,host"
	case u.User != nil && !password:
		return "has a user without a password; with a password alone it is redis://:password@host", hintOf(u)
	}
	return "", ""
}

func wrongPort(host *url.URL) bool {
	port, _ := strconv.Atoi(host.Port())
	return host.Port() != "" && (port < 1 || port > 65535)
}

// problemOfDatabase is about the path of the URL: a database, after the name of the primary where Sentinels have one.
func problemOfDatabase(u parsed) (problem, hint string) {
	path := strings.Trim(u.Path, "/")
	primary, database, _ := strings.Cut(path, "/")
	switch {
	case u.kind == Sentinel && primary == "":
		return "does not name the primary", sentinelHint
	case u.kind == Alone:
		database = path
	}
	if u.Scheme == "unix" {
		database = ""
	}
	if db := u.Query().Get("db"); db != "" {
		database = db
	}
	switch {
	case u.kind == Cluster && (path != "" || database != ""):
		return "has a path or a database, and a Redis Cluster has none", clusterHint
	case strings.Trim(database, "0123456789") != "":
		return "has a database that is not a number", hintOf(u)
	}
	return "", ""
}

// problemOfParameters is about what follows the question mark.
func problemOfParameters(u parsed) (problem, hint string) {
	allowed := []string{"db"}
	if u.kind == Sentinel {
		allowed = append(allowed, "sentinel_user", "sentinel_password")
	}
	ofTLS := []string{"ca", "cert", "key", "server_name", "skip_verify"}
	query := u.Query()
	for name, values := range query {
		switch ofTLS := slices.Contains(ofTLS, name); {
		case ofTLS && !u.tls:
			return "has a parameter other than db that needs TLS", certificateHint
		case !ofTLS && !slices.Contains(allowed, name), name == "skip_verify" && query.Get(name) != "true":
			return "has a parameter other than db" + map[Kind]string{Sentinel: ", sentinel_user and sentinel_password"}[u.kind] +
				", and with rediss ca, cert, key, server_name and skip_verify=true", hintOf(u)
		case len(values) > 1 || values[0] == "":
			return "has a parameter that is empty, or there twice", hintOf(u)
		}
	}
	switch {
	case query.Has("cert") != query.Has("key"):
		return "has a certificate without its key, or a key without its certificate", certificateHint
	case query.Has("ca") && query.Has("skip_verify"):
		return "names a CA, and says that certificates are not checked", "leave out skip_verify, or ca"
	case query.Has("sentinel_user") && !query.Has("sentinel_password"):
		return "has a user of the Sentinels without a password", sentinelHint
	}
	return "", ""
}

func hintOf(u parsed) string {
	switch u.kind {
	case Sentinel:
		return sentinelHint
	case Cluster:
		return clusterHint
	}
	return aloneHint
}

// certificatesOf returns the files that a URL names.
func certificatesOf(u parsed, dir string) certificates {
	query := u.Query()
	file := func(name string) string {
		path := query.Get(name)
		if path != "" && !filepath.IsAbs(path) {
			return filepath.Join(dir, path)
		}
		return path
	}
	return certificates{wanted: u.tls, ca: file("ca"), cert: file("cert"), key: file("key"),
		serverName: query.Get("server_name"), unchecked: query.Has("skip_verify")}
}
