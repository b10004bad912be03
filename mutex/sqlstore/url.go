package sqlstore

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"database/sql/driver"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/stdlib"

	"sched/mutex"
)

// A target is what the URL of a database means; see forms.
type target struct {
	*dialect
	user, password, database string
	hosts                    []string // with ports; of several ones of PostgreSQL, the one that takes writes counts
	socket                   string   // in place of hosts
	prefix                   string   // of the tables, which may have the schema before it
	sslmode, ca              string   // the file of the CA is relative to dir
	dir                      string
}

const defaultPrefix = "sched_"

var dialects = map[string]*dialect{"postgres": postgresDialect, "postgresql": postgresDialect, "mysql": mysqlDialect, "mariadb": mysqlDialect}

// IsURL reports whether a URL begins as one of a database does.
func IsURL(text string) bool {
	scheme, _, is := strings.Cut(text, "://")
	return is && dialects[scheme] != nil
}

// forms is what to write instead of a URL that cannot be used.
const forms = "write postgres://user:password@host[:port]/database or mysql://…, with ?sslmode=verify-full for TLS, or ?socket=PATH and no host; " +
	"in a password write %40 for @, %2F for /, %3A for :, %23 for #, %3F for ? and %25 for %; docs/many-servers.md has more"

var (
	form       = regexp.MustCompile(`(?s)^[a-z]+://(?:([^/?#]*)@)?([^/?#@]*)(.*)$`)
	prefixes   = regexp.MustCompile(`^([a-z_][a-z0-9_]*\.)?[a-z_][a-z0-9_]*$`)
	modes      = []string{"disable", "prefer", "require", "verify-full"}
	parameters = []string{"socket", "prefix", "sslmode", "sslrootcert"}
)

func targetOf(c mutex.Config) (*target, error) {
	wrong := func(hint, text string, args ...any) (*target, error) {
		return nil, &mutex.StoreError{Text: fmt.Sprintf(text, args...), Hint: hint}
	}
	if len(c.Servers) != 1 {
		return wrong("write one URL; its replicas are the database's own affair", "the store has %d URLs, and a database has one", len(c.Servers))
	}
	if c.Lease > longestLease {
		return wrong("the lock of a machine that died must not last for days", "a lease of %s is longer than %s", c.Lease, longestLease)
	}
	t, problem := parse(c.Servers[0])
	if problem != "" {
		return wrong(forms, "the URL of the store %s", problem)
	}
	t.dir = c.Dir
	return t, nil
}

// parse reads a URL. The problem follows "the URL of the store" and quotes nothing of the URL: any
// part may be a password.
func parse(text string) (t *target, problem string) {
	parts := form.FindStringSubmatch(text)
	if parts == nil || !IsURL(text) {
		return nil, "does not begin with postgres:// or mysql://"
	}
	scheme, _, _ := strings.Cut(text, "://")
	u, err := url.Parse(scheme + "://" + parts[1] + "@host" + parts[3])
	if err != nil {
		return nil, "is not a URL"
	}
	query, err := url.ParseQuery(u.RawQuery)
	t = &target{dialect: dialects[scheme], user: u.User.Username(), database: strings.Trim(u.Path, "/"), socket: query.Get("socket"),
		prefix: cmp.Or(query.Get("prefix"), defaultPrefix), sslmode: cmp.Or(query.Get("sslmode"), "prefer"), ca: query.Get("sslrootcert")}
	t.password, _ = u.User.Password()
	noHost := parts[2] == "" && t.socket == ""
	for _, name := range strings.Split(parts[2], ",") {
		host, hostErr := url.Parse("db://" + name)
		if err = cmp.Or(err, hostErr); err != nil {
			return nil, "is not a URL"
		}
		if parts[2] != "" {
			noHost = noHost || host.Hostname() == ""
			t.hosts = append(t.hosts, net.JoinHostPort(host.Hostname(), cmp.Or(host.Port(), t.port)))
		}
	}
	odd := false
	for name, values := range query {
		odd = odd || !slices.Contains(parameters, name) || len(values) > 1 || values[0] == ""
	}
	for _, wrong := range []struct {
		is      bool
		problem string
	}{
		{u.Fragment != "", `has a "#" in it`},
		{odd, "has a parameter that is empty, there twice, or not one of " + strings.Join(parameters, ", ")},
		{t.user == "", "has no user"},
		{noHost, "names no host"},
		{len(t.hosts) > 0 && t.socket != "", "names a host and a socket"},
		{t.dialect == mysqlDialect && len(t.hosts) > 1, "names several hosts"},
		{t.database == "" || strings.Contains(t.database, "/"), "names no database"},
		{!prefixes.MatchString(t.prefix) || len(t.prefix) > 50, "has a prefix that is long or not of small letters, digits and _"},
		{!slices.Contains(modes, t.sslmode), "has a sslmode that is not one of " + strings.Join(modes, ", ")},
		{t.ca != "" && t.sslmode != "verify-full", "has a CA, which only sslmode=verify-full uses"},
	} {
		if wrong.is {
			return nil, wrong.problem
		}
	}
	return t, ""
}

