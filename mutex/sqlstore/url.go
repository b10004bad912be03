package sqlstore

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/stdlib"

	"sched/mutex"
	"sched/schedule/humanize"
	"sched/schedule/mask"
	"sched/schedule/statedir"
)

// A target is what the URL of a database means; see urlHint.
type target struct {
	*dialect
	user     *url.Userinfo
	hosts    string // PostgreSQL may have several; the one that takes writes is used
	database string
	prefix   string // of the tables, which may have the schema before it
	options  url.Values
}

const defaultPrefix = "sched_"

// dialects are the databases by the scheme of their URLs.
var dialects = map[string]*dialect{
	"postgres":   postgresDialect,
	"postgresql": postgresDialect,
	"mysql":      mysqlDialect,
	"mariadb":    mysqlDialect,
}

// IsURL reports whether a URL begins like the URL of a database.
func IsURL(text string) bool {
	scheme, _, isURL := strings.Cut(text, "://")
	return isURL && dialects[scheme] != nil
}

// dialectOf returns the dialect of a URL by its scheme, else PostgreSQL's.
func dialectOf(url string) *dialect {
	scheme, _, _ := strings.Cut(url, "://")
	return cmp.Or(dialects[scheme], postgresDialect)
}

// urlHint is what to write instead of a URL that cannot be used.
const urlHint = "write {url}user:password@host[:port]/database, " +
	"with ?sslmode=verify-full for TLS, or ?socket=PATH and no host; " +
	"in a password write %40 for @, %2F for /, %3A for :, %23 for #, %3F for ? and %25 for %; " +
	"docs/many-servers.md has more"

// urlPattern matches a URL of a database.
const urlPattern = `^(?P<scheme>\w+)://(?P<user>[^:@/?#\s]+(?::[^@/?#\s]*)?)@` +
	`(?P<hosts>(?:[^@/?#,\s]+,)*[^@/?#,\s]+)?(?P<rest>/[^/?#\s]+(?:\?(?P<query>[^#\s]*))?)$`

// prefixPattern matches the prefixes that our tables may have.
const prefixPattern = `^([a-z_][a-z0-9_]*\.)?[a-z_][a-z0-9_]{0,49}$`

// parameterPatterns are the parameters that the query of a URL may have, each with the pattern of
// its values.
var parameterPatterns = map[string]string{
	"socket":      `.`,
	"prefix":      prefixPattern,
	"sslmode":     `^(disable|prefer|require|verify-full)$`,
	"sslrootcert": `.`,
}

// targetOf reads the URL of a config. The error quotes nothing of it: any part may be a password.
func targetOf(c mutex.Config) (*target, error) {
	t, problem := parseURL(strings.Join(c.Servers, " "))
	if problem == "" {
		problem = t.whyUnusable()
	}
	if problem != "" {
		first := dialectOf(strings.Join(c.Servers, " ")).url
		return nil, &mutex.StoreError{Text: problem, Hint: strings.Replace(urlHint, "{url}", first, 1)}
	}
	if ca := t.options.Get("sslrootcert"); ca != "" && !filepath.IsAbs(ca) {
		t.options.Set("sslrootcert", filepath.Join(c.Dir, ca))
	}
	return t, nil
}

// parseURL takes a URL apart. The problem quotes nothing of it.
func parseURL(text string) (t *target, problem string) {
	pattern := regexp.MustCompile(urlPattern)
	found := pattern.FindStringSubmatch(text)
	if found == nil || !IsURL(text) {
		return nil, "the store is not one URL like " + dialectOf(text).url + "user:password@host/database"
	}
	part := func(name string) string { return found[pattern.SubexpIndex(name)] }
	u, err := url.Parse("sql://" + part("user") + "@host" + part("rest"))
	options, queryErr := url.ParseQuery(part("query"))
	if cmp.Or(err, queryErr) != nil {
		return nil, "the store has no valid URL"
	}
	return &target{
		dialect:  dialects[part("scheme")],
		user:     u.User,
		hosts:    part("hosts"),
		database: u.Path[1:],
		prefix:   cmp.Or(options.Get("prefix"), defaultPrefix),
		options:  options,
	}, ""
}

