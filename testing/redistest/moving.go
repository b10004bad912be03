package redistest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Sentinels are three Sentinels, the primary that they watch under the name "mymaster", and its
// replica.
type Sentinels struct {
	URL              string
	Sentinels        []*Server
	Primary, Replica *Server // as they were started
}

// StartSentinels starts them, and waits until a failover would find all it needs. A primary that is
// silent for half a second is down. The servers get further options.
func StartSentinels(t testing.TB, args ...string) *Sentinels {
	t.Helper()
	g := &Sentinels{Primary: Start(t, append([]string{"--repl-diskless-sync-delay", "0"}, args...)...)}
	host, port, _ := net.SplitHostPort(g.Primary.Address)
	g.Replica = Start(t, append([]string{"--replicaof", host + " " + port}, args...)...)
	var addresses []string
	for range 3 {
		s := start(t, "+monitor master", func(_ *Server, dir, _ string) []string {
			conf := filepath.Join(dir, "sentinel.conf")
			os.WriteFile(conf, []byte("sentinel monitor mymaster "+host+" "+port+" 2\n"+
				"sentinel down-after-milliseconds mymaster 1000\nsentinel failover-timeout mymaster 5000\n"), 0o600)
			return []string{conf, "--sentinel"}
		})
		g.Sentinels, addresses = append(g.Sentinels, s), append(addresses, s.Address)
	}
	g.URL = "redis+sentinel://" + strings.Join(addresses, ",") + "/mymaster"
	for _, s := range g.Sentinels {
		until(t, "a Sentinel knows the others and the replica", func() bool {
			master := ask(t, s, "sentinel", "master", "mymaster")
			return strings.Contains(master, "num-slaves 1 num-other-sentinels 2")
		})
	}
	until(t, "the replica has the data", func() bool {
		return strings.Contains(ask(t, g.Replica, "info", "replication"), "master_link_status:up")
	})
	return g
}

// AwaitFailover waits until the Sentinels name the replica as the primary, and it takes writes.
func (g *Sentinels) AwaitFailover(t testing.TB) {
	t.Helper()
	_, port, _ := net.SplitHostPort(g.Replica.Address)
	for _, s := range g.Sentinels {
		until(t, "a Sentinel names the new primary", func() bool {
			return strings.Contains(ask(t, s, "sentinel", "get-master-addr-by-name", "mymaster"), port)
		})
	}
	until(t, "the replica is the primary",
		func() bool { return strings.Contains(ask(t, g.Replica, "info", "replication"), "role:master") })
}

// A Cluster is a Redis Cluster of three primaries.
type Cluster struct {
	URL   string
	Nodes []*Server
}

// StartCluster starts the nodes with further options and has redis-cli make a Cluster of them.
func StartCluster(t testing.TB, args ...string) *Cluster {
	t.Helper()
	c := &Cluster{}
	var addresses []string
	for range 3 {
		node := Start(t, append([]string{"--cluster-enabled", "yes", "--cluster-node-timeout", "2000",
			"--cluster-require-full-coverage", "no"}, args...)...)
		c.Nodes, addresses = append(c.Nodes, node), append(addresses, node.Address)
	}
	create := append([]string{"--cluster", "create"}, addresses...)
	if out, err := exec.Command("redis-cli", append(create, "--cluster-yes")...).CombinedOutput(); err != nil {
		t.Fatalf("redis-cli --cluster create: %v\n%s", err, out)
	}
	for _, node := range c.Nodes {
		until(t, "the Cluster is up", func() bool {
			return strings.Contains(ask(t, node, "cluster", "info"), "cluster_state:ok") &&
				strings.Contains(ask(t, node, "cluster", "info"), "cluster_known_nodes:3")
		})
	}
	c.URL = "redis+cluster://" + strings.Join(addresses, ",")
	return c
}

// Owner returns the node that has a key, by its place among the nodes.
func (c *Cluster) Owner(t testing.TB, key string) int {
	t.Helper()
	for i, node := range c.Nodes {
		if reply := ask(t, node, "get", key); !strings.HasPrefix(reply, "MOVED") {
			return i
		}
	}
	t.Fatalf("no node has %s", key)
	return 0
}

// Move gives the slot of a key, and all keys in it, to another node.
func (c *Cluster) Move(t testing.TB, key string, to int) {
	t.Helper()
	from := c.Owner(t, key)
	slot := ask(t, c.Nodes[from], "cluster", "keyslot", key)
	source, target := ask(t, c.Nodes[from], "cluster", "myid"), ask(t, c.Nodes[to], "cluster", "myid")
	ask(t, c.Nodes[to], "cluster", "setslot", slot, "importing", source)
	ask(t, c.Nodes[from], "cluster", "setslot", slot, "migrating", target)
	host, port, _ := net.SplitHostPort(c.Nodes[to].Address)
	if keys := ask(t, c.Nodes[from], "cluster", "getkeysinslot", slot, "1000"); keys != "" {
		ask(t, c.Nodes[from], append([]any{"migrate", host, port, "", "0", "5000", "keys"}, words(keys)...)...)
	}
	for _, node := range []*Server{c.Nodes[to], c.Nodes[from], c.Nodes[3-from-to]} {
		ask(t, node, "cluster", "setslot", slot, "node", target)
	}
}

func words(text string) (all []any) {
	for _, word := range strings.Fields(text) {
		all = append(all, word)
	}
	return all
}

// ask sends a command to a server, and returns the answer or the error as text, lists with spaces
// between.
func ask(t testing.TB, s *Server, command ...any) string {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: s.Address, Protocol: 2, DisableIdentity: true})
	defer c.Close()
	reply, err := c.Do(context.Background(), command...).Result()
	if err != nil {
		return err.Error()
	}
	return strings.Trim(fmt.Sprint(reply), "[]")
}

func until(t testing.TB, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !f(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still not so: %s", what)
		}
	}
}

// Certificates are the paths of PEM files: a CA, a certificate that it has signed for 127.0.0.1 and
// for clients, and its key.
type Certificates struct{ CA, Cert, Key string }

// MakeCertificates makes them in a folder of the test.
func MakeCertificates(t testing.TB) Certificates {
	t.Helper()
	dir := t.TempDir()
	caKey, key := privateKey(t), privateKey(t)
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "CA of a test"},
		NotAfter: time.Now().Add(time.Hour),
		IsCA:     true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "redis"},
		NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"redis.internal"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	write := func(name, kind string, der []byte, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ofCA, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	c := Certificates{CA: write("ca.pem", "CERTIFICATE", ofCA, err)}
	ofLeaf, err := x509.CreateCertificate(rand.Reader, leaf, ca, key.Public(), caKey)
	c.Cert = write("cert.pem", "CERTIFICATE", ofLeaf, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	c.Key = write("key.pem", "PRIVATE KEY", secret, err)
	return c
}

func privateKey(t testing.TB) *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Options are the options of a redis-server that speaks TLS alone, and asks each client for a
// certificate.
func (c Certificates) Options() []string {
	return []string{"--port", "0", "--tls-port", "{port}", "--tls-cert-file", c.Cert, "--tls-key-file",
		c.Key, "--tls-ca-cert-file", c.CA, "--tls-auth-clients", "yes"}
}
