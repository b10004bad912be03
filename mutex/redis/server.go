package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"sched/mutex"
	"sched/schedule/humanize"
	"sched/schedule/mask"
)

// quietTime is how long a silent server is not asked again: a tick with many slots waits once for
// it.
const quietTime = time.Second

// A server is one Redis, or the primary behind Sentinels, or a Cluster: one vote of the store.
type server struct {
	goredis.UniversalClient
	kind    string // "" for one server, "sentinel" or "cluster"
	name    string // for people, without passwords
	options *goredis.UniversalOptions
	limit   time.Duration           // the longest time for a request
	silent  atomic.Pointer[silence] // the last silence of the server; nil for none
}

// A silence says why a server is not asked, and until when.
type silence struct {
	err   error
	until time.Time
}

// connect returns a client of the server. The client opens connections when it needs them.
func (s *server) connect() goredis.UniversalClient {
	o := *s.options

	// A connection that is silent for half of the time is replaced once, and so is a broken one.
	o.DialTimeout = timeout / 2
	o.ReadTimeout = timeout / 2
	o.WriteTimeout = timeout / 2
	o.PoolTimeout = timeout
	o.ContextTimeoutEnabled = true
	o.MaxRetries = 1
	o.DialerRetries = 1

	// A run that waits has one connection, and should need little memory.
	o.PoolSize = mutex.MaxConcurrent
	o.ReadBufferSize = 4096
	o.WriteBufferSize = 4096

	// A new connection makes no extra requests.
	o.Protocol = 2
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	if s.kind == "cluster" {
		c := o.Cluster() // the client of a Cluster repeats and redirects by itself
		c.MaxRetries = 0
		c.DisableRoutingPolicies = true
		return goredis.NewClusterClient(c)
	}
	return goredis.NewUniversalClient(&o) // asks Sentinels for the primary if the options name one
}

// disable lets each request to the server fail at once. Tasks that need no store still run.
func (s *server) disable(why error) {
	s.silent.Store(&silence{err: why, until: time.Now().AddDate(100, 0, 0)})
}

// do calls request with a bounded context. During a silence of the server it returns the error of
// that silence instead. The error is a *StoreError. goredis.Nil counts as no error.
func do[T any](ctx context.Context, s *server, request func(context.Context) (T, error)) (reply T, err error) {
	if last := s.silent.Load(); last != nil && time.Now().Before(last.until) {
		return reply, last.err
	}
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	reply, err = request(ctx)
	if timedOut(err) && ctx.Err() == nil {
		reply, err = request(ctx) // go-redis repeats what a connection gets, and not what begins one
	}
	if err == nil || err == goredis.Nil { // not errors.Is: a wrapped Nil means that Sentinels know no such primary
		return reply, nil
	}
	explained, answered := s.explain(err)
	hadTime := time.Since(begun) > s.limit/2 // the deadline of the caller may leave the server no time
	if !answered && (hadTime || !timedOut(err)) {
		s.silent.Store(&silence{err: explained, until: time.Now().Add(quietTime)})
	}
	return reply, explained
}

// begin returns the context of an operation: it ends after timeout, or at the caller's deadline. A
// caller that is cancelled does not end the operation, because nobody would know what it did.
func begin(ctx context.Context) (context.Context, context.CancelFunc) {
	end, limited := ctx.Deadline()
	if latest := time.Now().Add(timeout); !limited || end.After(latest) {
		end = latest
	}
	return context.WithDeadline(context.WithoutCancel(ctx), end)
}

