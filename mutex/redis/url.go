package redis

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"sched/mutex"
)

// A target is what a URL means, in one of these forms; with rediss in place of redis all
// connections use TLS, and ?ca, ?cert and ?key name files of certificates:
//
//	redis://[user:password@]host[:port][/database]
//	unix://[user:password@]/path[?db=1]
//	redis+sentinel://[user:password@]host[:port],host…/PRIMARY[/database][?sentinel_password=…]
//	redis+cluster://[user:password@]host[:port],host…
type target struct {
	scheme  string // "redis", "unix", "sentinel" or "cluster"
	options *goredis.UniversalOptions
	broken  error // what is wrong with the files of certificates
}

// What to write, by the scheme of the URL.
const (
	anyHint = "write redis://[user:password@]host[:port][/database], rediss://… for TLS, unix:///path/to/socket[?db=1], " +
		"redis+sentinel://host,host,host/PRIMARY, or redis+cluster://host,host,host; " + escapesHint
	aloneHint    = "write redis://[user:password@]host[:port][/database], rediss://… for TLS, or unix:///path/to/socket[?db=1]; " + escapesHint
	sentinelHint = "write redis+sentinel://[user:password@]host[:port],host,host/PRIMARY[/database][?sentinel_password=…], " +
		"with the hosts of the Sentinels and the name that their `sentinel monitor` has for the primary; rediss+sentinel://… for TLS"
	clusterHint     = "write redis+cluster://[user:password@]host[:port],host,host, with some nodes of the Cluster; rediss+cluster://… for TLS"
	certificateHint = "with rediss://… write ?ca=FILE for the CA of the servers, and &cert=FILE&key=FILE for a certificate of our own"
	escapesHint     = "in a password write %40 for @, %2F for /, %3A for :, %23 for #, %3F for ? and %25 for %"
)

// hints are the known schemes.
var hints = map[string]string{"redis": aloneHint, "unix": aloneHint, "sentinel": sentinelHint, "cluster": clusterHint}

// targetOf reads a URL, without connecting. The problem follows "the URL of the store" and quotes
// nothing of the URL: any part may be a password. Files of certificates are relative to dir.
func targetOf(text, dir string) (t *target, problem, hint string) {
	if !strings.Contains(text, "://") {
		return nil, "does not begin with redis://", "write redis://HOST:PORT; docs/many-servers.md has the forms for passwords, TLS, sockets, Sentinels and a Cluster"
	}
	u, hosts, ok := parse(text)
	if !ok {
		return nil, "is not a URL", anyHint
	}
	base, kind, more := strings.Cut(u.Scheme, "+")
	secure := base == "rediss"
	if secure {
		base = "redis"
	}
	if t = (&target{scheme: base}); more {
		t.scheme = kind
	}
	hint, known := hints[t.scheme]
	if !known || base != "redis" && u.Scheme != "unix" || more && kind != "sentinel" && kind != "cluster" {
		return nil, "begins with none of redis://, rediss:// and unix://, redis+sentinel:// and redis+cluster://", anyHint
	}
	query, path := u.Query(), strings.Trim(u.Path, "/")
	primary, database := "", path
	switch t.scheme {
	case "sentinel":
		primary, database, _ = strings.Cut(path, "/")
	case "unix":
		database = ""
	}
	if query.Get("db") != "" {
		database = query.Get("db")
	}
	db, err := strconv.Atoi("0" + database)
	password, hasPassword := u.User.Password()
	for _, wrong := range []struct {
		is            bool
		problem, hint string
	}{
		{u.Fragment != "", `has a "#" in it`, hint},
		{t.scheme == "unix" && (u.Host != "" || u.Path == ""), "names no socket", hint},
		{t.scheme != "unix" && slices.ContainsFunc(hosts, func(h *url.URL) bool { return h.Hostname() == "" }), "names no host", hint},
		{slices.ContainsFunc(hosts, wrongPort), "has a port that is not in 1-65535", hint},
		{t.scheme == "redis" && len(hosts) > 1, "names several hosts",
			"write a list of URLs for servers that stand alone; for Sentinels redis+sentinel://host,host,host/PRIMARY, for a Cluster redis+cluster://host,host,host"},
		{u.User != nil && !hasPassword, "has a user without a password; with a password alone it is redis://:password@host", hint},
		{t.scheme == "sentinel" && primary == "", "does not name the primary", hint},
		{t.scheme == "cluster" && (path != "" || database != ""), "has a path or a database, and a Redis Cluster has none", hint},
		{strings.Trim(database, "0123456789") != "", "has a database that is not a number", hint},
		{err != nil, "is not one that can be used", anyHint},
	} {
		if wrong.is {
			return nil, wrong.problem, wrong.hint
		}
	}
	if problem, wrong := wrongParameters(query, t.scheme, secure); problem != "" {
		if wrong == "" {
			wrong = hint
		}
		return nil, problem, wrong
	}
	t.options = &goredis.UniversalOptions{
		DB: db, MasterName: primary, Username: u.User.Username(), Password: password,
		SentinelUsername: query.Get("sentinel_user"), SentinelPassword: query.Get("sentinel_password"),
	}
	for _, host := range hosts {
		t.options.Addrs = append(t.options.Addrs, strings.ToLower(net.JoinHostPort(host.Hostname(), portOf(host, t.defaultPort()))))
	}
	if t.scheme == "unix" {
		t.options.Addrs = []string{u.Path}
	}
	if secure {
		t.readCertificates(query, dir)
	}
	return t, "", ""
}

