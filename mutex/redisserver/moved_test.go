package redisserver_test

import (
	"strings"
	"testing"

	"sched/mutex/redistest"
)

func TestAnErrorSaysWhatIsWrongWithSentinelsClustersAndCertificates(t *testing.T) {
	t.Parallel()
	g := redistest.StartSentinels(t)
	c := redistest.StartCluster(t)
	plain := redistest.Start(t)
	certificates := redistest.MakeCertificates(t)
	secured := redistest.Start(t, certificates.Options()...)
	ca := "?ca=" + certificates.CA
	for _, tt := range []struct{ name, url, want, hint string }{
		{"another name", strings.Replace(g.URL, "mymaster", "shop", 1), "is not known to the Sentinels", "sentinel masters"},
		{"a Redis where Sentinels should be", "redis+sentinel://" + plain.Address + "/mymaster", "has no Sentinels at these ports, but a Redis", "26379"},
		{"no Sentinel that listens", "redis+sentinel://" + closedPort(t) + "/mymaster", "connection refused", "sentinel get-master-addr-by-name mymaster"},
		{"a Redis that is no Cluster", "redis+cluster://" + plain.Address, "is no Redis Cluster", "redis://"},
		{"a node of a Cluster as if it stood alone", otherNode(t, c), "is part of a Redis Cluster", "redis+cluster://"},
		{"a replica as if it stood alone", g.Replica.URL, "is a replica, which takes no writes", "redis+sentinel://"},
		{"a CA of others", "rediss://" + secured.Address, "has a certificate that cannot be trusted", "?ca="},
		{"no certificate of ours", "rediss://" + secured.Address + ca, "wants a certificate of ours", "cert=FILE"},
		{"no file of the CA", "rediss://" + secured.Address + "?ca=no-such.pem", "the file of the CA, /srv/shop/no-such.pem, cannot be read: no such file or directory", "relative"},
		{"a CA that is none", "rediss://" + secured.Address + "?ca=" + certificates.Key, "there is no certificate in the file of the CA", "BEGIN CERTIFICATE"},
		{"a key of another certificate", "rediss://" + secured.Address + ca + "&cert=" + certificates.CA + "&key=" + certificates.Key, "does not go with the key", "PEM"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if e := unknown(t, open(t, tt.url).Run(grant("key"))); !strings.Contains(e.Text, tt.want) || !strings.Contains(e.Hint, tt.hint) {
				t.Errorf("%s\nhint: %s\nand not %s\nhint: %s", e.Text, e.Hint, tt.want, tt.hint)
			}
		})
	}
	ours(t, open(t, "rediss://"+strings.Replace(secured.Address, "127.0.0.1", "localhost", 1)+ca+"&cert="+certificates.Cert+"&key="+certificates.Key+"&server_name=redis.internal").Run(grant("key")))
}

// otherNode is the URL of a node that does not have the keys of the tests.
func otherNode(t *testing.T, c *redistest.Cluster) string {
	return c.Nodes[(c.Owner(t, granted)+1)%3].URL
}

func TestSentinelsWithAPasswordOfTheirOwn(t *testing.T) {
	t.Parallel()
	g := redistest.StartSentinels(t)
	for _, s := range g.Sentinels {
		send(t, s.URL, "ACL", "SETUSER", "default", "resetpass", ">of-sentinels")
	}
	if e := unknown(t, open(t, g.URL).Run(grant("key"))); !strings.Contains(e.Text, "has Sentinels that refuse us") || !strings.Contains(e.Hint, "sentinel_password") {
		t.Errorf("%#v", e)
	}
	ours(t, open(t, g.URL+"?sentinel_password=of-sentinels").Run(grant("key")))
}