// risks reads the answer to INFO. saves says that the Redis saves to disk besides its log. A
// setting that INFO does not mention counts as no risk.
func (s *server) risks(info string, saves bool) (risks []mutex.Risk) {
	says := func(field string) bool { return strings.Contains(info, "\n"+field) }
	if says("role:slave") {
		return []mutex.Risk{{
			Text:    "Redis " + s.name + " is a replica, which takes no writes",
			Hint:    primaryHint,
			Refuses: true,
		}}
	}
	used, limit := numberIn(info, "used_memory"), numberIn(info, "maxmemory")
	if limit > 0 && used >= limit && says("maxmemory_policy:noeviction") {
		risks = append(risks, mutex.Risk{
			Text: "Redis " + s.name + " is full, and takes no writes: it uses " +
				humanize.Bytes(used) + ", and maxmemory is " + humanize.Bytes(limit),
			Hint:    fullHint,
			Refuses: true,
		})
	}
	if says("maxmemory_policy:") && !says("maxmemory_policy:noeviction") && !says("maxmemory:0") {
		risks = append(risks, mutex.Risk{
			Text:   "Redis " + s.name + " may throw locks away when its memory is full",
			Hint:   "set maxmemory-policy noeviction, or use a Redis of its own",
			Evicts: true,
		})
	}
	if says("aof_enabled:0") && !saves {
		risks = append(risks, mutex.Risk{
			Text: "Redis " + s.name + " keeps nothing on disk: " +
				"after its restart a slot may run again on another server",
			Hint: "set appendonly yes",
		})
	}
	// INFO has min_slaves_good_slaves only if min-replicas-to-write is set.
	if says("connected_slaves:") && s.kind != "" && !says("min_slaves_good_slaves:") {
		risks = append(risks, mutex.Risk{
			Text: "Redis " + s.name + " takes writes while no replica gets them: " +
				"a failover forgets what was granted meanwhile",
			Hint: "set min-replicas-to-write 1 and min-replicas-max-lag 10",
		})
	}
	return risks
}

// numberIn returns the number of a field of INFO; 0 if INFO has no such field.
func numberIn(info, field string) int64 {
	_, rest, _ := strings.Cut(info, "\n"+field+":")
	digits, _, _ := strings.Cut(rest, "\r")
	n, _ := strconv.ParseInt(digits, 10, 64)
	return n
}

const (
	primaryHint = "name the primary in the URL, or its Sentinels: redis+sentinel://host,host,host/PRIMARY"
	fullHint    = "raise its maxmemory, remove what fills it, or use a Redis of its own"
)

// knownErrors are answers of Redis that say what is wrong with the server, or with our URL.
// explain searches them in this order, because scripts and Sentinels put replies into texts of
// their own.
var knownErrors = []struct {
	pattern string // matches the answer
	text    string // for people, after "redis at HOST "; "" if the words of Redis are shown
	hint    string
}{
	{
		pattern: fromSentinels + "(NOAUTH|WRONGPASS)",
		text:    "has Sentinels that refuse us without their password",
		hint:    "write ?sentinel_password=…, and &sentinel_user=… where they have users",
	},
	{
		pattern: fromSentinels + "unknown command",
		text:    "has no Sentinels at these ports, but a Redis",
		hint:    "write the ports of the Sentinels, which is 26379 unless changed",
	},
	{
		pattern: fromSentinels + goredis.Nil.Error(),
		text:    "is not known to the Sentinels: they monitor no primary of that name",
		hint:    "`sentinel masters` lists those that they have",
	},
	{
		pattern: "WRONGPASS|invalid password",
		text:    "refuses the user or the password",
		hint:    passwordHint,
	},
	{
		pattern: "NOAUTH",
		text:    "wants a password, and the URL has none",
		hint:    passwordHint,
	},
	{
		pattern: "DB index is out of range",
		hint:    "the database in the URL must be less than `databases` in its redis.conf, which is 16 unless changed",
	},
	{
		pattern: "MASTERDOWN|READONLY",
		text:    "is a replica, which takes no writes",
		hint:    primaryHint,
	},
	{
		pattern: "^OOM ",
		text:    "is full, and takes no writes",
		hint:    fullHint,
	},
	{
		pattern: "MISCONF",
		text:    "takes no writes, because it cannot save to its disk",
		hint:    "is its disk full? its log says more",
	},
	{
		pattern: "NOREPLICAS",
		text:    "takes no writes, because too few replicas get them (min-replicas-to-write)",
		hint:    "are its replicas running, and connected?",
	},
	{
		pattern: "NOPERM|user executing the script can't run|ACL failure in script",
		hint: "docs/many-servers.md has the list of commands that its user needs; " +
			"`redis-cli acl log` shows what was refused",
	},
	{
		pattern: "MOVED",
		text:    "is part of a Redis Cluster",
		hint:    "write redis+cluster:// instead of redis://, or use a Redis that stands alone",
	},
	{
		pattern: "cluster support disabled",
		text:    "is no Redis Cluster",
		hint:    "write redis:// instead of redis+cluster://",
	},
}