// String names the database for people, without user and password.
func (t *target) String() string {
	return t.name + " at " + cmp.Or(t.socket, strings.Join(t.hosts, ",")) + "/" + t.database
}

// connector prepares connections. It reads the file of the CA.
func (t *target) connector() (c driver.Connector, err error) {
	var roots *x509.CertPool
	if t.ca != "" {
		if !filepath.IsAbs(t.ca) {
			t.ca = filepath.Join(t.dir, t.ca)
		}
		text, _ := os.ReadFile(t.ca)
		if roots = x509.NewCertPool(); !roots.AppendCertsFromPEM(text) {
			return nil, t.failed("cannot be reached: there is no certificate of a CA in "+t.ca, "it is a PEM file, and its path is relative to the folder of the schedule")
		}
	}
	if t.dialect == mysqlDialect {
		c, err = t.mysqlConnector(roots)
	} else {
		c, err = t.postgresConnector()
	}
	if err != nil { // its words may have the password
		return nil, t.failed("cannot be reached with these settings", "is one of the variables PG… of the environment wrong?")
	}
	return c, nil
}

func (t *target) mysqlConnector(roots *x509.CertPool) (driver.Connector, error) {
	c := mysql.NewConfig()
	c.User, c.Passwd, c.DBName, c.Net, c.Addr = t.user, t.password, t.database, "unix", t.socket
	if t.socket == "" {
		c.Net, c.Addr = "tcp", t.hosts[0]
		if host, _, _ := net.SplitHostPort(c.Addr); t.sslmode != "disable" {
			c.TLS = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host, RootCAs: roots, InsecureSkipVerify: t.sslmode != "verify-full"}
			c.AllowFallbackToPlaintext = t.sslmode == "prefer"
		}
	}
	c.Timeout, c.Logger = timeout/2, &mysql.NopLogger{}
	c.ClientFoundRows = true // a renewal that changes nothing has found its row
	c.InterpolateParams, c.MultiStatements = true, true
	c.Params = map[string]string{"autocommit": "1", "innodb_lock_wait_timeout": "2"}
	return mysql.NewConnector(c)
}

func (t *target) postgresConnector() (driver.Connector, error) {
	var hosts, ports []string
	for _, address := range t.hosts {
		host, port, _ := net.SplitHostPort(address)
		hosts, ports = append(hosts, host), append(ports, port)
	}
	settings := map[string]string{"host": strings.Join(hosts, ","), "port": strings.Join(ports, ","), "user": t.user, "dbname": t.database,
		"sslmode": t.sslmode, "connect_timeout": "1", "application_name": "sched"}
	if t.socket != "" {
		settings["host"], settings["port"], settings["sslmode"] = filepath.Dir(t.socket), strings.TrimPrefix(filepath.Ext(t.socket), "."), "disable"
	}
	if t.password != "" {
		settings["password"] = t.password
	}
	if t.ca != "" {
		settings["sslrootcert"] = t.ca
	}
	if len(t.hosts) > 1 {
		settings["target_session_attrs"] = "read-write"
	}
	var text strings.Builder
	for name, value := range settings {
		fmt.Fprintf(&text, "%s='%s' ", name, strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value))
	}
	c, err := pgx.ParseConfig(text.String())
	if err != nil {
		return nil, err
	}
	// No prepared statements: the next one may have another connection. What nobody waits for must
	// not be executed later.
	c.DefaultQueryExecMode = pgx.QueryExecModeExec
	c.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: timeout / 8}
	}
	return stdlib.GetConnector(*c), nil
}
