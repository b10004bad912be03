package redis

import (
	"cmp"
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
var hints = map[string]string{
	"redis": aloneHint, "rediss": aloneHint, "unix": aloneHint, "redis+sentinel": sentinelHint, "rediss+sentinel": sentinelHint,
	"redis+cluster": clusterHint, "rediss+cluster": clusterHint,
}

// targetOf reads a URL, without connecting. The problem follows "the URL of the store" and quotes
// nothing of the URL: any part may be a password. Files of certificates are relative to dir.
func targetOf(text, dir string) (t *target, problem, hint string) {
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		return nil, "does not begin with redis://", "write redis://HOST:PORT; docs/many-servers.md has the forms for passwords, TLS, sockets, Sentinels and a Cluster"
	}
	hint, known := hints[scheme]
	if !known {
		return nil, "begins with none of redis://, rediss:// and unix://, redis+sentinel:// and redis+cluster://", anyHint
	}
	u, hosts, err := parse(scheme, rest)
	if err != nil {
		return nil, "is not a URL", anyHint
	}
	base, kind, _ := strings.Cut(scheme, "+")
	secure := base == "rediss"
	t = &target{scheme: cmp.Or(kind, strings.Replace(base, "rediss", "redis", 1))}
	unix, sentinel, cluster := t.scheme == "unix", t.scheme == "sentinel", t.scheme == "cluster"
	query, path := u.Query(), strings.Trim(u.Path, "/")
	primary, database := "", path
	if sentinel {
		primary, database, _ = strings.Cut(path, "/")
	} else if unix {
		database = ""
	}
	database = cmp.Or(query.Get("db"), database)
	db, err := strconv.Atoi("0" + database)
	password, hasPassword := u.User.Password()
	allowed, ofSentinels := []string{"db"}, ""
	if sentinel {
		allowed, ofSentinels = append(allowed, "sentinel_user", "sentinel_password"), ", sentinel_user and sentinel_password"
	}
	var needTLS, unknown, empty bool
	for name, values := range query {
		ofTLS := slices.Contains([]string{"ca", "cert", "key", "server_name", "skip_verify"}, name)
		needTLS = needTLS || ofTLS && !secure
		unknown = unknown || !ofTLS && !slices.Contains(allowed, name) || name == "skip_verify" && values[0] != "true"
		empty = empty || len(values) > 1 || values[0] == ""
	}
	for _, wrong := range []struct {
		is            bool
		problem, hint string // without a hint: that of the scheme
	}{
		{u.Fragment != "", `has a "#" in it`, ""},
		{unix && (hosts[0].Host != "" || path == ""), "names no socket", ""},
		{!unix && slices.ContainsFunc(hosts, func(h *url.URL) bool { return h.Hostname() == "" }), "names no host", ""},
		{slices.ContainsFunc(hosts, wrongPort), "has a port that is not in 1-65535", ""},
		{t.scheme == "redis" && len(hosts) > 1, "names several hosts",
			"write a list of URLs for servers that stand alone; for Sentinels redis+sentinel://host,host,host/PRIMARY, for a Cluster redis+cluster://host,host,host"},
		{u.User != nil && !hasPassword, "has a user without a password; with a password alone it is redis://:password@host", ""},
		{sentinel && primary == "", "does not name the primary", ""},
		{cluster && path+database != "", "has a path or a database, and a Redis Cluster has none", ""},
		{strings.Trim(database, "0123456789") != "", "has a database that is not a number", ""},
		{err != nil, "is not one that can be used", anyHint},
		{needTLS, "has a parameter other than db that needs TLS", certificateHint},
		{unknown, "has a parameter other than db" + ofSentinels + ", and with rediss ca, cert, key, server_name and skip_verify=true", ""},
		{empty, "has a parameter that is empty, or there twice", ""},
		{query.Has("cert") != query.Has("key"), "has a certificate without its key, or a key without its certificate", certificateHint},
		{query.Has("ca") && query.Has("skip_verify"), "names a CA, and says that certificates are not checked", "leave out skip_verify, or ca"},
		{query.Has("sentinel_user") && !query.Has("sentinel_password"), "has a user of the Sentinels without a password", ""},
	} {
		if wrong.is {
			return nil, wrong.problem, cmp.Or(wrong.hint, hint)
		}
	}
	t.options = &goredis.UniversalOptions{
		DB: db, MasterName: primary, Username: u.User.Username(), Password: password,
		SentinelUsername: query.Get("sentinel_user"), SentinelPassword: query.Get("sentinel_password"), Addrs: []string{u.Path},
	}
	if !unix {
		t.options.Addrs = nil
		for _, host := range hosts {
			t.options.Addrs = append(t.options.Addrs, strings.ToLower(net.JoinHostPort(host.Hostname(), cmp.Or(host.Port(), t.defaultPort()))))
		}
	}
	if secure {
		t.readCertificates(query, dir)
	}
	return t, "", ""
}

// parse splits a URL of several hosts. The first result has another host in their place.
func parse(scheme, rest string) (u *url.URL, hosts []*url.URL, err error) {
	end := strings.IndexAny(rest+"/", "/?#")
	at := strings.LastIndex(rest[:end], "@") + 1
	u, err = url.Parse(scheme + "://" + rest[:at] + "hosts" + rest[end:])
	for _, name := range strings.Split(rest[at:end], ",") {
		host, wrong := url.Parse("redis://" + name)
		hosts, err = append(hosts, host), cmp.Or(err, wrong)
	}
	return u, hosts, err
}

func wrongPort(host *url.URL) bool {
	port, err := strconv.ParseUint(cmp.Or(host.Port(), "1"), 10, 16)
	return err != nil || port == 0
}

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
