package redisserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"

	"sched/mutex/redisurl"
	"sched/schedule/text"
)

// An Error says why a server cannot be used, or does not answer. Both texts are one line, have no
// password in them, and the error wraps nothing that could have one.
type Error struct {
	Text string
	Hint string // what to do about it; may be empty
}

func (e *Error) Error() string { return e.Text }

// An errorReply is an answer of Redis that says what is wrong with the server, or with our URL.
type errorReply struct {
	words       string // found in the answer
	text        string // for people, after "redis at HOST "
	hint        string
	unreachable bool // it comes instead of any answer: the server is as good as down
}

// errorReplies are searched in this order: scripts put the replies that they get into texts of their own.
var errorReplies = []errorReply{
	{"WRONGPASS", "refuses the user or the password", passwordHint, true},
	{"invalid password", "refuses the password", passwordHint, true},
	{"without any password configured", "has no password, and the URL has one", "leave the password out of the URL", true},
	{"no password is set", "has no password, and the URL has one", "leave the password out of the URL", true},
	{"NOAUTH", "wants a password, and the URL has none", passwordHint, true},
	{"DB index is out of range", "does not have the database of the URL", databaseHint, true},
	{"invalid DB index", "does not have the database of the URL", databaseHint, true},
	{"max number of clients", "takes no more connections", "raise its maxclients", true},
	{"DENIED", "is in protected mode: it answers its own machine only", "give it a password, and the URL too", true},
	{"LOADING", "is still loading its data", "it answers when that is done", false},
	{"MASTERDOWN", "is a replica that has lost its primary", replicaHint, false},
	{"READONLY", "is a replica, which takes no writes", replicaHint, false},
	{"OOM command", "has no memory left", "raise its maxmemory, or give sched a Redis of its own", false},
	{"MISCONF", "takes no writes since it cannot save to its disk", "its log says why it cannot; is the disk full?", false},
	{"NOREPLICAS", "takes no writes since it has too few replicas", "see min-replicas-to-write in its redis.conf", false},
	{"NOPERM", "does not let the user do that", aclHint, false},
	{"user executing the script can't run", "does not let the user do that", aclHint, false},
	{"ACL failure in script", "does not let the user do that", aclHint, false},
	{"MOVED", "is part of a Redis Cluster", clusterHint, false},
	{"ASK ", "gives the keys of this schedule to another node", movingHint, false},
	{"TRYAGAIN", "gives the keys of this schedule to another node", movingHint, false},
	{"CLUSTERDOWN", "belongs to a Redis Cluster that is down: some of its slots have no primary", "`redis-cli cluster info` tells more", false},
	{"BUSY Redis is busy", "is busy with a script of somebody else", "`redis-cli script kill` ends it", false},
	{"after non deterministic commands", "is older than Redis 5", "sched needs Redis 5 or newer", false},
	{"WRONGTYPE", "has something of somebody else under a key of sched", "give sched a database of its own, with /1 at the end of the URL", false},
}

const (
	passwordHint = "write redis://user:password@host, or redis://:password@host without a user; in a password %40 is @ and %2F is /"
	databaseHint = "the number at the end of the URL must be less than `databases` in its redis.conf, which is 16 unless changed"
	aclHint      = "docs/many-servers.md has the list of commands that its user needs; `redis-cli acl log` shows what was refused"
	replicaHint  = "name the primary in the URL, or its Sentinels: redis+sentinel://host,host,host/PRIMARY"
	clusterHint  = "write redis+cluster:// instead of redis://, or use a Redis that stands alone"
	movingHint   = "it answers when that is done"
)

var (
	refusedByName = regexp.MustCompile(`no permissions to run the '([a-z|]+)' command`)
	refusedInLine = regexp.MustCompile(`script: ([0-9a-f]{40}), on @user_script:([0-9]+)`)
	calledInLine  = regexp.MustCompile(`redis\.call\('([A-Z]+)'`)
)

// refusedCommand finds the command that an ACL refuses, as Redis 7 names it: by its name, or by the line of one of our scripts.
func refusedCommand(reply string) string {
	if name := refusedByName.FindStringSubmatch(reply); name != nil {
		return strings.ToUpper(name[1])
	}
	place := refusedInLine.FindStringSubmatch(reply)
	if place == nil {
		return ""
	}
	source, _ := scriptSources.Load(place[1])
	lines := strings.Split(fmt.Sprint(source), "\n")
	if n, _ := strconv.Atoi(place[2]); n >= 1 && n <= len(lines) {
		if called := calledInLine.FindStringSubmatch(lines[n-1]); called != nil {
			return called[1]
		}
	}
	return ""
}

