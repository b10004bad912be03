// Package redisurl reads the URL of a store, and connects to the Redis that it means: one that stands alone, the primary
// that Sentinels name, or the node of a Redis Cluster that has a key.
//
//	redis://[user:password@]host[:port][/database]
//	redis+sentinel://[user:password@]host[:port],host…/PRIMARY[/database][?sentinel_password=…]
//	redis+cluster://[user:password@]host[:port],host…
//	unix://[user:password@]/path[?db=1]
//
// With rediss in place of redis all connections use TLS; ?ca, ?cert and ?key name files of certificates.
//
// Where others say which server it is, each new connection asks them, the next one when the first is silent for a tenth of a
// second. go-redis has clients for that, too, which wait for those that are silent: see primary.
package redisurl

import (
	"net"
	"net/url"
	"strings"

	"github.com/redis/go-redis/v9"
)

// An Error says what is wrong with a URL, or with what it names. Text follows "the URL of the store" or "redis at NAME" in a
// sentence. Neither text has anything of a URL in it that could not be read, since any part may be a password.
type Error struct {
	Text string
	Hint string // what to write or to do; may be empty
}

func (e *Error) Error() string { return e.Text }

// A Kind says who knows which server a URL means.
type Kind int

// The kinds of stores.
const (
	Alone    Kind = iota // the URL names the server
	Sentinel             // Sentinels name the primary
	Cluster              // the nodes of a Cluster name the one that has a key
)

// A Target is what a URL means.
type Target struct {
	Kind    Kind
	Primary string   // the name that Sentinels have for the primary
	Seeds   []string // host:port of the Sentinels, or of nodes of the Cluster

	options          *redis.Options // for the server; without certificates
	files            certificates
	sentinelUser     string
	sentinelPassword string
}

// Moves reports whether another server may take the place of this one.
func (t *Target) Moves() bool { return t.Kind != Alone }

// Address identifies the target among others, whatever the case of its letters: host:port or the path of a socket, and else
// who is asked for it.
func (t *Target) Address() string {
	switch t.Kind {
	case Sentinel:
		return t.Primary + "@" + strings.Join(t.Seeds, ",")
	case Cluster:
		return "cluster@" + strings.Join(t.Seeds, ",")
	}
	return t.options.Addr
}

// Name names the target for people: a host, host:port, the path of a socket, or who is asked for it.
func (t *Target) Name() string {
	var seeds []string
	for _, seed := range t.Seeds {
		seeds = append(seeds, short(seed, t.defaultPort()))
	}
	switch t.Kind {
	case Sentinel:
		return t.Primary + " (Sentinels " + strings.Join(seeds, ", ") + ")"
	case Cluster:
		return "the Cluster of " + strings.Join(seeds, ", ")
	}
	return short(t.options.Addr, "6379")
}

// Ping is a command for people: it shows whether the server, or one who is asked for it, answers.
func (t *Target) Ping() string {
	if t.options.Network == "unix" {
		return "redis-cli -s " + t.options.Addr + " ping"
	}
	address := t.options.Addr
	if t.Moves() {
		address = t.Seeds[0]
	}
	host, port, _ := net.SplitHostPort(address)
	command := "redis-cli -h " + host + " -p " + port
	switch t.Kind {
	case Sentinel:
		return command + " sentinel get-master-addr-by-name " + t.Primary
	case Cluster:
		return command + " cluster info"
	}
	return command + " ping"
}

// Secrets are the passwords of the URL.
func (t *Target) Secrets() (all []string) {
	for _, secret := range []string{t.options.Password, t.sentinelPassword} {
		if secret != "" {
			all = append(all, secret)
		}
	}
	return all
}

func (t *Target) defaultPort() string {
	if t.Kind == Sentinel {
		return "26379"
	}
	return "6379"
}

// short leaves out a port that goes without saying.
func short(address, port string) string {
	if host, given, err := net.SplitHostPort(address); err == nil && given == port && !strings.Contains(host, ":") {
		return host
	}
	return address
}

// A parsed URL has the hosts of its authority apart: url.Parse knows one.
type parsed struct {
	*url.URL
	kind  Kind
	tls   bool
	hosts []*url.URL // each with a host and perhaps a port
}

// parse splits a URL; false for what is none. In a URL of several hosts, URL has the first.
func parse(text string) (p parsed, ok bool) {
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		p.URL, ok = parseOne(text)
		return p, ok
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	at := strings.LastIndex(rest[:end], "@") + 1
	hosts := strings.Split(rest[at:end], ",")
	if p.URL, ok = parseOne(scheme + "://" + rest[:at] + hosts[0] + rest[end:]); !ok {
		return p, false
	}
	for _, host := range hosts {
		one, ok := parseOne("redis://" + host)
		if !ok {
			return p, false
		}
		p.hosts = append(p.hosts, one)
	}
	base, kind, _ := strings.Cut(p.Scheme, "+")
	p.kind, p.tls = map[string]Kind{"sentinel": Sentinel, "cluster": Cluster}[kind], base == "rediss"
	return p, true
}

func parseOne(text string) (*url.URL, bool) {
	u, err := url.Parse(text)
	return u, err == nil && u.Opaque == ""
}
