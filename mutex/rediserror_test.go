package mutex_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sched/mutex"
	"sched/mutex/redistest"
)

// at is the URL of a server with the password, and whatever comes after the port.
func at(s *redistest.Server, password, rest string) string {
	return "redis://:" + password + "@" + s.Address + rest
}

// do sends a command to a server past the store.
func do(t testing.TB, url string, args ...any) any {
	t.Helper()
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(options)
	defer c.Close()
	reply, err := c.Do(ctx, args...).Result()
	if err != nil && err != redis.Nil {
		t.Fatalf("%v: %v", args, err)
	}
	return reply
}

// closedPort is an address at which no process listens.
func closedPort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestAnErrorSaysInOneLineWhatIsWrongWithAServerWithAHint(t *testing.T) {
	t.Parallel()
	const secret = "s3cr%2Fet" // in a URL; for Redis it is s3cr/et
	plain := redistest.Start(t)
	locked := redistest.Start(t, "--requirepass", "right")
	replica := redistest.Start(t, "--replicaof", "127.0.0.1", "1", "--repl-diskless-load", "disabled")
	cert, key := certificate(t)
	tls := redistest.Start(t, "--port", "0", "--tls-port", "{port}", "--tls-cert-file", cert, "--tls-key-file", key, "--tls-auth-clients", "no")
	full := redistest.Start(t)
	do(t, full.URL, "CONFIG", "SET", "maxmemory", "1")
	unsaved := redistest.Start(t, "--min-replicas-to-write", "1")
	do(t, plain.URL, "ACL", "SETUSER", "guest", "on", ">s3cr/et", "~*", "+@all", "-eval", "-evalsha")
	do(t, plain.URL, "ACL", "SETUSER", "weak", "on", ">s3cr/et", "~elsewhere:*", "+@all")

	rows := map[string]func(*testing.T){}
	for _, tt := range []struct {
		what, url, text, hint string
	}{
		{"a wrong password", at(locked, secret, ""), "refuses the user or the password", "redis://user:password@host"},
		{"a wrong user", "redis://nobody:" + secret + "@" + plain.Address, "refuses the user or the password", "redis://user:password@host"},
		{"no password", locked.URL, "wants a password, and the URL has none", "redis://:password@host"},
		{"no password, in another database", locked.URL + "/1", "wants a password, and the URL has none", "redis://:password@host"},
		{"a database that is not there", at(plain, secret, "/99"), "does not have the database of the URL", "`databases`"},
		{"TLS against a plain port", strings.Replace(at(plain, secret, ""), "redis", "rediss", 1), "", "redis://"}, // it waits for the end of a line, which our first bytes may have or not
		{"no TLS against a port of TLS", at(tls, secret, ""), "closes the connection at once", "rediss://"},
		{"a certificate that is not trusted", "rediss://" + tls.Address, "has a certificate that cannot be trusted", "SSL_CERT_FILE"},
		{"no process there", "redis://:" + secret + "@" + closedPort(t), "connection refused", "ping"},
		{"no such host", "redis://:" + secret + "@no-such-host.invalid", "redis at no-such-host.invalid cannot be found", "see the URL"},
		{"no socket", "unix:///no/such/socket", "there is no such socket", "unixsocket"},
		{"a replica without its primary", replica.URL, "is a replica", "name the primary"},
		{"no memory", full.URL, "has no memory left", "maxmemory"},
		{"too few replicas", unsaved.URL, "takes no writes since it has too few replicas", "min-replicas-to-write"},
		{"a user that may run no scripts", "redis://guest:" + secret + "@" + plain.Address, "does not let the user call EVAL", "docs/many-servers.md"},
		{"a user that may not use our keys", "redis://weak:" + secret + "@" + plain.Address, "does not let the user do that", "acl log"},
	} {
		rows[tt.what] = func(t *testing.T) {
			r := dial(t, tt.url)
			_, acquire := r.Acquire(ctx, "backup", holder("run-1"))
			claim := r.Claim(ctx, "backup@1", time.Now().Add(time.Hour), holder("run-1"))
			for _, err := range []error{acquire, claim, r.Adopt("backup", holder("run-1"), nil).Renew(ctx)} {
				var e *mutex.StoreError
				if !errors.As(err, &e) || !strings.Contains(e.Text, tt.text) || !strings.Contains(e.Hint, tt.hint) {
					t.Fatalf("%v\nhint: %+v\nand not %s\nhint: %s", err, e, tt.text, tt.hint)
				}
				if text := fmt.Sprintf("%+v %#v", e, err); strings.Contains(text, "s3cr") || strings.ContainsAny(e.Text+e.Hint, "\r\n") {
					t.Errorf("it says: %s", text)
				}
			}
		}
	}
	together(t, rows)
}

// A server that does not know AUTH quotes the password when it says so.
func TestAnAnswerThatQuotesThePasswordIsShownWithoutIt(t *testing.T) {
	s := redistest.Start(t, "--rename-command", "HELLO", "", "--rename-command", "AUTH", "")
	_, err := dial(t, at(s, "s3cret", "")).Acquire(ctx, "backup", holder("run-1"))
	if err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "***") {
		t.Error(err)
	}
}

func TestTLSUsersAndPasswordsWork(t *testing.T) {
	cert, key := certificate(t)
	s := redistest.Start(t, "--port", "0", "--tls-port", "{port}", "--tls-cert-file", cert, "--tls-key-file", key,
		"--tls-auth-clients", "no", "--user", "alice", "on", ">p@ss/w0rd", "~sched:*", "+@all", "-@admin")
	r := dial(t, "rediss://alice:p%40ss%2Fw0rd@"+s.Address+"/2?skip_verify=true")
	release(t, acquire(t, r, "backup", "run-1"))
}

// With the fewest rights that are enough, without those to see the clock and the age of the server.
func TestAUserWithTheFewestRightsGetsLocks(t *testing.T) {
	s := redistest.Start(t)
	do(t, s.URL, "ACL", "SETUSER", "poor", "on", ">secret", "~sched:*", "+@read", "+@write", "+@scripting", "+time", "+@connection", "-info")
	r := dial(t, "redis://poor:secret@"+s.Address)
	lock := acquire(t, r, "backup", "run-1")
	if err := lock.Renew(ctx); err != nil {
		t.Error(err)
	}
	held(t, r, "backup", "run-1")
	release(t, lock)
}

// go-redis would print what it cannot dial.
func TestNothingIsPrinted(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr := os.Stderr
	os.Stderr = write
	r := dial(t, "redis://:secret@"+closedPort(t))
	for range 20 {
		r.Acquire(ctx, "backup", holder("run-1"))
		r.Adopt("backup", holder("run-1"), nil).Renew(ctx)
	}
	os.Stderr = stderr
	write.Close()
	text := make([]byte, 4096)
	if n, _ := read.Read(text); n > 0 {
		t.Errorf("%s", text[:n])
	}
}

// certificate makes one that only itself vouches for.
func certificate(t *testing.T) (cert, key string) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, bytes []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert", "CERTIFICATE", der), write("key", "PRIVATE KEY", secret)
}