// explain makes an error of go-redis one for people. unreachable says that the server gives no
// answers at all.
func (s *Server) explain(err error) (explained *Error, unreachable bool) {
	if errors.As(err, &explained) {
		return explained, false
	}
	var answer redis.Error
	if errors.As(err, &answer) {
		i := slices.IndexFunc(errorReplies, func(r errorReply) bool { return strings.Contains(err.Error(), r.words) })
		if i < 0 {
			return s.failed("answers: "+text.Line(s.withoutPassword(err.Error())), ""), false
		}
		reply := errorReplies[i]
		if command := refusedCommand(err.Error()); command != "" && reply.hint == aclHint {
			reply.text = "does not let the user call " + command
		}
		return s.failed(reply.text, reply.hint), reply.unreachable
	}
	return s.explainNoAnswer(err), true
}

// explainNoAnswer says why there is no connection, or no answer.
func (s *Server) explainNoAnswer(err error) *Error {
	var (
		unknown     *net.DNSError
		ours        *redisurl.Error
		plain       tls.RecordHeaderError
		certificate *tls.CertificateVerificationError
	)
	is := func(targets ...error) bool {
		return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
	}
	switch {
	case errors.As(err, &ours):
		return s.failed(ours.Text, ours.Hint)
	case errors.Is(err, errNotPrimary):
		return s.failed("has no primary at the moment: a replica is still to take over", "")
	case strings.Contains(err.Error(), "tls: certificate required"), strings.Contains(err.Error(), "tls: bad certificate"),
		strings.Contains(err.Error(), "tls: unknown certificate authority"):
		return s.failed("wants a certificate of ours that it can trust", "write ?cert=FILE&key=FILE in the URL, for one that its CA has signed")
	case errors.As(err, &unknown) && unknown.IsNotFound:
		return s.failed("cannot be found: there is no host of that name", "see the URL")
	case is(syscall.ECONNREFUSED):
		return s.failed("does not answer: connection refused", "is it running, and is that its port? `"+s.target.Ping()+"` tells")
	case is(syscall.ENOENT):
		return s.failed("does not answer: there is no such socket", "is it running? see unixsocket in its redis.conf")
	case is(syscall.EACCES, syscall.EPERM):
		return s.failed("does not answer: permission denied", "see unixsocketperm in its redis.conf")
	case is(syscall.EHOSTUNREACH, syscall.ENETUNREACH):
		return s.failed("does not answer: there is no way to that host", "")
	case errors.As(err, &plain):
		return s.failed("does not speak TLS on this port", "write redis:// instead of rediss://, or its tls-port")
	case errors.As(err, &certificate):
		return s.failed("has a certificate that cannot be trusted: "+s.withoutPassword(certificate.Err.Error()),
			"name the file of its CA with ?ca=FILE in the URL, or in SSL_CERT_FILE; its host must be in the certificate, or ?server_name=NAME is")
	case is(io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE):
		return s.failed("closes the connection at once", s.closedHint())
	case timedOut(err):
		return s.failed(fmt.Sprintf("does not answer within %s", Timeout), s.noAnswerHint())
	}
	return s.failed("does not answer: "+s.withoutPassword(err.Error()), "")
}

func timedOut(err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, redis.ErrPoolTimeout) || errors.As(err, &timeout) && timeout.Timeout()
}

// failed returns an error about this server.
func (s *Server) failed(text, hint string) *Error {
	return &Error{"redis at " + s.name + " " + text, hint}
}

func (s *Server) closedHint() string {
	if s.finder.TLS() || s.options.Network == "unix" {
		return "its log says why"
	}
	return "write rediss:// if it speaks TLS on this port"
}

func (s *Server) noAnswerHint() string {
	if s.finder.TLS() {
		return "does it speak TLS on this port? a plain Redis waits for more, and says nothing: then write redis://"
	}
	return "is the machine up, and no firewall between? `" + s.target.Ping() + "` tells"
}

// withoutPassword takes the password out of an answer that quotes what was sent.
func (s *Server) withoutPassword(text string) string {
	for _, secret := range s.target.Secrets() {
		text = strings.ReplaceAll(text, secret, "***")
	}
	return text
}
