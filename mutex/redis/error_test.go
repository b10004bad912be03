package redis_test

import (
	"bytes"
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
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sched/mutex"
	"sched/mutex/redis"
	"sched/testing/redistest"
)

// at is the URL of a server with the password, and whatever comes after the port.
func at(s *redistest.Server, password, rest string) string {
	return "redis://:" + password + "@" + s.Address + rest
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
	tls := redistest.Start(t, "--port", "0", "--tls-port", "{port}", "--tls-cert-file", cert, "--tls-key-file",
		key, "--tls-auth-clients", "no")
	full := redistest.Start(t)
	do(t, full.URL, "CONFIG", "SET", "maxmemory", "1")
	unsaved := redistest.Start(t, "--min-replicas-to-write", "1")
	do(t, plain.URL, "ACL", "SETUSER", "guest", "on", ">s3cr/et", "~*", "+@all", "-set", "-eval", "-evalsha")
	do(t, plain.URL, "ACL", "SETUSER", "weak", "on", ">s3cr/et", "~elsewhere:*", "+@all")

	for _, tt := range []struct {
		what, url, text, hint string
	}{
		{"a wrong password", at(locked, secret, ""), "refuses the user or the password", "redis://user:password@host"},
		{"a wrong user", "redis://nobody:" + secret + "@" + plain.Address, "refuses the user or the password",
			"redis://user:password@host"},
		{"no password", locked.URL, "wants a password, and the URL has none", "redis://:password@host"},
		{"no password, in another database", locked.URL + "/1", "wants a password, and the URL has none",
			"redis://:password@host"},
		{"a database that is not there", at(plain, secret, "/99"), "DB index is out of range", "`databases`"},
		// it waits for the end of a line, which our first bytes may have or not
		{"TLS against a plain port", strings.Replace(at(plain, secret, ""), "redis", "rediss", 1), "", "redis://"},
		{"no TLS against a port of TLS", at(tls, secret, ""), "it closes the connection at once", "rediss://"},
		{"a certificate that is not trusted", "rediss://" + tls.Address,
			"failed to verify certificate", "SSL_CERT_FILE"},
		{"no process there", "redis://:" + secret + "@" + closedPort(t), "connection refused", "is that its port"},
		{"no such host", "redis://:" + secret + "@no-such-host..test", "there is no host of that name", "see the URL"},
		{"no socket", "unix:///no/such/socket", "no such file or directory", "its socket"},
		{"a replica without its primary", replica.URL, "is a replica", "name the primary"},
		{"no memory", full.URL, "is full, and takes no writes", "maxmemory"},
		{"too few replicas", unsaved.URL, "too few replicas get them", "are its replicas running"},
		{"a user that may do less", "redis://guest:" + secret + "@" + plain.Address, "NOPERM", "docs/many-servers.md"},
		{"a user that may not use our keys", "redis://weak:" + secret + "@" + plain.Address, "NOPERM", "acl log"},
	} {
		t.Run(tt.what, func(t *testing.T) {
			t.Parallel()
			s := open(t, "shop", tt.url)
			_, err := s.Acquire(ctx, "backup", holder("run-1"))
			// the machine, or its DNS, is busy
			for try := 1; try < 5 && strings.Contains(err.Error(), "does not answer within"); try++ {
				s = open(t, "shop", tt.url)
				_, err = s.Acquire(ctx, "backup", holder("run-1"))
			}
			for _, err := range []error{err, s.Claim(ctx, "slot", time.Now(), holder("run-1")),
				s.Put(ctx, "servers", "web-1", nil, time.Hour)} {
				var e *mutex.StoreError
				if !errors.As(err, &e) || !strings.Contains(e.Text, tt.text) || !strings.Contains(e.Hint, tt.hint) {
					t.Fatalf("%v\nhint: %+v\nand not %s\nhint: %s", err, e, tt.text, tt.hint)
				}
				if text := fmt.Sprintf("%+v %#v", e, err); strings.Contains(text, "s3cr") ||
					strings.ContainsAny(e.Text+e.Hint, "\r\n") {
					t.Errorf("it says: %s", text)
				}
			}
		})
	}
}

// A server that does not know AUTH quotes the password when it says so.
func TestAnAnswerThatQuotesThePasswordIsShownWithoutIt(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "--rename-command", "HELLO", "", "--rename-command", "AUTH", "")
	_, err := open(t, "shop", at(s, "s3cret", "")).Now(ctx)
	if err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "***") {
		t.Error(err)
	}
}