// fromSentinels begins the pattern of an answer of the Sentinels.
const fromSentinels = "(?s)all sentinels specified.*"

const passwordHint = "write redis://user:password@host, or redis://:password@host without a user; " +
	"in a password %40 is @ and %2F is /"

// explain makes an error of go-redis one for people, and reports whether the server has answered.
func (s *server) explain(err error) (explained *mutex.StoreError, answered bool) {
	for _, known := range knownErrors {
		if regexp.MustCompile(known.pattern).MatchString(err.Error()) {
			return s.failed(cmp.Or(known.text, "answers: "+s.withoutPasswords(err.Error())), known.hint), true
		}
	}
	if errors.As(err, new(goredis.Error)) {
		return s.failed("answers: "+s.withoutPasswords(err.Error()),
			"its log may say more, and docs/many-servers.md how it should be set up"), true
	}
	hint := "is it running, and is that its port, or its socket? write rediss:// if it speaks TLS there"
	if s.options.TLSConfig != nil {
		hint = "does it speak TLS on this port? a plain Redis says nothing: then write redis://; " +
			"its certificate must be of the CA in ?ca=FILE or SSL_CERT_FILE, " +
			"and for the host in the URL or in ?server_name=NAME"
	}
	why := ": " + s.withoutPasswords(err.Error())
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		why = ": it closes the connection at once"
	} else if timedOut(err) {
		why = fmt.Sprintf(" within %s", s.limit)
	} else if errno, ok := errors.AsType[syscall.Errno](err); ok {
		why = ": " + errno.Error()
	} else if lookup, ok := errors.AsType[*net.DNSError](err); ok && lookup.IsNotFound {
		why, hint = ": there is no host of that name", "see the URL, and the name server in /etc/resolv.conf"
	}
	explained = s.failed("does not answer"+why, hint)
	explained.Silent = true
	return explained, false
}

// timedOut reports whether an error means that there was no time left.
func timedOut(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, goredis.ErrPoolTimeout) {
		return true
	}
	network, ok := errors.AsType[net.Error](err)
	return ok && network.Timeout()
}

// failed returns an error about the server. The text follows its name.
func (s *server) failed(text, hint string) *mutex.StoreError {
	return &mutex.StoreError{Text: "redis at " + s.name + " " + text, Hint: hint}
}

// withoutPasswords returns an answer of the server in one line, without the passwords that it may
// quote. A server quotes them as arguments of a command that it does not know: any word there may
// be a password.
func (s *server) withoutPasswords(answer string) string {
	answer, arguments, quotes := strings.Cut(answer, "with args beginning with: ")
	if quotes && arguments != "" {
		answer += "with args ***"
	}
	public := []string{"redis", s.options.Username, s.options.SentinelUsername, s.options.MasterName}
	for _, address := range s.options.Addrs {
		host, _, _ := net.SplitHostPort(address)
		public = append(public, host)
	}
	for _, secret := range []string{s.options.Password, s.options.SentinelPassword} {
		answer = mask.Password(answer, secret, public...)
	}
	return humanize.Line(answer)
}

// join makes one error of the errors of the servers that failed; nil if none failed. servers is the
// number of all servers of the store.
func join(failed []error, servers int) error {
	if len(failed) == 0 || servers == 1 {
		return errors.Join(failed...)
	}
	var texts []string
	silent := true
	for _, err := range failed {
		texts = append(texts, err.Error())
		why, ok := errors.AsType[*mutex.StoreError](err)
		silent = silent && ok && why.Silent
	}
	slices.Sort(texts) // the same outage has the same text, whatever server fails first
	e := mutex.StoreError{Text: fmt.Sprintf("%d of %d servers of the store are of no use: %s",
		len(failed), servers, strings.Join(texts, "; ")), Silent: silent}
	if first, ok := errors.AsType[*mutex.StoreError](failed[0]); ok {
		e.Hint = first.Hint
	}
	return &e
}

const (
	timeout      = 2 * time.Second        // of an operation: connections, repetitions and all servers together
	closeTimeout = 250 * time.Millisecond // of Close, as mutex.Store promises
)
