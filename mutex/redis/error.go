package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"

	goredis "github.com/redis/go-redis/v9"

	"sched/mutex"
	"sched/schedule/text"
)

// An errorReply is an answer of Redis that says what is wrong with the server, or with our URL.
type errorReply struct {
	words string // one of these, between bars, is found in the answer
	text  string // for people, after "redis at HOST "
	hint  string
}

// errorReplies are searched in this order: scripts put the replies that they get into texts of their own.
var errorReplies = []errorReply{
	{"WRONGPASS|invalid password", "refuses the user or the password", passwordHint},
	{"without any password configured|no password is set", "has no password, and the URL has one", "leave the password out of the URL"},
	{"NOAUTH", "wants a password, and the URL has none", passwordHint},
	{"DB index is out of range", "does not have the database of the URL", databaseHint},
	{"max number of clients", "takes no more connections", "raise its maxclients"},
	{"DENIED", "is in protected mode: it answers its own machine only", "give it a password, and the URL too"},
	{"LOADING", "is still loading its data", "it answers when that is done"},
	{"MASTERDOWN", "is a replica that has lost its primary", replicaHint},
	{"READONLY", "is a replica, which takes no writes", replicaHint},
	{"OOM command", "has no memory left", "raise its maxmemory, or give sched a Redis of its own"},
	{"MISCONF", "takes no writes since it cannot save to its disk", "its log says why it cannot; is the disk full?"},
	{"NOREPLICAS", "takes no writes since it has too few replicas", "see min-replicas-to-write in its redis.conf"},
	{"NOPERM|user executing the script can't run|ACL failure in script", "does not let the user do that", aclHint},
	{"MOVED", "is part of a Redis Cluster", "write redis+cluster:// instead of redis://, or use a Redis that stands alone"},
	{"TRYAGAIN", "gives the keys of this schedule to another node", "it answers when that is done"},
	{"CLUSTERDOWN", "belongs to a Redis Cluster that is down: some of its slots have no primary", "`redis-cli cluster info` tells more"},
	{"cluster support disabled", "is no Redis Cluster", "write redis:// instead of redis+cluster://"},
	{"BUSY Redis is busy", "is busy with a script of somebody else", "`redis-cli script kill` ends it"},
	{"WRONGTYPE", "has something of somebody else under a key of sched", "give sched a database of its own, with /1 at the end of the URL"},
}

const (
	passwordHint = "write redis://user:password@host, or redis://:password@host without a user; in a password %40 is @ and %2F is /"
	databaseHint = "the number at the end of the URL must be less than `databases` in its redis.conf, which is 16 unless changed"
	aclHint      = "docs/many-servers.md has the list of commands that its user needs; `redis-cli acl log` shows what was refused"
	replicaHint  = "name the primary in the URL, or its Sentinels: redis+sentinel://host,host,host/PRIMARY"
)

// sentinelReplies are answers of Sentinels, or of what stands in their place.
var sentinelReplies = []errorReply{
	{"NOAUTH|WRONGPASS", "has Sentinels that refuse us without their password", "write ?sentinel_password=…, and &sentinel_user=… where they have users"},
	{"unknown command", "has no Sentinels at these ports, but a Redis", "write the ports of the Sentinels, which is 26379 unless changed"},
	{goredis.Nil.Error(), "is not known to the Sentinels: they monitor no primary of that name", "`sentinel masters` lists those that they have"},
}

// explain makes an error of go-redis one for people, and reports whether the server has answered.
func (t *target) explain(err error) (explained *mutex.StoreError, answered bool) {
	reply, replies := err.Error(), errorReplies
	answered = errors.As(err, new(goredis.Error))
	if strings.Contains(reply, "all sentinels specified") {
		replies = sentinelReplies
	} else if !answered {
		replies = nil
	}
	for _, known := range replies {
		if !slices.ContainsFunc(strings.Split(known.words, "|"), func(words string) bool { return strings.Contains(reply, words) }) {
			continue
		}
		if _, after, found := strings.Cut(reply, "to run the '"); found && known.hint == aclHint {
			command, _, _ := strings.Cut(after, "'")
			known.text = "does not let the user call " + text.Line(strings.ToUpper(command))
		}
		return t.failed(known.text, known.hint), true
	}
	if answered {
		return t.failed("answers: "+text.Line(t.withoutPassword(reply)), ""), true
	}
	return t.explainSilence(err), false
}