// whyUnusable says why the parts of the URL do not fit each other; "" if they do.
func (t *target) whyUnusable() string {
	for name, values := range t.options {
		isValid, _ := regexp.MatchString(parameterPatterns[name], values[0])
		if !isValid || parameterPatterns[name] == "" || len(values) > 1 {
			return "the URL of the store has a parameter that is not one of socket=PATH, prefix=NAME, " +
				"sslmode=disable, prefer, require or verify-full, and sslrootcert=FILE"
		}
	}
	switch {
	case t.options.Has("socket") == (t.hosts != ""):
		return "the URL of the store names no host and no socket, or both"
	case strings.Contains(t.hosts, ",") && t.dialect == mysqlDialect:
		return "the URL of the store names several hosts, which only PostgreSQL may have"
	case t.options.Has("sslrootcert") && t.options.Get("sslmode") != "verify-full":
		return "the URL of the store has a sslrootcert, which only sslmode=verify-full uses"
	}
	return ""
}

// String names the database for people, without user and password.
func (t *target) String() string {
	return t.name + " at " + cmp.Or(t.hosts, t.options.Get("socket")) + "/" + t.database
}

// open prepares connections. It reads the file of the CA.
func (t *target) open() (*sql.DB, error) {
	connect := t.postgres
	if t.dialect == mysqlDialect {
		connect = t.mysql
	}
	connector, err := connect(t.options.Get("sslmode"), t.options.Get("sslrootcert"))
	if err != nil { // the text of err may have the password
		return nil, t.failed("cannot be reached with these settings",
			"sslrootcert is a PEM file whose path is relative to the folder of the schedule; "+
				"for PostgreSQL the variables PG… of the environment count, too")
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(maxConnections)
	db.SetMaxIdleConns(maxConnections)
	db.SetConnMaxIdleTime(maxIdle) // many runs wait for long
	return db, nil
}

// mysql returns the connector of MySQL and MariaDB.
func (t *target) mysql(mode, ca string) (driver.Connector, error) {
	c := mysql.NewConfig()
	c.User = t.user.Username()
	c.Passwd, _ = t.user.Password()
	c.DBName = t.database
	c.Net, c.Addr = "tcp", t.hosts
	if strings.HasSuffix(c.Addr, "]") {
		c.Addr += ":3306" // the driver adds the port to other addresses
	}
	if t.options.Has("socket") {
		c.Net, c.Addr = "unix", t.options.Get("socket")
	} else if mode != "disable" {
		c.TLS = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: mode != "verify-full"}
		c.AllowFallbackToPlaintext = mode != "require" && mode != "verify-full"
	}
	if ca != "" && c.TLS != nil {
		text, err := statedir.ReadFile(ca)
		if c.TLS.RootCAs = x509.NewCertPool(); !c.TLS.RootCAs.AppendCertsFromPEM(text) {
			return nil, cmp.Or(err, os.ErrInvalid)
		}
	}
	c.Timeout, c.Logger = timeout/2, &mysql.NopLogger{}
	// Parameters need no second round trip; a text may have several statements; an UPDATE counts
	// the rows that it finds.
	c.InterpolateParams, c.MultiStatements, c.ClientFoundRows = true, true, true
	c.Params = map[string]string{"autocommit": "1", "innodb_lock_wait_timeout": "2"}
	// With a BeforeConnect each connection has a copy of c: a connection that falls back to plain
	// text takes TLS out of its own.
	if err := c.Apply(mysql.BeforeConnect(func(context.Context, *mysql.Config) error { return nil })); err != nil {
		return nil, err
	}
	return mysql.NewConnector(c)
}

// postgres returns the connector of PostgreSQL.
func (t *target) postgres(mode, ca string) (driver.Connector, error) {
	settings := url.Values{
		"connect_timeout":  {"1"},
		"application_name": {"sched"},
		"sslmode":          {cmp.Or(mode, "prefer")},
		"sslrootcert":      {ca},
	}
	if socket := t.options.Get("socket"); socket != "" {
		settings.Set("host", filepath.Dir(socket))
		settings.Set("port", strings.TrimPrefix(filepath.Ext(socket), "."))
	}
	if strings.Contains(t.hosts, ",") {
		settings.Set("target_session_attrs", "read-write")
	}
	u := &url.URL{Scheme: "postgres", User: t.user, Host: t.hosts, Path: "/" + t.database, RawQuery: settings.Encode()}
	if err := statedir.CheckPlain(ca); err != nil { // a named pipe would stop ParseConfig for ever
		return nil, err
	}
	c, err := pgx.ParseConfig(u.String())
	if err != nil {
		return nil, err
	}
	// No prepared statements: the next one may have another connection. A statement that nobody
	// waits for must not be executed later.
	c.DefaultQueryExecMode = pgx.QueryExecModeExec
	c.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: timeout / 8}
	}
	return stdlib.GetConnector(*c), nil
}

