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
	"strings"
	"syscall"

	goredis "github.com/redis/go-redis/v9"

	"sched/mutex"
	"sched/schedule/humanize"
)

// errorReplies are answers of Redis that say what is wrong with the server, or with our URL.
// explain searches them in this order, because scripts and Sentinels put replies into texts of
// their own.
var errorReplies = []struct {
	words string // a regular expression that matches the answer
	text  string // for people, after "redis at HOST "; "" when Redis's own words are as good
	hint  string
}{
	{sentinels + "(NOAUTH|WRONGPASS)", "has Sentinels that refuse us without their password", "write ?sentinel_password=…, and &sentinel_user=… where they have users"},
	{sentinels + "unknown command", "has no Sentinels at these ports, but a Redis", "write the ports of the Sentinels, which is 26379 unless changed"},
	{sentinels + goredis.Nil.Error(), "is not known to the Sentinels: they monitor no primary of that name", "`sentinel masters` lists those that they have"},
	{"WRONGPASS|invalid password", "refuses the user or the password", passwordHint},
	{"NOAUTH", "wants a password, and the URL has none", passwordHint},
	{"DB index is out of range", "", "the database in the URL must be less than `databases` in its redis.conf, which is 16 unless changed"},
	{"MASTERDOWN|READONLY", "is a replica, which takes no writes", "name the primary in the URL, or its Sentinels: redis+sentinel://host,host,host/PRIMARY"},
	{"NOPERM|user executing the script can't run|ACL failure in script", "",
		"docs/many-servers.md has the list of commands that its user needs; `redis-cli acl log` shows what was refused"},
	{"MOVED", "is part of a Redis Cluster", "write redis+cluster:// instead of redis://, or use a Redis that stands alone"},
	{"cluster support disabled", "is no Redis Cluster", "write redis:// instead of redis+cluster://"},
}

const sentinels = "(?s)all sentinels specified.*"

const passwordHint = "write redis://user:password@host, or redis://:password@host without a user; in a password %40 is @ and %2F is /"

// explain makes an error of go-redis one for people, and reports whether the server has answered.
func (s *server) explain(err error) (explained *mutex.StoreError, answered bool) {
	for _, known := range errorReplies {
		if regexp.MustCompile(known.words).MatchString(err.Error()) {
			return s.failed(cmp.Or(known.text, "answers: "+s.line(err.Error())), known.hint), true
		}
	}
	if errors.As(err, new(goredis.Error)) {
		return s.failed("answers: "+s.line(err.Error()), "its log may say more, and docs/many-servers.md how it should be set up"), true
	}
	hint := "is it running, and is that its port, or its socket? write rediss:// if it speaks TLS there"
	if s.options.TLSConfig != nil {
		hint = "does it speak TLS on this port? a plain Redis says nothing: then write redis://; " +
			"its certificate must be of the CA in ?ca=FILE or SSL_CERT_FILE, and for the host in the URL or in ?server_name=NAME"
	}
	why := ": " + s.line(err.Error())
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		why = ": it closes the connection at once"
	} else if timedOut(err) {
		why = fmt.Sprintf(" within %s", s.limit)
	} else if errno, ok := errors.AsType[syscall.Errno](err); ok {
		why = ": " + errno.Error()
	}
	return s.failed("does not answer"+why, hint), false
}

func timedOut(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, goredis.ErrPoolTimeout) || ok && timeout.Timeout()
}

func (s *server) failed(text, hint string) *mutex.StoreError {
	return &mutex.StoreError{Text: "redis at " + s.name + " " + text, Hint: hint}
}

// line is the text of a server in one line, without the passwords that it may quote.
func (s *server) line(said string) string {
	for _, secret := range []string{s.options.Password, s.options.SentinelPassword} {
		if secret != "" {
			said = strings.ReplaceAll(said, secret, "***")
		}
	}
	return humanize.Line(said)
}

// join makes one error of the errors of some of the servers, nil of none.
func join(failed []error, servers int) error {
	if len(failed) == 0 || servers == 1 {
		return errors.Join(failed...)
	}
	var texts []string
	for _, err := range failed {
		texts = append(texts, err.Error())
	}
	slices.Sort(texts) // they come in any order; the same outage should have the same text
	e := mutex.StoreError{Text: fmt.Sprintf("%d of %d servers of the store are of no use: %s", len(failed), servers, strings.Join(texts, "; "))}
	if first, ok := errors.AsType[*mutex.StoreError](failed[0]); ok {
		e.Hint = first.Hint
	}
	return &e
}