// parse splits a URL of several hosts; false for what is none. The first result has the first host.
func parse(text string) (first *url.URL, hosts []*url.URL, ok bool) {
	one := func(text string) *url.URL {
		u, err := url.Parse(text)
		if err != nil || u.Opaque != "" {
			return nil
		}
		return u
	}
	scheme, rest, _ := strings.Cut(text, "://")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	at := strings.LastIndex(rest[:end], "@") + 1
	names := strings.Split(rest[at:end], ",")
	if first = one(scheme + "://" + rest[:at] + names[0] + rest[end:]); first == nil {
		return nil, nil, false
	}
	for _, name := range names {
		host := one("redis://" + name)
		if host == nil {
			return nil, nil, false
		}
		hosts = append(hosts, host)
	}
	return first, hosts, true
}

func portOf(host *url.URL, port string) string {
	if host.Port() != "" {
		return host.Port()
	}
	return port
}

func wrongPort(host *url.URL) bool {
	port, _ := strconv.Atoi(host.Port())
	return host.Port() != "" && (port < 1 || port > 65535)
}

// wrongParameters is about what follows the question mark. An empty hint stands for the scheme's.
func wrongParameters(query url.Values, scheme string, secure bool) (problem, hint string) {
	allowed, ofSentinels := []string{"db"}, ""
	if scheme == "sentinel" {
		allowed, ofSentinels = append(allowed, "sentinel_user", "sentinel_password"), ", sentinel_user and sentinel_password"
	}
	for name, values := range query {
		ofTLS := slices.Contains([]string{"ca", "cert", "key", "server_name", "skip_verify"}, name)
		switch {
		case ofTLS && !secure:
			return "has a parameter other than db that needs TLS", certificateHint
		case !ofTLS && !slices.Contains(allowed, name), name == "skip_verify" && query.Get(name) != "true":
			return "has a parameter other than db" + ofSentinels + ", and with rediss ca, cert, key, server_name and skip_verify=true", ""
		case len(values) > 1 || values[0] == "":
			return "has a parameter that is empty, or there twice", ""
		}
	}
	switch {
	case query.Has("cert") != query.Has("key"):
		return "has a certificate without its key, or a key without its certificate", certificateHint
	case query.Has("ca") && query.Has("skip_verify"):
		return "names a CA, and says that certificates are not checked", "leave out skip_verify, or ca"
	case query.Has("sentinel_user") && !query.Has("sentinel_password"):
		return "has a user of the Sentinels without a password", ""
	}
	return "", ""
}

// connect returns a client. It does not connect: the first request does.
func (t *target) connect() goredis.UniversalClient {
	o := *t.options
	// A connection that is silent for half of the time is replaced once, and so is a broken one.
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout/2, timeout/2, timeout/2, timeout
	o.ContextTimeoutEnabled, o.MaxRetries, o.DialerRetries = true, 1, 1
	o.PoolSize = mutex.SideBySide
	o.ReadBufferSize, o.WriteBufferSize = 4096, 4096 // a run that waits has one connection, and should be small
	o.Protocol, o.DisableIdentity = 2, true          // without the extra requests of a new connection
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	switch t.scheme {
	case "sentinel":
		return goredis.NewFailoverClient(o.Failover())
	case "cluster":
		c := o.Cluster()
		c.MaxRetries, c.DisableRoutingPolicies = 0, true // it repeats and redirects by itself
		return goredis.NewClusterClient(c)
	}
	return goredis.NewClient(o.Simple())
}

func (t *target) moves() bool { return t.scheme == "sentinel" || t.scheme == "cluster" }

func (t *target) defaultPort() string {
	if t.scheme == "sentinel" {
		return "26379"
	}
	return "6379"
}

// name names the target for people: a host, host:port, the path of a socket, or who is asked for it.
func (t *target) name() string {
	var names []string
	for _, address := range t.options.Addrs {
		host, port, _ := net.SplitHostPort(address)
		if port == t.defaultPort() && !strings.Contains(host, ":") {
			address = host
		}
		names = append(names, address)
	}
	switch all := strings.Join(names, ", "); t.scheme {
	case "sentinel":
		return t.options.MasterName + " (Sentinels " + all + ")"
	case "cluster":
		return "the Cluster of " + all
	default:
		return all
	}
}

// ping is a command for people: it shows whether the server, or one who is asked for it, answers.
func (t *target) ping() string {
	if t.scheme == "unix" {
		return "redis-cli -s " + t.options.Addrs[0] + " ping"
	}
	host, port, _ := net.SplitHostPort(t.options.Addrs[0])
	command := map[string]string{"redis": "ping", "sentinel": "sentinel get-master-addr-by-name " + t.options.MasterName, "cluster": "cluster info"}
	return fmt.Sprintf("redis-cli -h %s -p %s %s", host, port, command[t.scheme])
}
