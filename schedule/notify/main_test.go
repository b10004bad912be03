package notify_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
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

	"sched/schedule/notify"
)

// trusted is a certificate for localhost and 127.0.0.1 from a CA that is in SSL_CERT_FILE; strange
// is a certificate from an unknown CA.
var trusted, strange tls.Certificate

func TestMain(m *testing.M) {
	if url := os.Getenv("NOTIFY_TEST_PING"); url != "" { // a process with a proxy of its own
		fmt.Print(notify.Send(context.Background(), notify.Target{Ping: url}, notify.Message{}))
		os.Exit(0)
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "notify-test")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		var ca []byte
		trusted, ca = certificate()
		strange, _ = certificate()
		file := filepath.Join(dir, "ca.pem")
		if err := os.WriteFile(file, ca, 0o600); err != nil {
			panic(err)
		}
		os.Setenv("SSL_CERT_FILE", file) // read once, at the first connection
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
			os.Unsetenv(name)
		}
		return m.Run()
	}())
}

// certificate makes a certificate that is its own CA.
func certificate() (tls.Certificate, []byte) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	is := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, is, is, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// failure is the message that docs/notifications.md shows in every format.
func failure() notify.Message {
	newYork := time.FixedZone("EST", -5*60*60)
	slot := time.Date(2026, 11, 21, 2, 30, 0, 0, newYork)
	code := 7
	return notify.Message{
		ID:    "01920ba4-7a00-7c11-9d0e-5c2f9a1b3d4e on_failure 1",
		Event: notify.Failure, At: slot.Add(12500 * time.Millisecond),
		Schedule: "shop", Task: "nightly-report", Description: "Yesterday's figures",
		Run: "01920ba4-7a00-7c11-9d0e-5c2f9a1b3d4e", Server: "web-1",
		Outcome: "failed", Reason: "exit code 7", ExitCode: &code, Attempt: 3,
		Slot: slot, Started: slot.Add(time.Second), Ended: slot.Add(12500 * time.Millisecond),
		Duration: 11500 * time.Millisecond,
		Output:   "no such table: orders\n",
	}
}

// secretWords are in every URL of these tests, and must be in no error.
var secretWords = []string{"s3cret", "T0KEN", "hunter2", "B0B"}

// send makes one attempt within ten seconds. It fails the test if the error is not an *Error or has
// a secret in it.
func send(t *testing.T, target notify.Target, msg notify.Message) *notify.Error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return sendWithin(t, ctx, target, msg)
}

func sendWithin(t *testing.T, ctx context.Context, target notify.Target, msg notify.Message) *notify.Error {
	t.Helper()
	err := notify.Send(ctx, target, msg)
	if err == nil {
		return nil
	}
	var e *notify.Error
	if !errors.As(err, &e) {
		t.Fatalf("%T: %v", err, err)
	}
	all := fmt.Sprintf("%v %+v %#v %s", err, *e, *e, target)
	for _, secret := range secretWords {
		if strings.Contains(all, secret) {
			t.Errorf("%q is shown: %s", secret, all)
		}
	}
	if strings.ContainsAny(e.Text+e.Hint, "\n\r\x00") {
		t.Errorf("more than a line: %q %q", e.Text, e.Hint)
	}
	if !strings.HasPrefix(e.Text, target.String()) {
		t.Errorf("%q does not begin with the target %q", e.Text, target)
	}
	return e
}