// The password redis is not a reason to mask the name of the program, nor the host of the URL.
func TestAWordThatIsAlsoThePasswordIsShown(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "--requirepass", "other")
	_, err := open(t, "shop", at(s, "localhost", "")).Now(ctx)
	if err == nil || strings.Contains(err.Error(), "***") {
		t.Error(err)
	}
	refused := redistest.Start(t, "--rename-command", "HELLO", "", "--rename-command", "AUTH", "")
	_, err = open(t, "shop", at(refused, "redis", "")).Now(ctx)
	if err == nil || strings.Contains(err.Error(), "'redis'") || !strings.Contains(err.Error(), "redis at ") {
		t.Error(err)
	}
}

func TestTLSUsersAndPasswordsWork(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t)
	s := redistest.Start(t, "--port", "0", "--tls-port", "{port}", "--tls-cert-file", cert, "--tls-key-file", key,
		"--tls-auth-clients", "no", "--user", "alice", "on", ">p@ss/w0rd", "~sched:*", "+@all", "-@admin")
	useAll(t, open(t, "shop", "rediss://alice:p%40ss%2Fw0rd@"+s.Address+"/2?skip_verify=true"))
}

// Each request fails with what is wrong with the files of certificates.
func TestFilesOfCertificatesThatCannotBeUsedAreNamed(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t)
	other, _ := certificate(t)
	for query, want := range map[string]string{
		"ca=none.pem": "the CA cannot be read: open /srv/none.pem: no such file or directory",
		"ca=" + key:   "there is no certificate in the file of the CA, " + key,
		"cert=none.pem&key=" + key: "the certificate in /srv/none.pem cannot be used with the key in " +
			key + ": open /srv/none.pem",
		"cert=" + cert + "&key=/n/none.pem": "the certificate in " + cert +
			" cannot be used with the key in /n/none.pem: open /n/none.pem",
		"cert=" + other + "&key=" + key: "the certificate in " + other + " cannot be used with the key in " + key,
	} {
		s, err := redis.Open(mutex.Config{Servers: []string{"rediss://a?" + query}, Dir: "/srv", Namespace: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Now(ctx); err == nil || !strings.Contains(err.Error(), "redis at a cannot be reached: "+want) {
			t.Errorf("%s: %v", query, err)
		}
		s.Close()
	}
}

func TestSentinelsAndClustersThatAreNoneAreNamed(t *testing.T) {
	t.Parallel()
	g, plain := redistest.StartSentinels(t), redistest.Start(t)
	for _, tt := range []struct{ url, text, hint string }{
		{strings.Replace(g.URL, "mymaster", "other", 1), "is not known to the Sentinels", "sentinel masters"},
		{"redis+sentinel://" + plain.Address + "/mymaster", "has no Sentinels at these ports, but a Redis", "26379"},
		{"redis+sentinel://" + closedPort(t) + "/mymaster", "does not answer: connection refused", "is it running"},
		{"redis+cluster://" + plain.Address, "is no Redis Cluster", "redis://"},
	} {
		_, err := open(t, "shop", tt.url).Acquire(ctx, "backup", holder("run-1"))
		var e *mutex.StoreError
		if !errors.As(err, &e) || !strings.Contains(e.Text, tt.text) || !strings.Contains(e.Hint, tt.hint) {
			t.Errorf("%s: %+v", tt.url, err)
		}
	}
}

// go-redis would print what it cannot dial. A process of its own: go-redis keeps the stderr with
// which it began.
func TestNothingIsPrinted(t *testing.T) {
	t.Parallel()
	if os.Getenv("SCHED_TEST_ASKS") == "" {
		c := exec.Command(os.Args[0], "-test.run=^TestNothingIsPrinted$")
		c.Env = append(os.Environ(), "SCHED_TEST_ASKS=1")
		var stderr bytes.Buffer
		c.Stderr = &stderr
		if out, err := c.Output(); err != nil || stderr.Len() > 0 {
			t.Errorf("%v\n%s\n%s", err, out, &stderr)
		}
		return
	}
	for _, scheme := range []string{"redis://:secret@", "redis+cluster://", "redis+sentinel://"} {
		url := scheme + closedPort(t)
		if scheme == "redis+sentinel://" {
			url += "/mymaster"
		}
		for range 20 {
			open(t, "shop", url).Now(ctx)
		}
	}
}

// certificate makes a self-signed certificate.
func certificate(t *testing.T) (cert, key string) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
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