// sql fills the names of tables and the clock into a statement, and numbers the arguments for
// PostgreSQL.
func (t *target) sql(statement string) string {
	withoutSchema := t.prefix[strings.Index(t.prefix, ".")+1:]
	statement = strings.NewReplacer(
		"{clock}", strings.ReplaceAll(t.clock, "{now}", t.now),
		"{now}", t.now,
		"{entry}", t.prefix+"entry",
		"{log}", t.prefix+"log",
		"{version}", t.prefix+"version",
		"{index}", withoutSchema,
	).Replace(statement)
	if t.dialect == mysqlDialect {
		return statement
	}
	parts := strings.Split(statement, "?")
	for i := range parts[1:] {
		parts[i] += "$" + strconv.Itoa(i+1)
	}
	return strings.Join(parts, "")
}

// explain makes an error of a driver one for people, and reports whether to try again.
func (t *target) explain(err error) (explained *mutex.StoreError, again bool) {
	if errors.As(err, &explained) {
		return explained, false
	}
	text := humanize.Line(err.Error())
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok {
		text = humanize.Line(answer.Error()) // without the tries before, such as one with TLS
	}
	password, _ := t.user.Password() // a server may quote it
	public := []string{t.user.Username(), t.database, strings.TrimSuffix(t.dialect.url, "://")}
	for host := range strings.SplitSeq(t.hosts, ",") {
		name, _, _ := strings.Cut(host, ":")
		public = append(public, name)
	}
	text = mask.Password(text, password, public...)
	if code := codeOf(err); code != "" {
		for _, known := range knownErrors {
			if slices.Contains(strings.Fields(known.codes), code) {
				words := strings.NewReplacer("{url}", t.dialect.url, "{primary}", t.dialect.primaryHint)
				return t.failed(known.text, words.Replace(known.hint)), known.again
			}
		}
		return t.failed("answers: "+text,
			"its log may say more, and docs/many-servers.md how it should be set up"), false
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		text = errno.Error()
	}
	hint := "is it running, and is that its host and port, or its socket?"
	if lookup, ok := errors.AsType[*net.DNSError](err); ok && lookup.IsNotFound {
		text, hint = "there is no host of that name", "see the URL, and the name server in /etc/resolv.conf"
	}
	text = ": " + text
	if network, ok := errors.AsType[net.Error](err); ok && network.Timeout() {
		text = fmt.Sprintf(" within %s", timeout)
	}
	silent := t.failed("does not answer"+text, hint)
	silent.Silent = true
	return silent, true
}

func (t *target) failed(text, hint string) *mutex.StoreError {
	return &mutex.StoreError{Text: t.String() + " " + text, Hint: hint}
}

// Tables returns the statements that make the tables for a database of a kind, "postgres" or
// "mysql". Their names begin with a prefix; "" is the default. ok is false for another kind,
// and for a prefix that is no name.
func Tables(kind, prefix string) (text string, ok bool) {
	t := &target{dialect: dialects[kind], prefix: cmp.Or(prefix, defaultPrefix)}
	if isValid, _ := regexp.MatchString(prefixPattern, t.prefix); t.dialect == nil || !isValid {
		return "", false
	}
	return t.sql(strings.Join(slices.Concat(t.migrations...), ";\n")) + ";\n", true
}

const (
	maxPause       = 200 * time.Millisecond // between two tries of an operation
	timeout        = 2 * time.Second        // of an operation with all its tries
	quietTime      = time.Second            // how long a database that did not answer in time is not asked
	maxConnections = 4                      // of one process
	maxIdle        = 5 * time.Second        // how long a connection is kept without use
	maxWorkers     = 2                      // how many workers take rows at the same time, each with a connection
	maxPruned      = 1000                   // how many rows that have ended one process removes
	maxRead        = 10_000                 // how many rows of a table are read, whoever wrote them
)