// explainSilence says why there is no connection, or no answer.
func (t *target) explainSilence(err error) *mutex.StoreError {
	var (
		unknown     *net.DNSError
		plain       tls.RecordHeaderError
		certificate *tls.CertificateVerificationError
	)
	is := func(targets ...error) bool {
		return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
	}
	says := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(err.Error(), word) })
	}
	switch {
	case says("tls: certificate required", "tls: bad certificate", "tls: unknown certificate authority"):
		return t.failed("wants a certificate of ours that it can trust", "write ?cert=FILE&key=FILE in the URL, for one that its CA has signed")
	case errors.As(err, &unknown) && unknown.IsNotFound:
		return t.failed("cannot be found: there is no host of that name", "see the URL")
	case is(syscall.ECONNREFUSED):
		return t.failed("does not answer: connection refused", "is it running, and is that its port? `"+t.ping()+"` tells")
	case is(syscall.ENOENT):
		return t.failed("does not answer: there is no such socket", "is it running? see unixsocket in its redis.conf")
	case is(syscall.EACCES, syscall.EPERM):
		return t.failed("does not answer: permission denied", "see unixsocketperm in its redis.conf")
	case is(syscall.EHOSTUNREACH, syscall.ENETUNREACH):
		return t.failed("does not answer: there is no way to that host", "")
	case errors.As(err, &plain):
		return t.failed("does not speak TLS on this port", "write redis:// instead of rediss://, or its tls-port")
	case errors.As(err, &certificate):
		return t.failed("has a certificate that cannot be trusted: "+t.withoutPassword(certificate.Err.Error()),
			"name the file of its CA with ?ca=FILE in the URL, or in SSL_CERT_FILE; its host must be in the certificate, or ?server_name=NAME is")
	case is(io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE):
		hint := "write rediss:// if it speaks TLS on this port"
		if t.options.TLSConfig != nil || t.scheme == "unix" {
			hint = "its log says why"
		}
		return t.failed("closes the connection at once", hint)
	case timedOut(err):
		hint := "is the machine up, and no firewall between? `" + t.ping() + "` tells"
		if t.options.TLSConfig != nil {
			hint = "does it speak TLS on this port? a plain Redis waits for more, and says nothing: then write redis://"
		}
		return t.failed(fmt.Sprintf("does not answer within %s", timeout), hint)
	}
	return t.failed("does not answer: "+text.Line(t.withoutPassword(err.Error())), "")
}

func timedOut(err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, goredis.ErrPoolTimeout) || errors.As(err, &timeout) && timeout.Timeout()
}

func (t *target) failed(text, hint string) *mutex.StoreError {
	return &mutex.StoreError{Text: "redis at " + t.name() + " " + text, Hint: hint}
}

// withoutPassword takes the passwords out of an answer that quotes what was sent.
func (t *target) withoutPassword(text string) string {
	for _, secret := range []string{t.options.Password, t.options.SentinelPassword} {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "***")
		}
	}
	return text
}

// joinErrors makes one *StoreError of those of too many among all servers.
func joinErrors(all int, failed []error) error {
	if all == 1 && len(failed) == 1 {
		return failed[0]
	}
	var texts []string
	var hint string
	for _, err := range failed {
		texts = append(texts, err.Error())
		if e := (*mutex.StoreError)(nil); hint == "" && errors.As(err, &e) {
			hint = e.Hint
		}
	}
	slices.Sort(texts) // they come in any order; the same outage should have the same text
	return &mutex.StoreError{Text: fmt.Sprintf("%d of %d servers of the store are of no use: %s", len(failed), all, strings.Join(texts, "; ")), Hint: hint}
}
